"""Text as numbers: vocabularies, corpora, and the batches that a model learns from."""
