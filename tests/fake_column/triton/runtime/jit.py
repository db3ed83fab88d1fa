class KernelInterface:
    pass


class JITFunction(KernelInterface):
    def run(self, *args, **options):
        pass
