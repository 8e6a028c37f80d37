"""Dependency model with valence (Klein and Manning 2004) over induced word classes.

The model is fitted by expectation-maximization, without gradients. It first induces the word classes, then estimates
how likely each class is to be a predicate, then fits the grammar from a harmonic start, with short sentences first. One
model contains several *members*: grammars with different classes and preferences. It parses with the mean of their arc
marginals. See docs/reference/models/dmv.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import Batch, FragmentBatch, SentenceBatch
from induce.data.word_classes import FlatText
from induce.models.base import FitStep, Query
from induce.models.em.dependency_tables import by_head
from induce.models.em.dmv_learner import DmvLearner
from induce.models.em.dmv_members import DmvMembers
from induce.models.em.valence_grammar import (
    NO_PREFERENCES,
    TABLE,
    GrammarSums,
    SentenceBlock,
    ValenceGrammar,
    blocks_of_similar_length,
)
from induce.structures import HeadDistribution, Structure

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

PARSING_TABLE = 2_000_000  # the same for the sentences of one parsing batch
LONGEST = 500  # words of a sentence whose tables fit into half a gigabyte


class Dmv(DmvMembers):
    """Dependency model with valence, whose members vote."""

    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (HeadDistribution,)
    estimates_root = True
    max_length: ClassVar[int | None] = LONGEST

    def fit(self, corpus: EncodedCorpus, start: int = 0) -> Iterator[FitStep]:
        """Fit one member after the other, one pass of EM per step.

        The first step of a member also induces its classes and computes its harmonic start.
        """
        text = FlatText(corpus)
        total = self.config.members * self.config.passes
        for member in range(start // self.config.passes, self.config.members):
            learner = DmvLearner(self, text, member)
            for step in range(max(start, member * self.config.passes), (member + 1) * self.config.passes):
                nll, count = learner.step(step - member * self.config.passes)
                yield FitStep(step + 1, total, nll=nll, count=count, check=step + 1 == total)

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Mean over members of the head probabilities (B, N, N), with the root on the diagonal.

        A batch without fragments is read as sentences without punctuation. Raises SentenceTooLong for a sentence of
        more than ``max_length`` words.
        """
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        self.check_lengths(batch)
        fragments = batch.fragments.cpu().numpy() if isinstance(batch, FragmentBatch) else np.zeros_like(tokens)
        heads = np.zeros((*tokens.shape, tokens.shape[1]))
        members = self.ready()
        sums = GrammarSums(self.preferences(0))
        whole = fragments.max(1, initial=0) == 0
        for rows, count in blocks_of_similar_length(lengths, whole, table=TABLE // len(members)):
            size = max(1, TABLE // (count**2 * len(rows)))  # members whose tables fit
            sentences = tokens[rows, :count].T, fragments[rows, :count].T, lengths[rows]
            for start in range(0, len(members), size):
                votes = self._votes(sums, members[start : start + size], *sentences)
                heads[rows, :count, :count] += votes / len(members)
        return HeadDistribution(torch.from_numpy(heads).to(batch.tokens.device), batch.lengths)

    def _votes(
        self, sums: GrammarSums, members: list[int], ids: np.ndarray, fragments: np.ndarray, lengths: np.ndarray
    ) -> np.ndarray:
        """Head distributions (B, N, N), summed over ``members``, of sentences ``ids`` (N, B) of ``lengths`` (B,)."""
        count, batch = ids.shape
        blocks = [self.block(member, ids, fragments, lengths) for member in members]
        classes = [block.classes + index * self.class_count for index, block in enumerate(blocks)]
        names = ("head", "root", "leaning")
        head, root, leaning = (np.concatenate([getattr(block, name) for block in blocks], 1) for name in names)
        copies, all_lengths = len(members), np.tile(lengths, len(members))
        joined = SentenceBlock(
            np.concatenate(classes, 1), blocks[0].fragments, head, root, all_lengths, copies, leaning
        )
        tables = (table[members].cpu().numpy() for table in (self.root, self.stop, self.choose))
        grammar = ValenceGrammar(*(table.reshape(-1, *table.shape[2:]) for table in tables))
        bias = np.repeat([self.between("length_bias", member) for member in members], batch)
        sums.preferences = replace(sums.preferences, length_bias=bias)
        trees = sums.trees(grammar, joined)
        arcs = by_head((trees.first + trees.later).reshape(2, count, count, len(members), batch).sum(3))
        arcs[np.arange(count), np.arange(count)] = trees.root.reshape(count, len(members), batch).sum(1)
        return arcs.transpose(2, 1, 0)

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats: the mean over members of P(classes) P(words | classes).

        The preferences for near, rare, predicate or last heads are not included, because they are not probabilities.
        """
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        members = self.ready()
        logs = np.zeros((len(members), len(lengths)))
        sums = GrammarSums(NO_PREFERENCES)
        for index, member in enumerate(members):
            words = np.log(self.word_given_class[member].cpu().numpy())
            for rows, count in blocks_of_similar_length(lengths, np.ones(len(lengths), dtype=bool)):
                ids = tokens[rows, :count].T
                block = SentenceBlock.of_classes(self.classes[member].cpu().numpy()[ids], lengths[rows])
                emitted = np.where(np.arange(count)[:, None] < lengths[rows], words[ids], 0.0).sum(0)
                logs[index, rows] = sums.trees(self.grammar(member), block).log_total + emitted
        mixture = np.logaddexp.reduce(logs, 0) - np.log(len(members))
        return torch.from_numpy(mixture).to(batch.lengths.device)

    def ready(self) -> list[int]:
        """Members that predict: the completely fitted ones, else those with at least one pass, else the first."""
        passes = self.passes.tolist()
        done = [member for member, count in enumerate(passes) if count == self.config.passes]
        return done or [member for member, count in enumerate(passes) if count] or [0]

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, in units in which the largest batch fills the tables several times."""
        return 4096 * max(length, 4) ** 2 / PARSING_TABLE
