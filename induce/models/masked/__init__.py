"""Masked language models with latent trees or heads."""
