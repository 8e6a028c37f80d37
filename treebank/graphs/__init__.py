"""Leaf: readers and writers of formats that `train`, `parse` and `eval` do not need, reached by the table of formats."""
