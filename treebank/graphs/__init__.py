"""Leaf: readers and writers of formats that the core does not need. The table of formats names them as strings."""
