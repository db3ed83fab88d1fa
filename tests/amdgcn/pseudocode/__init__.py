"""An evaluator of AMD's pseudo-code, which shares nothing with the emulator: the oracle of test_oracle.py."""
