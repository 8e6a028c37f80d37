"""Hand-written forward and backward passes, each beside the plain loop that it must equal."""
