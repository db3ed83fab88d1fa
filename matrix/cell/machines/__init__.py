"""The emulators, which execute compiled code on the CPU."""
