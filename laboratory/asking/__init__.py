"""Asks releases of Triton: what their language holds, and for which targets they compile."""
