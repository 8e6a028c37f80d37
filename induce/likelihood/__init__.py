"""Likelihood of text: perplexity, sentence scores and minimal pairs."""
