"""Sentences drawn from a trained grammar, with their trees or their heads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

if TYPE_CHECKING:
    from induce.models.dependency.sampling import DrawnHeads
    from induce.models.grammars.sampling import DrawnTree

MAX_ATTEMPTS = 1_000  # trees in a row that may be too long


def generate(
    run: str | os.PathLike[str], *, seed: int = 1, limit: int = 10, max_length: int = 40, with_heads: bool = False
) -> Iterator[Sentence]:
    """Yield ``limit`` sentences of at most ``max_length`` words, drawn from the grammar in ``run`` with its trees.

    Labels are those of the decoder ``brackets``, with the preterminals T0, T1, … as tags. Sentences of a lexicalized
    grammar have heads, too. Those of a dependency model have heads alone, with the word classes C0, C1, … as tags.
    Longer sentences are drawn again. Raises SynparseError if the model is not a grammar, if 1,000 sentences in a row
    are too long, or if ``with_heads`` is true and the grammar has no heads.
    """
    names, draw = _drawing(run, seed, with_heads=with_heads)
    for _ in range(limit):
        attempts = (draw(max_length) for _ in range(MAX_ATTEMPTS))
        drawn = next((attempt for attempt in attempts if attempt is not None), None)
        if drawn is None:
            problem = f"{MAX_ATTEMPTS:,} trees in a row have more than {max_length} words"
            raise SynparseError(f"{run}: {problem}; train the grammar longer, or allow more words with --max-length")
        yield _sentence(drawn, names)


def _drawing(
    run: str | os.PathLike[str], seed: int, *, with_heads: bool
) -> tuple[Sequence[str], Callable[[int], DrawnTree | DrawnHeads | None]]:
    """Words of the vocabulary, and a function that draws a sentence of at most so many words."""
    import torch

    from induce.models.dependency.ndmv import Ndmv
    from induce.models.dependency.sampling import HeadSampler, class_grammars
    from induce.models.em.dmv import Dmv
    from induce.models.grammars.grammar import Grammar
    from induce.models.grammars.headed_grammar import HeadedGrammar
    from induce.models.grammars.sampling import Sampler
    from induce.parsing.load import read_trained
    from induce.registry import MODELS, model_class
    from induce.storage.checkpoint import build_model

    checkpoint = read_trained(run)
    model = build_model(checkpoint).eval()
    names = checkpoint.vocabulary.names
    if isinstance(model, Dmv | Ndmv):
        return names, HeadSampler(class_grammars(model), seed).draw
    kind = HeadedGrammar if with_heads else Grammar
    if not isinstance(model, kind):
        models = [name for name in MODELS if issubclass(model_class(name), (kind, Dmv, Ndmv))]
        requirement = "a grammar with head words" if with_heads else "a grammar to draw from"
        raise SynparseError(
            f"{run}: model {checkpoint.config.model_name!r} is not {requirement}; use one of {', '.join(models)}"
        )
    return names, Sampler(model, torch.Generator().manual_seed(seed)).draw


def _sentence(drawn: DrawnTree | DrawnHeads, names: Sequence[str]) -> Sentence:
    """A drawn sentence with its tree, its heads or both."""
    from induce.models.dependency.sampling import DrawnHeads

    words = tuple(names[word] for word in drawn.words)
    if isinstance(drawn, DrawnHeads):
        return Sentence(words, tuple(f"C{group}" for group in drawn.classes), heads=tuple(drawn.heads))
    tags = tuple(f"T{preterminal}" for preterminal in drawn.preterminals)
    spans, labels = [(start, end) for start, end, _ in drawn.spans], [f"NT{label}" for _, _, label in drawn.spans]
    tree = Tree(words, tags, tuple(spans), tuple(labels))
    return Sentence(words, tags, tree, heads=tuple(drawn.heads))
