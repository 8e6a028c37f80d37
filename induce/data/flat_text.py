"""A corpus as one array of words without boundary tokens, for models that are trained by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from induce.data.word_classes import Neighbours

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


class FlatText:
    """Words of a corpus without boundary tokens, and their counts."""

    def __init__(self, corpus: EncodedCorpus) -> None:
        self.lengths = corpus.lengths
        inside = np.ones(len(corpus.ids), dtype=bool)
        inside[corpus.offsets[1:] - 1] = False
        self.ids, breaks = corpus.ids[inside].astype(np.int64), corpus.breaks[inside]
        self.offsets = corpus.offsets - np.arange(len(corpus.offsets))
        self.words, size = corpus.vocabulary.words, len(corpus.vocabulary)
        self.neighbours = Neighbours.of(self.ids, self.offsets, breaks, size)
        self.counts = np.bincount(self.ids, minlength=size).astype(np.float64)
        pseudo = np.array([word.startswith("<unk") for word in self.words])
        self.share = np.where(pseudo, 0.0, self.counts / max(1, len(self.ids)))  # a pseudo-word represents rare words
        fragments = np.cumsum(breaks)
        self.fragments = (
            fragments - np.repeat(fragments[self.offsets[:-1]], self.lengths) if len(self.ids) else fragments
        )

    def places(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Indices (N, B) of the words of the sentences ``rows``, which have at most ``count`` words.

        The indices after the end of a sentence are arbitrary.
        """
        indices: np.ndarray = np.minimum(self.offsets[rows] + np.arange(count)[:, None], len(self.ids) - 1)
        return indices
