"""Fitting of one member of DMV by expectation-maximization: classes, word weights, start and passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from induce.data.word_classes import FlatText, word_classes
from induce.models.em.dmv_members import NOT_COMPARED, DmvMembers
from induce.models.em.phrase_heads import evidence_for_last_heads
from induce.models.em.predicates import frequency_weights, predicate_scores
from induce.models.em.valence_grammar import (
    GrammarSums,
    Preferences,
    SentenceBlock,
    Smoothing,
    ValenceGrammar,
    blocks_of_similar_length,
)

MIN_GAIN = 1e-3  # smallest relative gain of the log-likelihood by a pass of lateen EM that counts as progress


class DmvLearner:
    """EM of one member. Its own state can be computed again at any pass from the buffers of the model."""

    def __init__(self, model: DmvMembers, text: FlatText, member: int) -> None:
        self.model, self.text, self.member = model, text, member
        config = model.config
        self.smoothing = Smoothing(
            config.smooth_root, config.smooth_choose, config.smooth_stop, config.backoff, config.extended
        )
        self.stage, self.blocks = -1, list[SentenceBlock]()

    @property
    def seed(self) -> int:
        """Seed of the member, which also depends on the seed of the training run."""
        return self.model.seed * 1000 + self.member

    def step(self, done: int) -> tuple[float, int]:
        """Run one pass after ``done`` passes and return the mean NLL of the classes and the number of words."""
        if done == 0:
            self._prepare()
            self.model.group.equalize(self.model)
        self._choose_sentences(done)
        if done == 0:
            self._learn(None)
        total = self._learn(self.model.grammar(self.member))
        self._alternate(total)
        self.model.passes[self.member] = done + 1
        count = sum(block.classes.size for block in self.blocks)
        return -total / max(1, count), count

    def _alternate(self, total: float) -> None:
        """Change between all trees and the best tree if ``total`` hardly increased (lateen EM, Spitkovsky et al. 2011).

        The log-likelihood of the best tree is compared only with that of the best tree, and likewise for the sum.
        """
        model, member = self.model, self.member
        if model.config.em != "lateen":
            return
        before = float(model.objective[member])
        stalled = total - before < MIN_GAIN * abs(total)
        if stalled:
            model.hard[member] = not model.hard[member]
        model.objective[member] = NOT_COMPARED if stalled else total

    def _learn(self, grammar: ValenceGrammar | None) -> float:
        """Fit the grammar to expected uses under ``grammar`` and return the log-likelihood under ``grammar``.

        With None, the expected uses are those of harmonic heads. A hard pass counts uses in the best trees.
        """
        best = bool(self.model.hard[self.member])
        counts, total, group = ValenceGrammar.zeros(self.model.class_count), np.zeros(1), self.model.group
        for block in group.share(self.blocks):
            trees = self.sums.harmonic_heads(block) if grammar is None else self.sums.trees(grammar, block, best=best)
            self.sums.add(counts, block, trees)
            total += trees.log_total.sum()
        group.add_up(counts.root, counts.stop, counts.choose, total)
        estimate = ValenceGrammar.from_counts(counts, self.smoothing)
        for name in ("root", "stop", "choose"):
            getattr(self.model, name)[self.member] = torch.from_numpy(getattr(estimate, name))
        return float(total[0])

    def _preferences(self, stage: int) -> Preferences:
        """Preferences of the member at a stage.

        If the member is annealed, its bias towards near heads decreases from stage to stage.
        """
        preferences, config = self.model.preferences(self.member), self.model.config
        annealed = (self.member * config.annealed) % 1 + config.annealed >= 1
        if not annealed:
            return preferences
        share = stage / (len(config.stages) - 1)
        return replace(preferences, length_bias=(1 - share) * config.annealed_bias + share * preferences.length_bias)

    def _prepare(self) -> None:
        """Compute the classes, predicate scores, word weights and evidence for last heads of the member."""
        config, model, text = self.model.config, self.model, self.text
        if model.words_are_classes:
            classes, size = np.arange(model.vocabulary_size), model.vocabulary_size
        else:
            size = max(1, round(model.between("classes", self.member)))
            classes = word_classes(text.neighbours, text.words, classes=size, endings=config.endings, seed=self.seed)
        power = model.between("frequency_power", self.member)
        weights = frequency_weights(text.share, scale=config.frequency_scale, power=power)
        begins, ends = np.log(np.maximum(text.edges, 1e-9))
        leaning = (1 - weights) * np.clip(begins - ends, -config.leaning_limit, config.leaning_limit)
        predicate = weights * self._predicates(classes, leaning, 1 - weights, size)[classes]
        smoothed = text.counts + 0.5
        tables = {
            "classes": classes,
            "leaning": leaning,
            "content": weights,
            "head_weight": weights * np.exp(config.predicate_head * predicate),
            "root_weight": weights * np.exp(config.predicate_root * predicate),
            "word_given_class": smoothed / np.bincount(classes, smoothed)[classes],
        }
        for name, table in tables.items():
            getattr(model, name)[self.member] = torch.from_numpy(table)
        right = max(0.0, 2 * model.right_probability - 1)  # in left-branching languages, most heads are last anyway
        evidence = evidence_for_last_heads(classes[text.ids], weights[text.ids], text.segments, count=size)
        model.last_heads[self.member] = right * min(max(evidence, 0.0), 1.0)
        model.share.copy_(torch.from_numpy(text.counts / max(1, len(text.ids))))

    def _predicates(self, classes: np.ndarray, leaning: np.ndarray, frequent: np.ndarray, size: int) -> np.ndarray:
        """Scores (K,) of ``size`` classes as predicates, for the class, leaning and frequency (V,) of each word."""
        text = self.text
        sentences = np.repeat(np.arange(len(text.lengths)), text.lengths)
        edges = np.diff(text.segments, prepend=-1, append=-1) != 0  # before each word, and after the last one
        before = np.where(edges[:-1], 0.0, np.append(0.0, np.maximum(-leaning, 0)[text.ids[:-1]]))
        after = np.where(edges[1:], 0.0, np.append(frequent[text.ids[1:]], 0.0))
        return predicate_scores(classes[text.ids], text.segments, sentences, before, after, count=size)

    def _choose_sentences(self, done: int) -> None:
        """Prepare the sentences of the stage that contains pass ``done``.

        If no sentence is short enough for the stage, the shortest ones are used.
        """
        stages = self.model.config.stages
        ends = np.cumsum([passes for _, passes in stages])
        stage = int(np.searchsorted(ends, done, side="right"))
        if stage == self.stage:
            return
        self.stage = stage
        if done in (0, *ends):
            self.model.objective[self.member] = NOT_COMPARED
        self.sums = GrammarSums(self._preferences(stage))
        fit = np.flatnonzero(self.text.lengths <= stages[stage][0])
        if not len(fit):
            lengths = self.text.lengths
            fit = np.flatnonzero(lengths == lengths.min(initial=lengths.max(initial=0)))
        most = self.model.config.sentences
        if len(fit) > most:
            fit = np.sort(np.random.default_rng([self.seed, stage]).choice(fit, most, replace=False))
        self.blocks = []
        lengths = self.text.lengths[fit]
        whole = self.text.fragments[self.text.offsets[fit] + lengths - 1] == 0
        for rows, count in blocks_of_similar_length(lengths, whole):
            positions = self.text.word_positions(fit[rows], count)
            ids, fragments = self.text.ids[positions], self.text.fragments[positions]
            self.blocks.append(self.model.block(self.member, ids, fragments, self.text.lengths[fit[rows]]))
