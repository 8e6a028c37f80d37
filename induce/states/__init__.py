"""Distances from hidden states and attention (optional; loaded through the registry)."""
