"""The commands of ``synparse analyze``."""
