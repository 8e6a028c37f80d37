"""Models that induce trees, their training and decoding. Never imports click."""
