"""Plain twins of optimized algorithms, for comparison in tests."""
