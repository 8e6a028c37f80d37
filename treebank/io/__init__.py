"""Reading and writing treebank files."""
