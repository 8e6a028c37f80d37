"""Models on disk: their files, the folder of a run with its lock, names of models, and checks of output paths."""
