"""Training: the loop, its optimizers, its random numbers."""
