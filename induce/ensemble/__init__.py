"""Ensembles, parsers whose members vote: an optional part that the registry loads."""
