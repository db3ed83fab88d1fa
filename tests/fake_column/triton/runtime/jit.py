class KernelInterface:
    pass
