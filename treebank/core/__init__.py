"""Trees, sentences, brackets, heads and distances."""
