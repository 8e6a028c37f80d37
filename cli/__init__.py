"""The command line: reads options, calls one function, prints. No torch, nltk or numpy at module level."""
