"""Analyses of trained models: agreement, sharpness, gaps, channels, grammars, sweeps over settings, vectors."""
