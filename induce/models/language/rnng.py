"""Recurrent neural network grammars without labels: trained on given trees (Dyer et al. 2016), or on sentences alone
(Kim, Rush, Yu, Kuncoro, Dyer & Melis 2019).

A generative model derives words and binary tree by shifts and reductions; an inference network scores spans, from which
it has a distribution over trees. An `Urnng` is an `Rnng` whose trees are latent: the inference network samples trees,
and both networks maximize a lower bound of the likelihood of the sentences. The order of this file: settings, inference
network, both models. ``docs/reference/models/urnng.md`` maps the paper to these functions and lists differences.

Shapes: B sentences, N words, K trees of each sentence, D units, Q units of one direction of the inference LSTM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, FragmentBatch, SentenceBatch, SpanSupervisedBatch, SpanTargetBatch
from induce.data.corpus import EncodedCorpus
from induce.decoding.chart import mbr
from induce.layers.cross_entropy import target_log_probabilities
from induce.layers.masks import pieces
from induce.layers.stack_lstm import StackLstm, derivation, filtered_words
from induce.layers.tree_crf import TreeCrf, span_marginals
from induce.models.base import Context, Loss, Model, Query, bounded
from induce.models.capabilities import WordScoring
from induce.setting import count, dropout_rate, limited, weight
from induce.structures import Brackets, SpanScores

MAX_POSITIONS = 250  # positions of the inference network with an embedding of their own
MIN_ACTION = 1e-7  # lowest probability of an action
SCORING_TEMPERATURE = 2.0  # divisor of span scores when trees are sampled to score a sentence


@dataclass(frozen=True, kw_only=True)
class RnngConfig:
    """Sizes and rates. The defaults are those of Kim et al. (2019)."""

    embedding_size: int = count(650, "units of a word embedding, of the stack LSTM and of a constituent")
    layers: int = limited(2, 1, 1000, "layers of the stack LSTM")
    inference_size: int = count(256, "units of one direction of the LSTM of the inference network")
    dropout: float = dropout_rate(0.5, "dropout inside the layers")
    scoring_samples: int = count(100, "trees that are sampled to score a sentence")
    particles: int = count(100, "derivations that are kept after each word to compute surprisal")


class InferenceNetwork(nn.Module):
    """Scores of spans from a bidirectional LSTM."""

    def __init__(self, config: RnngConfig) -> None:
        super().__init__()
        size, units = config.embedding_size, 2 * config.inference_size
        self.position = nn.Embedding(MAX_POSITIONS, size)
        self.lstm = nn.LSTM(size, config.inference_size, bidirectional=True, batch_first=True)
        self.hidden = nn.Linear(units, units)
        self.norm = nn.LayerNorm(units)
        self.score = nn.Linear(units, 1)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, embedded: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """Scores (B, M) of the spans from ``starts`` up to ``ends`` (M,), the ends excluded.

        ``embedded`` (B, N + 2, D) are the words between two boundary symbols.
        """
        index = torch.arange(embedded.shape[1], device=embedded.device).clamp(max=MAX_POSITIONS - 1)
        states, _ = self.lstm(self.dropout(embedded) + self.dropout(self.position(index)))
        forward, backward = states.chunk(2, -1)
        spans = torch.cat([forward[:, ends + 1] - forward[:, starts + 1], backward[:, starts] - backward[:, ends]], -1)
        scores: Tensor = self.score(self.dropout(self.norm(functional.relu(self.hidden(spans)))))
        return scores[..., 0]


class Joint(NamedTuple):
    """Log-probabilities (B, K) in nats of sentences with trees: of the words, and of the actions."""

    words: Tensor
    actions: Tensor

    @property
    def total(self) -> Tensor:
        """Joint log-probability (B, K) in nats of each sentence with each of its K trees."""
        return self.words + self.actions


class Rnng(WordScoring, Model):
    """Recurrent neural network grammar that learns from the trees of other parsers."""

    Config: ClassVar[type] = RnngConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (SpanTargetBatch,)
    gives = (Brackets, SpanScores)  # the most probable tree first, as published
    shortest = 2
    max_length: ClassVar[int | None] = 3_000  # whose spans fit into a gigabyte
    config: Any

    def __init__(self, config: RnngConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size = config.embedding_size
        self.embedding = nn.Embedding(vocabulary_size, size)  # also of the output layer, and of the inference network
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.stack = StackLstm(size, config.layers, config.dropout)
        self.action = nn.Linear(size, 1)
        self.inference = InferenceNetwork(config)
        self.dropout = nn.Dropout(config.dropout)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def joint(self, symbols: Tensor, closings: Tensor) -> Joint:
        """Log-probability of words and trees.

        ``symbols`` (B, 1 + N): the start symbol and the words. ``closings`` (B, K, N): the number of spans of two or
        more words that end at each word, in each of K trees.
        """
        batch, samples, length = closings.shape
        steps = derivation(closings.flatten(0, 1))
        each = symbols[:, None].expand(-1, samples, -1).flatten(0, 1)  # (B K, 1 + N)
        contexts = self.stack(self.embedding(each[:, 1:]), self.embedding.weight[symbols[0, 0]], steps)
        rows = self.dropout(contexts[~steps.reduces])
        words = target_log_probabilities(rows, self.embedding.weight, self.decoder_bias, each[:, 1:].flatten())
        p = self.action(self.dropout(contexts))[..., 0].sigmoid().clamp(MIN_ACTION, 1 - MIN_ACTION)
        actions = (torch.where(steps.reduces, p, 1 - p).log() * steps.counted).sum(1)
        return Joint(words.view(batch, samples, length).sum(2), actions.view(batch, samples))

    def span_scores(self, symbols: Tensor) -> Tensor:
        """Scores (B, N, N + 1) of the spans of ``symbols`` (B, N + 2), words between two boundary symbols."""
        length = symbols.shape[1] - 2
        starts, ends = torch.ones(length, length + 1, dtype=torch.bool, device=symbols.device).triu(1).nonzero().t()
        scores = self.embedding.weight.new_zeros(len(symbols), length, length + 1)
        scores[:, starts, ends] = self.inference(self.embedding(symbols), starts, ends)
        return scores

    def loss(self, batch: SpanTargetBatch, state: None = None) -> Loss:
        """Negative log-probability of sentences with the given trees, and of these trees under the inference network.

        Given trees that are not binary are made left-branching; several trees of one sentence vote for a binary tree.
        """
        objective = nll = batch.tokens.new_zeros((), dtype=self.decoder_bias.dtype)
        for rows, tokens in batch.by_length():
            length = tokens.shape[1]
            trees = binary_trees(batch.spans[rows, :length, : length + 1])
            joint = self.joint(bounded(tokens), with_end(closings_of(trees))).total
            crf = TreeCrf(self.span_scores(bounded(tokens)))
            nll = nll - joint.sum()
            objective = objective - joint.sum() - crf.log_probability(trees).sum()
        return self.mean_loss(batch, objective, nll)

    def mean_loss(self, batch: SentenceBatch, objective: Tensor, nll: Tensor) -> Loss:
        """Loss from sums over a batch: the objective per sentence, and the log-likelihood per word or end."""
        sentences = int((batch.lengths > 0).sum())
        tokens = max(1, batch.token_count + sentences)
        return Loss(objective / max(1, sentences), nll / tokens, tokens, rows=sentences)

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Lower bound (B,) of the log-probability of each sentence and its end, in nats.

        The importance-weighted bound with ``scoring_samples`` trees of the inference network, which are the same in
        every call.
        """
        result = self.decoder_bias.new_zeros(len(batch.lengths))
        for rows, tokens in batch.by_length():
            crf = TreeCrf(self.span_scores(bounded(tokens)) / SCORING_TEMPERATURE)
            trees = crf.sample(fixed_uniforms(self.config.scoring_samples, tokens))
            joint = self.joint(bounded(tokens), with_end(closings_of(trees)))
            result[rows] = importance_bound(joint, crf.log_probability(trees))
        return result

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word given the previous words, and of the end, in nats."""
        result = self.decoder_bias.new_zeros(len(batch.lengths), batch.tokens.shape[1] + 1)
        for rows, tokens in batch.by_length():
            result[rows, : tokens.shape[1] + 1] = filtered_words(self, bounded(tokens), self.config.particles)
        return result

    def structure(self, batch: SentenceBatch, query: Query) -> SpanScores | Brackets:
        """Probability of each span under the inference network, or the spans of its most probable tree."""
        size = batch.tokens.shape[1]
        scores = self.decoder_bias.new_zeros(len(batch.lengths), size, size + 1)
        for rows, tokens in batch.by_length():
            length = tokens.shape[1]
            for start, end in pieces(length):
                values = self.span_scores(bounded(tokens[:, start:end]))
                values = values if query.structure is Brackets else span_marginals(values).clamp(0, 1)
                scores[rows, start:end, start : end + 1] = values.triu(2)
                if query.structure is SpanScores:
                    scores[rows, start, length] = 1.0  # pieces are joined from the right
        if query.structure is SpanScores:
            return SpanScores(scores, batch.lengths)
        tables = SpanScores(scores, batch.lengths).rows()
        return Brackets([mbr(table) for table in tables], batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because the spans are scored."""
        return length + 2.0 + length**2 / 4


