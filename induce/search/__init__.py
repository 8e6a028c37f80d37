"""Corpora of treebanks and parsed text, for searching."""
