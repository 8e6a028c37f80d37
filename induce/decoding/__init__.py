"""From a model's structures to trees. Never imports models."""
