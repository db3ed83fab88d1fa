class Autotuner:
    pass
