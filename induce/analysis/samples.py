"""Sentences and trees drawn from a trained grammar."""

from __future__ import annotations

import os
from collections.abc import Iterator

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

MAX_ATTEMPTS = 1_000  # trees in a row that may be too long


def generate(
    run: str | os.PathLike[str], *, seed: int = 1, limit: int = 10, max_length: int = 40, with_heads: bool = False
) -> Iterator[Sentence]:
    """Yield ``limit`` sentences of at most ``max_length`` words, drawn from the grammar in ``run`` with its trees.

    Labels are those of the decoder ``brackets``, with the preterminals T0, T1, … as tags. Sentences of a lexicalized
    grammar have heads. Longer trees are drawn again. Raises SynparseError if the model is not a grammar, if 1,000 trees
    in a row are too long, or if ``with_heads`` is true and the grammar is not lexicalized.
    """
    import torch

    from induce.models.grammars.grammar import Grammar
    from induce.models.grammars.headed_grammar import HeadedGrammar
    from induce.models.grammars.sampling import Sampler
    from induce.parsing.load import read_trained
    from induce.registry import MODELS, model_class
    from induce.storage.checkpoint import build_model

    checkpoint = read_trained(run)
    model = build_model(checkpoint).eval()
    kind = HeadedGrammar if with_heads else Grammar
    if not isinstance(model, kind):
        models = [name for name in MODELS if issubclass(model_class(name), kind)]
        requirement = "a grammar with head words" if with_heads else "a grammar to draw from"
        raise SynparseError(
            f"{run}: model {checkpoint.config.model_name!r} is not {requirement}; use one of {', '.join(models)}"
        )
    names = checkpoint.vocabulary.names
    sampler = Sampler(model, torch.Generator().manual_seed(seed))
    for _ in range(limit):
        drawn = next(filter(None, (sampler.draw(max_length) for _ in range(MAX_ATTEMPTS))), None)
        if drawn is None:
            problem = f"{MAX_ATTEMPTS:,} trees in a row have more than {max_length} words"
            raise SynparseError(f"{run}: {problem}; train the grammar longer, or allow more words with --max-length")
        words = tuple(names[word] for word in drawn.words)
        tags = tuple(f"T{preterminal}" for preterminal in drawn.preterminals)
        spans, labels = [(start, end) for start, end, _ in drawn.spans], [f"NT{label}" for _, _, label in drawn.spans]
        tree = Tree(words, tags, tuple(spans), tuple(labels))
        yield Sentence(words, tags, tree, heads=tuple(drawn.heads))
