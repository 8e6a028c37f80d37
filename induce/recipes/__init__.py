"""Recipes: trainings that combine several models, described by TOML files."""
