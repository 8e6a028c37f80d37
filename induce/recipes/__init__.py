"""Recipes: trainings that combine several models."""
