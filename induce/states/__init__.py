"""Distances from hidden states and attention, an optional part that the registry loads."""
