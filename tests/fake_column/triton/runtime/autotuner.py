class Config:
    pass


class Autotuner:
    pass
