"""Training of one model by several processes, as torchrun starts them."""
