"""How the kernels of a program are called; read by the host as well."""

# Prefix of the kernels' names; the program's name follows.
PREFIX = "inductor_"
