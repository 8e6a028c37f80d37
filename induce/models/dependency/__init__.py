"""Neural dependency models with valence: first-order, sibling, lexicalized, and joint."""
