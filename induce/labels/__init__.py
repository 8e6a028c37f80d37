"""Induced labels of phrases and arcs, an optional part that the registry loads."""
