"""Decoders: algorithms that convert the output of a model (distances, head probabilities) into trees or heads.

The modules do not import models.
"""
