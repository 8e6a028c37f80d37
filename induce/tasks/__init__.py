"""Tasks with a structure that can be known: expressions, their values, and the trees that give these values."""
