"""Induced labels of phrases and arcs (optional; loaded through the registry)."""
