"""How the kernels of a program are called; read by the host as well."""

# Of the names of kernels: what follows is the program.
PREFIX = "inductor_"
