"""Training: the loop, its optimisers, its random numbers."""
