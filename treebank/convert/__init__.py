"""Transformation of trees, and conversion between treebank formats."""
