"""Named treebanks and the built-in sample."""
