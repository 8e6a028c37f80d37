"""Families: one model trained from several seeds."""
