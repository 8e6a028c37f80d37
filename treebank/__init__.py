"""Trees and treebanks: reading, normalization, baselines and scores. Never imports torch."""
