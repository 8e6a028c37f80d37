"""Parsers that learn from the output of other parsers."""
