"""Trees and treebanks: reading, normalising, baselines and scores. Never imports torch."""
