"""Leaf: readers of the files of field linguists. The table of formats names them as strings."""