def closings_of(trees: Tensor) -> Tensor:
    """Number (B, K, N) of spans of two or more words that end at each word of ``trees`` (B, K, N, N + 1)."""
    return trees.sum(2)[..., 1:] - 1


def with_end(closings: Tensor) -> Tensor:
    """Numbers of reductions ``closings`` (B, K, N) after each word, and 1 after the end symbol: (B, K, N + 1)."""
    return functional.pad(closings, (0, 1), value=1)


def importance_bound(joint: Joint, log_q: Tensor) -> Tensor:
    """Importance-weighted lower bound (B,) of the log-probability of sentences, from K trees drawn from q each."""
    return (joint.total - log_q).logsumexp(1) - math.log(log_q.shape[1])


def fixed_uniforms(samples: int, tokens: Tensor) -> Tensor:
    """Random numbers (1, K, N, N + 1), the same for all sentences of the length of ``tokens`` (B, N)."""
    length = tokens.shape[1]
    generator = torch.Generator().manual_seed(length)
    return torch.rand(1, samples, length, length + 1, generator=generator).to(tokens.device)


def binary_trees(shares: Tensor) -> Tensor:
    """The binary tree (B, 1, N, N + 1) with the largest sum of ``shares`` (B, N, N + 1), single words included.

    On ties the left child is long, so that a span without inner spans is left-branching, as in the released program.
    """
    count = shares.shape[1]
    trees = torch.zeros(len(shares), 1, count, count + 1, dtype=torch.bool)
    trees.diagonal(1, 2, 3).fill_(True)
    for tree, table in zip(trees[:, 0], shares.cpu().numpy(), strict=True):
        mirrored = table[:, 1:].T[::-1, ::-1]  # entry (i, j) is the span from N - 1 - j to N - i
        padded = functional.pad(torch.from_numpy(mirrored.copy()), (1, 0)).numpy()
        for start, end in mbr(padded):
            tree[count - end, count - start] = True
    return trees.to(shares.device)


