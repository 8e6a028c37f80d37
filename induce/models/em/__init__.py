"""Models trained by expectation-maximization."""
