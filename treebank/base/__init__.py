"""Errors, arguments, files, metadata, tables, and the version that every score and every model carries."""

VERSION = "0.1.0"
