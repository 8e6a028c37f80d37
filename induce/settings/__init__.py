"""Settings of a run: one table per component, presets, and changes of single settings."""
