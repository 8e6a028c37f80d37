"""Errors, atomic file writing and JSON text."""
