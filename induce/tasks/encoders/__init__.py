"""What makes one vector of an expression, for a task's classifier.

An encoder has ``size``, the length of its vector, ``gives`` as every model, and is called with tokens (R, N) padded at
the end, their lengths (R,) and the gold trees, which only those of `induce.tasks.encoders.trees` look at.
"""
