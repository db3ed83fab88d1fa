"""What a file's text says of its kernels: parameters, launches and the types of what is passed. Nothing is imported."""
