"""Layers and numerical helpers shared by several models."""
