"""The latent-tree models, one file per paper."""
