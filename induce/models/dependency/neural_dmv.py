"""Neural dependency models with valence: their base, with start, likelihood, arc marginals and best trees, and the
first-order model of Jiang, Han and Tu (2016), in the form of the released program of Yang et al.

A subclass computes the scores of all rules (`NeuralDmv.scores`) and is trained by gradient descent on the likelihood of
sentences, summed over trees (`outward_sums`). Its classes are induced from the text, unless each word is a class.
Before the first step, it learns the rules of initial trees: those of the harmonic start, or those of a teacher.

In the first-order model, a network computes the probabilities of the rules from embeddings, so that similar classes
have similar rules. See docs/reference/models/ndmv.md.

Shapes: B sentences, N words, V vocabulary, K classes with index 0 for padding, E units of an embedding, H hidden units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, FragmentBatch, SentenceBatch, batches_of_equal_length
from induce.data.corpus import EncodedCorpus
from induce.data.word_classes import FlatText, check_words_as_classes, word_classes
from induce.decoding.heads import Masks, ScoredHeads, k_best_heads, mbr_heads
from induce.layers.masks import real_words
from induce.models.base import Context, Loss, Model, Query
from induce.models.capabilities import SentenceScoring
from induce.models.dependency.outward_sums import (
    HAS_CHILD,
    LEFT,
    NO_CHILD,
    RIGHT,
    STOP,
    RuleScores,
    best_heads,
    harmonic_rules,
    log_total,
    tree_arcs,
    tree_scores,
    used_rules,
)
from induce.models.em.valence_grammar import ValenceGrammar
from induce.setting import choice, count, equal, limited, setting, weight
from induce.structures import HeadDistribution, Heads, RankedHeads, Structure

LONGEST = 200  # words of a sentence whose rules fit into a gigabyte
FORBIDDEN = -1e9  # log score of an arc that a tree must not have
STARTS = equal("model.start", "harmonic")  # the model learns initial trees
MAX_NUMBERS = 4_000_000  # of rules in one batch of initial trees or searches


@dataclass(frozen=True, kw_only=True)
class NeuralDmvConfig:
    """Classes and start of a neural dependency model."""

    classes: int = limited(40, 0, 1000, "induced word classes; 0: each word is one")
    endings: float = weight(1.0, "weight of the last letters of words in their classes")
    start: str = choice(
        "harmonic", ("harmonic", "random"), "harmonic: begin with near heads, or with the heads of --teacher"
    )
    start_epochs: int = limited(5, 1, 1e4, "passes over the initial trees", when=STARTS)
    start_length: int = limited(10, 1, 200, "longest sentences of the harmonic start", when=STARTS)
    teacher_length: int = limited(10, 1, 200, "longest sentences whose heads of --teacher are learned", when=STARTS)
    start_sentences: int = count(256, "sentences per batch of initial trees", when=STARTS)
    start_rate: float = limited(1e-3, 1e-9, 1, "learning rate of Adam for the trees of the harmonic start", when=STARTS)
    teacher_rate: float = limited(1e-3, 1e-9, 1, "learning rate of Adam for the heads of --teacher", when=STARTS)
    released_counts: bool = setting(
        False,
        help="count the decisions of root words in initial trees as the released program does",
        when=STARTS,
    )
    best_tree: bool = setting(False, help="maximize the probability of the best tree instead of the sum over trees")


class NeuralDmv(Model):
    """Base class of models that score trees by rules of heads, dependents, and decisions to continue or to stop."""

    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (HeadDistribution, Heads, RankedHeads)
    estimates_root = True
    max_length: ClassVar[int | None] = LONGEST
    siblings: ClassVar[bool] = False  # whether rules depend on the sibling
    gives_words: ClassVar[bool] = False  # whether the dependents are words, not classes
    config: Any
    classes: Tensor  # (V,)
    word_given_class: Tensor  # (V,): log P(word | its class)

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.config, self.vocabulary_size = config, vocabulary_size
        if not config.classes:
            check_words_as_classes("model.classes", vocabulary_size)
        classes = torch.arange(vocabulary_size) if not config.classes else torch.zeros(vocabulary_size).long()
        self.register_buffer("classes", classes)
        self.register_buffer("word_given_class", torch.zeros(vocabulary_size))

    @property
    def class_count(self) -> int:
        """Number K of classes, including that of padding."""
        return self.config.classes + 1 if self.config.classes else self.vocabulary_size

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log scores of the rules for sentences ``tokens`` (B, N)."""
        raise NotImplementedError

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Induce the classes, and learn the rules of the initial trees."""
        text = FlatText(corpus)
        if self.config.classes:
            classes = word_classes(
                text.neighbours, text.words, classes=self.config.classes, endings=self.config.endings
            )
            classes[1:] += 1
            classes[0] = 0
            self.classes.copy_(torch.from_numpy(classes))
            smoothed = text.counts + 0.5
            shares = smoothed / np.bincount(classes, smoothed, self.class_count)[classes]
            self.word_given_class.copy_(torch.from_numpy(np.log(shares)))
        if self.config.start == "harmonic":
            rate = self.config.start_rate if corpus.head_references is None else self.config.teacher_rate
            self._learn_trees(list(self._initial_trees(corpus)), rate)

    def _initial_trees(self, corpus: EncodedCorpus) -> Iterator[tuple[Tensor, list[list[int]]]]:
        """Batches of sentences of one length (B, N), with heads."""
        references = corpus.head_references
        longest = self.config.start_length if references is None else self.config.teacher_length
        chosen = np.flatnonzero((corpus.lengths <= longest) & (corpus.lengths > 0))
        if not len(chosen):
            return
        if references is None:
            classes = self.classes.cpu().numpy()
            rules = harmonic_rules([classes[corpus.sentence(int(index))] for index in chosen], self.class_count)
        for rows, _ in batches_of_equal_length(corpus.lengths[chosen], self._sentences_per_batch):
            batch = corpus.sentences(chosen[rows])
            if references is None:
                scores = rules.scores(self.classes[batch.tokens.to(self.classes.device)])
                yield batch.tokens, best_heads(scores, batch.lengths).tolist()
            else:
                matrices = references.heads(chosen[rows], corpus.lengths[chosen[rows]], batch.tokens.shape[1])
                yield batch.tokens, [list(mbr_heads(matrix)) for matrix in matrices]

    def _sentences_per_batch(self, length: int) -> int:
        """Number of initial trees of ``length`` words in one batch, so that their rules fit into memory."""
        rules = 2 * length ** (3 if self.siblings else 2)
        return min(self.config.start_sentences, max(1, MAX_NUMBERS // rules))

    def _learn_trees(self, batches: list[tuple[Tensor, list[list[int]]]], rate: float) -> None:
        """Maximize the mean score of the initial trees with this learning ``rate``."""
        config, device = self.config, self.classes.device
        rules = [used_rules(heads, siblings=self.siblings, released=config.released_counts) for _, heads in batches]
        optimizer = torch.optim.Adam(self.parameters(), lr=rate)
        self.train()
        for _ in range(config.start_epochs):
            for index in torch.randperm(len(batches)).tolist():
                tokens, heads = batches[index]
                optimizer.zero_grad()
                loss = -tree_scores(self.scores(tokens.to(device)), rules[index]) / len(heads)
                loss.backward()
                optimizer.step()
        self.zero_grad()

    def loss(self, batch: SentenceBatch, state: None = None) -> Loss:
        """Negative log of the sum over trees, or of the best tree, as a mean over sentences."""
        total = log_total(self.scores(batch.tokens), batch.lengths, best=self.config.best_tree and self.training)
        words = max(1, batch.token_count)
        nats = -(total + self._emitted(batch)).sum()
        return Loss(-total.mean(), nats / words, words, rows=len(batch.lengths))

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log probability of each sentence (B,) in nats: that of its classes, and of the words given the classes."""
        return log_total(self.scores(batch.tokens), batch.lengths) + self._emitted(batch)

    def _emitted(self, batch: SentenceBatch) -> Tensor:
        """Log probability of the words of each sentence given their classes (B,), 0 if the rules give the words."""
        if self.gives_words:
            return torch.zeros(len(batch.lengths), device=batch.tokens.device)
        inside = real_words(batch.tokens, batch.lengths)
        return torch.where(inside, self.word_given_class[batch.tokens], 0.0).sum(1)

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Arc marginals with the root on the diagonal, the best trees, or several of them with their log scores.

        Raises SentenceTooLong for a sentence of more than ``max_length`` words.
        """
        self.check_lengths(batch)
        scores = self.scores(batch.tokens)
        if query.structure is Heads:
            heads = best_heads(scores, batch.lengths).tolist()
            return Heads([row[:n] for row, n in zip(heads, batch.lengths.tolist(), strict=True)], batch.lengths)
        if query.structure is RankedHeads:
            return RankedHeads(k_best_trees(scores, batch.lengths, query.trees), batch.lengths)
        trees = tree_arcs(scores, batch.lengths)
        return HeadDistribution(trees.arcs.transpose(1, 2) + trees.root.diag_embed(), batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Cubic in the length, as are the tables of rules that depend on the sibling."""
        return max(length, 4) ** 3 / 200


