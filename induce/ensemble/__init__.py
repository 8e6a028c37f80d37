"""Ensembles: parsers whose members vote (optional; loaded through the registry)."""
