"""Unsupervised recurrent neural network grammar (Kim, Rush, Yu, Kuncoro, Dyer & Melis 2019).

An `Rnng` whose trees are latent: the inference network samples trees, and both networks maximize a lower bound of the
likelihood of the sentences. ``docs/reference/models/urnng.md`` maps the paper to these functions.

Shapes as in `induce.models.language.rnng`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.layers.tree_crf import TreeCrf
from induce.models.base import Context, Loss, bounded
from induce.models.language.rnng import Joint, Rnng, RnngConfig, closings_of, fixed_uniforms, importance_bound, with_end
from induce.setting import limited, weight

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


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
