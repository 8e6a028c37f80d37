"""Distillation: models that learn from trees, heads or rewards of spans of other models and files."""