@dataclass(frozen=True, kw_only=True)
class UrnngConfig(RnngConfig):
    """Sizes and rates. The defaults are those of the paper."""

    samples: int = limited(8, 2, 10_000, "trees that are sampled for a sentence in training")
    kl_epochs: float = weight(2.0, "epochs in which the weight of actions and entropy rises from 0 to 1")
    inference_epochs: float = weight(1.0, "epochs in which the inference network learns")


class Urnng(Rnng):
    """Recurrent neural network grammar that learns from sentences alone."""

    Config = UrnngConfig
    reads = (FragmentBatch, SpanSupervisedBatch)
    epoch: Tensor
    step: Tensor

    def __init__(self, config: UrnngConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.register_buffer("epoch", torch.zeros((), dtype=torch.float64))  # passes over the text so far
        self.register_buffer("step", torch.ones((), dtype=torch.float64))  # share of a sentence in a pass

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Read the number of sentences, which sets the pace of the schedules."""
        self.step.fill_(1 / max(1, len(corpus)))

    def bound(self, crf: TreeCrf, trees: Tensor, joint: Joint, *, kl: float, learns_trees: bool) -> Tensor:
        """Objective (B,) whose gradient is that of the lower bound, for K sampled ``trees``.

        The gradient of the samples is estimated by REINFORCE; the baseline of a sample is the mean over the others.
        ``kl`` is the weight of actions and entropy. Without ``learns_trees``, the inference network does not learn.
        """
        value = joint.words + kl * joint.actions
        if not learns_trees:
            return value.mean(1)
        samples = value.shape[1]
        baseline = (value.sum(1, keepdim=True) - value) / (samples - 1)
        signal = ((value - baseline).detach() * crf.log_probability(trees)).mean(1)
        return value.mean(1) + kl * crf.entropy + signal

    def loss(self, batch: FragmentBatch, state: None = None) -> Loss:
        """Negative lower bound of the log-likelihood of the sentences, and their importance-weighted bound.

        In training, trees are drawn, and weights of spans lower their probability. In evaluation, the trees are the
        same in every call.
        """
        training, config = self.training, self.config
        kl = min(1.0, float(self.epoch) / config.kl_epochs) if training and config.kl_epochs else 1.0
        learns_trees = not training or float(self.epoch) < config.inference_epochs
        objective = nll = batch.tokens.new_zeros((), dtype=self.decoder_bias.dtype)
        for rows, tokens in batch.by_length():
            length = tokens.shape[1]
            with torch.set_grad_enabled(torch.is_grad_enabled() and learns_trees):
                scores = self.span_scores(bounded(tokens))
                if training and isinstance(batch, SpanSupervisedBatch):
                    weights = batch.weights[rows, :length, : length + 1]
                    scores = scores + torch.where(weights > 0, weights, 1.0).log().to(scores.dtype)
                crf = TreeCrf(scores)
            shape = (len(tokens), config.samples, length, length + 1)
            uniforms = torch.rand(shape, device=tokens.device) if training else fixed_uniforms(config.samples, tokens)
            trees = crf.sample(uniforms)
            joint = self.joint(bounded(tokens), with_end(closings_of(trees)))
            objective = objective - self.bound(crf, trees, joint, kl=kl, learns_trees=learns_trees).sum()
            nll = nll - importance_bound(joint, crf.log_probability(trees)).sum().detach()
        if training:
            self.epoch += self.step * len(batch.lengths)
        return self.mean_loss(batch, objective, nll)
