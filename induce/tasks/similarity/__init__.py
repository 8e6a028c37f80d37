"""Similarity of sentences: pairs with human ratings (STS benchmark, SICK), and correlation with these."""
