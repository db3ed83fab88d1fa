"""What executes compiled code on the CPU."""
