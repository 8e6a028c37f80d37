"""Log-probability of sentences under a trained model, each read by itself, and of their words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from induce.data.batches import SentenceBatch, pad
from induce.data.by_length import map_by_length
from induce.layers.matrix_library import flushing_denormals
from induce.likelihood.language_model import EncodedSentence, LanguageModel, blocks_until_failure
from induce.parsing.parser import LARGEST_BLOCK
from treebank.base.errors import NotANumberError
from treebank.core.sentence import Sentence

MAX_MASKED_WORDS = 500  # of a sentence, of which each word needs a copy
END = "<eos>"  # written for the end-of-sentence token
#: what a log-probability is over: next words and the end of the sentence; words that are masked one by one; or the
#: sentence and its end, summed over all trees
Counted = Literal["words+eos", "masked-words", "sentence"]


@dataclass(frozen=True, slots=True)
class SentenceLikelihood:
    """Log-probability of a sentence in nats, and of its words, or None if no word is left after normalization.

    ``words`` has one log-probability per word and, for a model of next words, one for the end of the sentence. It is
    empty if the model has probabilities of sentences only.
    """

    sentence: EncodedSentence
    log_probability: float | None
    words: tuple[float, ...] = ()

    @property
    def surprisals(self) -> list[tuple[str, float]]:
        """Each word, and `END` if it is scored, with its surprisal in bits."""
        names = [*self.sentence.words, END]
        return [(name, -nats / math.log(2)) for name, nats in zip(names, self.words, strict=False)]

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        line: dict[str, Any] = {
            "words": list(self.sentence.words),
            "log_probability": self.log_probability,
            "unknown": self.sentence.unknown,
        }
        if self.words:
            line["surprisals"] = [bits for _, bits in self.surprisals]
        return line


class SentenceScorer(LanguageModel):
    """A trained model that assigns log-probabilities to sentences."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model has no probabilities of sentences."""
        super().__init__(run, device=device)
        self.check_probabilities(of_sentences=True)
        self.model: Any = self.build()

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence that it scores, or None."""
        return MAX_MASKED_WORDS if self.is_masked else super().max_length

    @property
    def counted(self) -> Counted:
        """The tokens that a log-probability is over."""
        if not self.gives_words:
            return "sentence"
        return "masked-words" if self.is_masked else "words+eos"

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceLikelihood]:
        """The score of each sentence, in order. The text is streamed."""
        for block in blocks_until_failure(map(self.encode, sentences), LARGEST_BLOCK):
            yield from self.score_encoded(block)

    @torch.inference_mode()
    @flushing_denormals()
    def score_encoded(self, block: Sequence[EncodedSentence]) -> list[SentenceLikelihood]:
        """The scores of ``block``. Equal sentences are scored once, so that their scores are equal.

        Raises NotANumberError if a score is NaN.
        """
        distinct = [ids for ids in dict.fromkeys(sentence.ids for sentence in block) if ids]
        scores = dict(zip(distinct, map_by_length(self._scores, distinct, cost=self.model.parsing_cost), strict=True))
        if any(math.isnan(total) for total, _ in scores.values()):
            raise NotANumberError
        return [SentenceLikelihood(sentence, *scores.get(sentence.ids, (None,))) for sentence in block]

    def _scores(self, sentences: Sequence[tuple[int, ...]]) -> list[tuple[float, tuple[float, ...]]]:
        """Log-probability of each sentence of a batch and those of its words."""
        batch = SentenceBatch(*pad(sentences)).to(self.device)
        if not self.gives_words:
            return [(value, ()) for value in self.model.log_probability(batch).tolist()]
        rows: Tensor = self.model.word_log_probabilities(batch).double()
        ends = 0 if self.is_masked else 1
        words = [tuple(row[: len(ids) + ends]) for row, ids in zip(rows.tolist(), sentences, strict=True)]
        return [(math.fsum(row), row) for row in words]
