"""How alike two sentences are: pairs that people have rated (STS benchmark, SICK), and correlation with them."""
