"""Language models with latent trees."""
