"""Encoders, which compute one vector for each expression for the classifier of a task.

An encoder has the attributes ``size``, the length of its vector, and ``gives``, like every model. It is called with
tokens (R, N) padded at the end, their lengths (R,) and the gold trees, which only `induce.tasks.encoders.trees` uses.
"""