def k_best_trees(scores: RuleScores, lengths: Tensor, k: int) -> list[list[ScoredHeads]]:
    """Log scores and heads of the ``k`` best trees of each sentence, best first, or fewer if there are not so many."""
    return [_of_sentence(scores, row, length, k) for row, length in enumerate(lengths.tolist())]


def _of_sentence(scores: RuleScores, row: int, words: int, k: int) -> list[ScoredHeads]:
    siblings = min(scores.attach.shape[3], words + 1)
    attach = scores.attach[row, :words, :words, :siblings].double()
    decision, root = scores.decision[row, :words, :siblings].double(), scores.root[row, :words].double()

    def best(masks: Masks) -> list[ScoredHeads]:
        allowed = torch.from_numpy(masks).to(root.device)
        costs = torch.where(allowed, 0.0, FORBIDDEN)  # (C, N, N + 1) of [dependent, head]
        results: list[ScoredHeads] = []
        for part in costs.split(max(1, MAX_NUMBERS // max(1, attach.numel()))):
            arcs = part[:, :, :words].transpose(1, 2)[..., None, None]
            restricted = RuleScores(
                attach + arcs, decision.expand(len(part), *decision.shape), root + part[:, :, words]
            )
            every = torch.full((len(part),), words)
            totals = log_total(restricted, every, best=True).tolist()
            trees = best_heads(restricted, every).tolist()
            pairs = zip(totals, trees, strict=True)
            results += [(total if total > FORBIDDEN / 2 else -torch.inf, tuple(tree)) for total, tree in pairs]
        return results

    return k_best_heads(best, words, k)


@dataclass(frozen=True, kw_only=True)
class NdmvConfig(NeuralDmvConfig):
    """Settings of the neural DMV. Default sizes are those of the released program."""

    embedding_size: int = count(100, "units of the embedding of a class")
    hidden_size: int = count(500, "hidden units for a head, a direction and a valence")
    child_size: int = count(250, "units of the layer before the dependents")
    decision_size: int = count(100, "units of the layer before the decisions")


class Ndmv(NeuralDmv, SentenceScoring):
    """First-order model: rules depend on the class of the head, direction and valence."""

    Config = NdmvConfig

    def __init__(self, config: NdmvConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, hidden, classes = config.embedding_size, config.hidden_size, self.class_count
        self.embedding = nn.Embedding(classes, size)
        self.direction = nn.Parameter(torch.randn(2, size))  # left, right
        self.root_vector = nn.Parameter(torch.randn(1, size))
        self.has_child, self.no_child = nn.Linear(2 * size, hidden), nn.Linear(2 * size, hidden)
        self.child, self.child_output = nn.Linear(hidden, config.child_size), nn.Linear(config.child_size, classes)
        self.decision, self.decision_output = (
            nn.Linear(hidden, config.decision_size),
            nn.Linear(config.decision_size, 2),
        )
        self.root = nn.Linear(size, classes)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Scores without siblings: log P(dependent), log P(decision) given [head, direction, valence], log P(root)."""
        classes, words = self.classes[tokens], torch.arange(tokens.shape[1], device=tokens.device)
        children, decisions, root = self.rule_tables()
        side = (words > words[:, None]).long()
        attach = children[classes[:, :, None], side[None], :, classes[:, None]]  # (B, N, N, 2)
        return RuleScores(attach[:, :, :, None], decisions[classes][:, :, None], root[classes])

    def rule_tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """Log P(dependent) (K, 2, 2, K) and log P(decision) (K, 2, 2, 2) of [head, direction, valence], log P(root)."""
        heads = self.embedding.weight[:, None].expand(-1, 2, -1)
        inputs = torch.cat([heads, self.direction.expand(len(heads), -1, -1)], -1)  # (K, 2, 2 E)
        hidden = functional.relu(torch.stack([self.has_child(inputs), self.no_child(inputs)], 2))  # (K, 2, 2, H)
        children = self.child_output(functional.relu(self.child(hidden))).log_softmax(-1)  # (K, 2, 2, K)
        decisions = self.decision_output(functional.relu(self.decision(hidden))).log_softmax(-1)
        return children, decisions, self.root(self.root_vector)[0].log_softmax(-1)

    @torch.no_grad()
    def valence_grammar(self) -> ValenceGrammar:
        """The rules as probabilities, with the numbers of sides and valences of `ValenceGrammar`."""
        children, decisions, root = (table.double().exp().cpu().numpy() for table in self.rule_tables())
        sides, valences = [RIGHT, LEFT], [NO_CHILD, HAS_CHILD]
        return ValenceGrammar(root, decisions[:, sides][:, :, valences, STOP], children[:, sides][:, :, valences])
