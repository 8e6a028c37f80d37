"""Dependency model with valence (Klein and Manning 2004) over induced word classes.

The model is fitted by expectation-maximization, without gradients. It first induces the word classes, then estimates
how likely each class is to be a predicate, then fits the grammar from a harmonic start, with short sentences first. One
model contains several *members*: grammars with different classes and preferences. It parses with the mean of their arc
marginals. See docs/reference/models/dmv.md.

The order in this file: settings, state of all members, fitting of one member, the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import Batch, FragmentBatch, SentenceBatch
from induce.data.word_classes import FlatText, check_words_as_classes, word_classes
from induce.models.base import Context, FitStep, FittedModel, Query
from induce.models.capabilities import SentenceScoring
from induce.models.em.dependency_tables import CONSTRAINTS, by_head
from induce.models.em.head_evidence import evidence_for_last_heads, frequency_weights, modifier_degree, predicate_scores
from induce.models.em.valence_grammar import (
    NO_PREFERENCES,
    TABLE,
    GrammarSums,
    Preferences,
    SentenceBlock,
    Smoothing,
    ValenceGrammar,
    blocks_of_similar_length,
)
from induce.setting import choice, count, equal, limited, setting, share, unequal, weight
from induce.structures import HeadDistribution, Structure

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


EM = ("soft", "viterbi", "lateen")
NOT_COMPARED = -1e300  # log-likelihood of a pass that is not compared with the next one; finite, for checkpoints
GOLDEN_RATIO = 0.6180339887498949
#: settings that differ from member to member -> multiples of the golden ratio and of 1/7 between two members, so that
#: the values of a setting are spread evenly and those of two settings are independent
MEMBER_STEPS = {"classes": (1, 0), "length_bias": (2, 1), "frequency_power": (3, 2)}
#: edges of segments have an effect
USES_EDGES = (
    unequal("model.leaning", 0.0)
    | unequal("model.head_leaning", 0.0)
    | unequal("model.predicate_root", 0.0)
    | unequal("model.predicate_head", 0.0)
)


@dataclass(frozen=True, kw_only=True)
class DmvConfig:
    """Settings of DMV.

    Values between ``…_low`` and ``…_high`` differ between members; a single member uses the mean of both.
    """

    members: int = limited(12, 1, 1000, "grammars that vote")
    classes_low: int = limited(
        25, 0, 10_000, "lower end of the range of numbers of word classes; 0, as classes_high: each word is a class"
    )
    classes_high: int = limited(45, 0, 10_000, "upper end of the range of numbers of word classes")
    endings: float = weight(1.0, "weight of the last letters of words in their classes")
    extended: bool = setting(
        True, help="the choice of a dependent depends on whether it is the first on its side (Headden et al. 2009)"
    )
    short_length: int = count(10, "maximum words of a sentence in the first stage")
    short_passes: int = count(20, "passes over sentences up to short_length")
    middle_length: int = count(15, "maximum words of a sentence in the second stage")
    middle_passes: int = limited(5, 0, 1e6, "passes over sentences up to middle_length")
    long_length: int = count(30, "maximum words of a sentence in the last stage")
    long_passes: int = limited(5, 0, 1e6, "passes over sentences up to long_length")
    sentences: int = count(2000, "maximum sentences of a pass, sampled again for each stage")
    length_bias_low: float = limited(
        0.1, 0, 100, "lower end of the range of biases to near heads; an arc weighs exp(-bias (distance - 1))"
    )
    length_bias_high: float = limited(0.25, 0, 100, "upper end of the range of biases to near heads")
    annealed: float = share(0.0, "share of the members that begin with a stronger bias to near heads")
    annealed_bias: float = limited(
        1.0,
        0,
        100,
        "first bias of these members; it falls to the usual one by the last stage",
        when=unequal("model.annealed", 0.0),
    )
    fragment_penalty: float = limited(
        0.1, 1e-9, 1, "weight of each violation of model.fragment_constraint; 1e-6 forbids violations"
    )
    frequency_scale: float = limited(1e-3, 1e-9, 1, "relative frequency above which a word is a less likely head")
    frequency_power_low: float = limited(
        0.5, 0, 100, "lower end of the range of powers of the frequency that makes a word a less likely head"
    )
    frequency_power_high: float = limited(1.0, 0, 100, "upper end of the range of powers of the frequency")
    leaning: float = limited(
        0.0, -10, 10, "weight of the side of its head for a frequent word, estimated from the edges of segments"
    )
    head_leaning: float = limited(
        0.0, -10, 10, "weight of the side of its dependents for a frequent word, estimated in the same way"
    )
    leaning_limit: float = limited(
        2.0, 0, 10, "largest log of the ratio of edges that estimates both sides", when=USES_EDGES
    )
    predicate_root: float = limited(1.0, 0, 10, "factor of the predicate score in the log weight of a word as root")
    predicate_head: float = limited(0.3, 0, 10, "factor of the predicate score in the log weight of a word as head")
    modifier_head: float = limited(
        1.5, 0, 10, "largest log of the factor by which a content word before another one is less likely as a head"
    )
    smooth_choose: float = limited(0.5, 1e-6, 1e6, "count added to every choice of a dependent")
    smooth_stop: float = limited(1.0, 1e-6, 1e6, "count added to every decision to stop")
    smooth_root: float = limited(0.1, 1e-6, 1e6, "count added to every root")
    em: str = choice("soft", EM, "counts from all trees (soft), from the best tree (viterbi), or alternately (lateen)")
    fragment_constraint: str = choice(
        "sprawl",
        CONSTRAINTS,
        "arcs between fragments that are penalized (Spitkovsky et al. 2011)",
        when=unequal("model.fragment_penalty", 1.0),
    )
    backoff: float = weight(
        10.0,
        "count of the choice that does not depend on valence, with which the extended one is smoothed",
        when=equal("model.extended", True),
    )

    def check(self) -> None:
        """Raise ValueError if the settings are inconsistent."""
        for name in MEMBER_STEPS:
            if getattr(self, f"{name}_low") > getattr(self, f"{name}_high"):
                raise ValueError(f"model.{name}_low must not be above model.{name}_high")
        if (self.classes_low == 0) != (self.classes_high == 0):
            raise ValueError("model.classes_low and model.classes_high must both be 0, or neither")
        if self.extended and self.backoff == 0:
            raise ValueError("model.extended=true needs model.backoff above 0")

    @property
    def stages(self) -> list[tuple[int, int]]:
        """Longest sentence and passes of each stage."""
        return [
            (self.short_length, self.short_passes),
            (self.middle_length, self.middle_passes),
            (self.long_length, self.long_passes),
        ]

    @property
    def passes(self) -> int:
        """Passes of one member."""
        return sum(passes for _, passes in self.stages)


class DmvMembers(FittedModel):
    """Classes, word weights and grammars of all members of DMV, in buffers. K is the largest number of classes."""

    Config: ClassVar[type] = DmvConfig

    def __init__(self, config: DmvConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config, self.vocabulary_size = config, vocabulary_size
        self.words_are_classes = config.classes_high == 0
        if self.words_are_classes:
            check_words_as_classes("model.classes_high", vocabulary_size)
        members, size = config.members, self.class_count
        double = torch.float64
        self.register_buffer("passes", torch.zeros(members, dtype=torch.int64))
        self.register_buffer("hard", torch.full((members,), config.em == "viterbi"))
        self.register_buffer("objective", torch.full((members,), NOT_COMPARED, dtype=double))
        self.register_buffer("share", torch.zeros(vocabulary_size, dtype=double))
        self.register_buffer("classes", torch.zeros(members, vocabulary_size, dtype=torch.int64))
        self.register_buffer("leaning", torch.zeros(members, vocabulary_size, dtype=double))
        self.register_buffer("content", torch.ones(members, vocabulary_size, dtype=double))
        self.register_buffer("last_heads", torch.zeros(members, dtype=double))
        self.register_buffer("head_weight", torch.ones(members, vocabulary_size, dtype=double))
        self.register_buffer("root_weight", torch.ones(members, vocabulary_size, dtype=double))
        self.register_buffer("word_given_class", torch.zeros(members, vocabulary_size, dtype=double))
        self.register_buffer("root", torch.full((members, size), 1 / size, dtype=double))
        self.register_buffer("stop", torch.full((members, size, 2, 2), 0.5, dtype=double))
        self.register_buffer("choose", torch.full((members, size, 2, 2, size), 1 / size, dtype=double))

    passes: Tensor  # (M,): how many passes each member has had
    hard: Tensor  # (M,): whether the next pass counts in the best tree
    objective: Tensor  # (M,): log-likelihood of the last pass, or `NOT_COMPARED` after a change of sentences or counts
    share: Tensor  # (V,): of the text
    classes: Tensor  # (M, V)
    leaning: Tensor  # (M, V): see `SentenceBlock`
    content: Tensor  # (M, V): how much of a content word each word is, from 0 to 1
    last_heads: Tensor  # (M,): evidence that heads are the last words of phrases, from 0 to 1
    head_weight: Tensor  # (M, V)
    root_weight: Tensor  # (M, V)
    word_given_class: Tensor  # (M, V): P(word | its class)
    root: Tensor  # (M, K): as in `ValenceGrammar`
    stop: Tensor  # (M, K, 2, 2)
    choose: Tensor  # (M, K, 2, 2, K)

    @property
    def class_count(self) -> int:
        """Number of classes K."""
        return self.vocabulary_size if self.words_are_classes else self.config.classes_high

    def between(self, name: str, member: int) -> float:
        """Value of setting ``name`` for one member, spread evenly over the range of the setting."""
        low, high = getattr(self.config, f"{name}_low"), getattr(self.config, f"{name}_high")
        golden, sevenths = MEMBER_STEPS[name]
        share = (0.5 + member * GOLDEN_RATIO * golden + member * sevenths / 7) % 1 if self.config.members > 1 else 0.5
        return float(low + share * (high - low))

    def preferences(self, member: int) -> Preferences:
        """Fixed preferences of a member."""
        config = self.config
        return Preferences(
            self.between("length_bias", member),
            config.fragment_penalty,
            config.fragment_constraint,
            config.leaning,
            config.head_leaning,
        )

    def grammar(self, member: int) -> ValenceGrammar:
        """The probabilities of a member."""
        return ValenceGrammar(*(table[member].cpu().numpy() for table in (self.root, self.stop, self.choose)))

    def block(self, member: int, ids: np.ndarray, fragments: np.ndarray, lengths: np.ndarray) -> SentenceBlock:
        """Sentences (N, B) of ``lengths`` (B,), with the classes and word weights of a member."""
        tables = [table[member].cpu().numpy() for table in (self.classes, self.head_weight, self.root_weight)]
        classes, head, root = (table[ids] for table in tables)
        inside = np.arange(len(ids))[:, None] < lengths
        fragments = np.where(inside, fragments, -1)
        leaning, content = (table[member].cpu().numpy()[ids] for table in (self.leaning, self.content))
        if strength := float(self.last_heads[member]):
            sides = leaning / max(self.config.leaning_limit, 1e-9) if self.config.leaning else np.zeros_like(leaning)
            degree = modifier_degree(content, sides, classes, fragments, strength=strength)
            head = head * np.exp(-self.config.modifier_head * strength * degree)
        return SentenceBlock(classes, fragments, head, root, lengths, leaning=leaning)


MIN_GAIN = 1e-3  # smallest relative gain of the log-likelihood by a pass of lateen EM that counts as progress


class DmvLearner:
    """EM of one member. Its own state can be computed again at any pass from the buffers of the model."""

    def __init__(self, model: DmvMembers, text: FlatText, member: int, context: Context) -> None:
        self.model, self.text, self.member, self.context = model, text, member, context
        config = model.config
        self.smoothing = Smoothing(
            config.smooth_root, config.smooth_choose, config.smooth_stop, config.backoff, config.extended
        )
        self.stage, self.blocks = -1, list[SentenceBlock]()

    @property
    def seed(self) -> int:
        """Seed of the member, which also depends on the seed of the training run."""
        return self.context.seed * 1000 + self.member

    def step(self, done: int) -> tuple[float, int]:
        """Run one pass after ``done`` passes and return the mean NLL of the classes and the number of words.

        In lateen EM (Spitkovsky et al. 2011), it changes between all trees and the best tree if the log-likelihood
        hardly increased.
        """
        if done == 0:
            self._prepare()
            self.context.group.equalize(self.model)
        self._choose_sentences(done)
        if done == 0:
            self._learn(None)
        total = self._learn(self.model.grammar(self.member))
        if self.model.config.em == "lateen":  # the log-likelihoods of two passes of one kind are compared
            stalled = total - float(self.model.objective[self.member]) < MIN_GAIN * abs(total)
            if stalled:
                self.model.hard[self.member] = not self.model.hard[self.member]
            self.model.objective[self.member] = NOT_COMPARED if stalled else total
        self.model.passes[self.member] = done + 1
        count = int(sum(block.lengths.sum() for block in self.blocks))
        return -total / max(1, count), count

    def _learn(self, grammar: ValenceGrammar | None) -> float:
        """Fit the grammar to expected uses under ``grammar`` and return the log-likelihood under ``grammar``.

        With None, the expected uses are those of harmonic heads. A hard pass counts uses in the best trees.
        """
        best = bool(self.model.hard[self.member])
        counts, total, group = ValenceGrammar.zeros(self.model.class_count), np.zeros(1), self.context.group
        for block in group.share(self.blocks):
            trees = self.sums.harmonic_heads(block) if grammar is None else self.sums.trees(grammar, block, best=best)
            self.sums.add(counts, block, trees)
            total += trees.log_total.sum()
        group.add_up(counts.root, counts.stop, counts.choose, total)
        estimate = ValenceGrammar.from_counts(counts, self.smoothing)
        for name in ("root", "stop", "choose"):
            getattr(self.model, name)[self.member] = torch.from_numpy(getattr(estimate, name))
        return float(total[0])

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
        inner = np.diff(text.segments, prepend=-1, append=-1) == 0  # before each word, and after the last one
        before = np.where(inner[:-1], np.append(0.0, np.maximum(-leaning, 0)[text.ids[:-1]]), 0.0)
        after = np.where(inner[1:], np.append((1 - weights)[text.ids[1:]], 0.0), 0.0)
        sentences = np.repeat(np.arange(len(text.lengths)), text.lengths)
        scores = predicate_scores(classes[text.ids], text.segments, sentences, before, after, count=size)
        predicate = weights * scores[classes]
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
        # in left-branching languages, most heads are last anyway
        right = max(0.0, 2 * self.context.right_probability - 1)
        evidence = evidence_for_last_heads(classes[text.ids], weights[text.ids], text.segments, count=size)
        model.last_heads[self.member] = right * min(max(evidence, 0.0), 1.0)
        model.share.copy_(torch.from_numpy(text.counts / max(1, len(text.ids))))

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
        config, preferences = self.model.config, self.model.preferences(self.member)
        if (self.member * config.annealed) % 1 + config.annealed >= 1:  # its bias to near heads falls with the stages
            share = stage / (len(stages) - 1)
            bias = (1 - share) * config.annealed_bias + share * preferences.length_bias
            preferences = replace(preferences, length_bias=bias)
        self.sums = GrammarSums(preferences)
        fit = np.flatnonzero(self.text.lengths <= stages[stage][0])
        if not len(fit):
            lengths = self.text.lengths
            fit = np.flatnonzero(lengths == lengths.min(initial=lengths.max(initial=0)))
        most = config.sentences
        if len(fit) > most:
            fit = np.sort(np.random.default_rng([self.seed, stage]).choice(fit, most, replace=False))
        self.blocks = []
        lengths = self.text.lengths[fit]
        whole = self.text.fragments[self.text.offsets[fit] + lengths - 1] == 0
        for rows, length in blocks_of_similar_length(lengths, whole):
            positions = self.text.word_positions(fit[rows], length)
            ids, fragments = self.text.ids[positions], self.text.fragments[positions]
            self.blocks.append(self.model.block(self.member, ids, fragments, self.text.lengths[fit[rows]]))


PARSING_TABLE = 2_000_000  # the same for the sentences of one parsing batch
LONGEST = 500  # words of a sentence whose tables fit into half a gigabyte


class Dmv(SentenceScoring, DmvMembers):
    """Dependency model with valence, whose members vote."""

    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (HeadDistribution,)
    estimates_root = True
    max_length: ClassVar[int | None] = LONGEST

    def fit(self, corpus: EncodedCorpus, start: int, context: Context) -> Iterator[FitStep]:
        """Fit one member after the other, one pass of EM per step.

        The first step of a member also induces its classes and computes its harmonic start.
        """
        text = FlatText(corpus)
        total = self.config.members * self.config.passes
        for member in range(start // self.config.passes, self.config.members):
            learner = DmvLearner(self, text, member, context)
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
        for rows, length in blocks_of_similar_length(lengths, whole, table=TABLE // len(members)):
            size = max(1, TABLE // (length**2 * len(rows)))  # members whose tables fit
            sentences = tokens[rows, :length].T, fragments[rows, :length].T, lengths[rows]
            for start in range(0, len(members), size):
                votes = self._votes(sums, members[start : start + size], *sentences)
                heads[rows, :length, :length] += votes / len(members)
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
            for rows, length in blocks_of_similar_length(lengths, np.ones(len(lengths), dtype=bool)):
                ids = tokens[rows, :length].T
                block = SentenceBlock.of_classes(self.classes[member].cpu().numpy()[ids], lengths[rows])
                emitted = np.where(np.arange(length)[:, None] < lengths[rows], words[ids], 0.0).sum(0)
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
