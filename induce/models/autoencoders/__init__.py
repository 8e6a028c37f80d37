"""Models that encode a sentence in a chart of vectors and predict each word from the vectors around it."""
