"""Conversion between treebank formats."""
