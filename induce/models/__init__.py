"""The latent-tree models, one file a paper."""
