"""Stand-ins for a GPU: a driver below Triton, and torch.cuda on CPU tensors."""
