"""Dependency model with valence (Klein and Manning 2004) over induced word classes.

The model is fitted by expectation-maximization, without gradients. It first induces the word classes, then estimates
how likely each class is to be a predicate, then fits the grammar from a harmonic start, with short sentences first. One
model contains several *members*: grammars with different classes and preferences. It parses with the mean of their arc
marginals. See docs/reference/models/dmv.md.
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
from induce.models.base import FitStep, FittedModel, Query
from induce.models.em.dependency_tables import by_head
from induce.models.em.predicates import frequency_weights, predicate_ratios
from induce.models.em.valence_grammar import (
    TABLE,
    GrammarSums,
    Preferences,
    SentenceBlock,
    Smoothing,
    ValenceGrammar,
    blocks_of_similar_length,
)
from induce.setting import setting
from induce.structures import HeadDistribution, Structure

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

PARSING_TABLE = 2_000_000  # the same for the sentences of one parsing batch
LONGEST = 2000  # words of a sentence whose tables fit into a few gigabytes
PREDICATE_LENGTHS = (3, 12)  # words of the shortest and longest sentence for predicate ratios
GOLDEN_RATIO = 0.6180339887498949
#: settings that differ from member to member -> multiples of the golden ratio and of 1/7 between two members, so that
#: the values of a setting are spread evenly and those of two settings are independent
MEMBER_STEPS = {"classes": (1, 0), "length_bias": (2, 1), "frequency_power": (3, 2)}


@dataclass(frozen=True, kw_only=True)
class DmvConfig:
    """Settings of DMV.

    Values between ``…_low`` and ``…_high`` differ between members; a single member uses the mean of both.
    """

    members: int = setting(12, at_least=1, at_most=1000, help="grammars that vote")
    classes_low: int = setting(
        25, at_least=0, at_most=10_000, help="word classes; 0 (with classes_high=0): each word is one"
    )
    classes_high: int = setting(
        45, at_least=0, at_most=10_000, help="upper end of the range of numbers of word classes"
    )
    endings: float = setting(1.0, at_least=0, at_most=1e6, help="weight of the last letters of words in their classes")
    extended: bool = setting(True, help="which child comes next depends on whether there is one (Headden et al. 2009)")
    short_length: int = setting(10, at_least=1, at_most=1e6, help="longest sentences at first")
    short_passes: int = setting(20, at_least=1, at_most=1e6, help="passes over sentences up to short_length")
    middle_length: int = setting(15, at_least=1, at_most=1e6, help="then")
    middle_passes: int = setting(5, at_least=0, at_most=1e6, help="passes over sentences up to middle_length")
    long_length: int = setting(30, at_least=1, at_most=1e6, help="and in the end")
    long_passes: int = setting(5, at_least=0, at_most=1e6, help="passes over sentences up to long_length")
    sentences: int = setting(
        2000, at_least=1, at_most=1e9, help="most sentences of a pass, sampled again for each stage"
    )
    length_bias_low: float = setting(0.1, at_least=0, at_most=100, help="an arc weighs exp(-bias (distance - 1))")
    length_bias_high: float = setting(0.25, at_least=0, at_most=100, help="upper end of the range of length_bias")
    annealed: float = setting(0.0, at_least=0, at_most=1, help="share of the members that begin with a stronger bias")
    annealed_bias: float = setting(
        1.0, at_least=0, at_most=100, help="theirs at first; it falls to their own by the last stage"
    )
    fragment_penalty: float = setting(
        0.1,
        at_least=1e-3,
        at_most=1,
        help="weight of each end of an arc between fragments that leaves part of its own out",
    )
    frequency_scale: float = setting(
        1e-3, at_least=1e-9, at_most=1, help="share of the text above which words head less"
    )
    frequency_power_low: float = setting(
        0.5, at_least=0, at_most=100, help="lower end of the range of powers by which frequent words head less"
    )
    frequency_power_high: float = setting(1.0, at_least=0, at_most=100, help="upper end of the range of these powers")
    predicate_root: float = setting(
        1.0, at_least=0, at_most=100, help="power of the predicate ratio in a word's root weight"
    )
    predicate_head: float = setting(0.1, at_least=0, at_most=100, help="and in its weight as head")
    predicate_limit: float = setting(20.0, at_least=1, at_most=1e9, help="ratios are kept between 1 / limit and limit")
    smooth_choose: float = setting(0.5, at_least=1e-6, at_most=1e6, help="added to expected children of a class")
    smooth_stop: float = setting(1.0, at_least=1e-6, at_most=1e6, help="count added to every decision to stop")
    smooth_root: float = setting(0.1, at_least=1e-6, at_most=1e6, help="count added to every root")
    backoff: float = setting(
        10.0, at_least=0, at_most=1e6, help="uses that choices without regard to valence count for"
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


class Dmv(FittedModel):
    """Dependency model with valence: classes, word weights and grammars of all members, in buffers.

    K is the largest number of classes.
    """

    Config: ClassVar[type] = DmvConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (HeadDistribution,)
    estimates_root = True
    max_length: ClassVar[int | None] = LONGEST

    def __init__(self, config: DmvConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config, self.vocabulary_size = config, vocabulary_size
        self.words_are_classes = config.classes_high == 0
        if self.words_are_classes:
            check_words_as_classes("model.classes_high", vocabulary_size)
        members, size = config.members, self.class_count
        double = torch.float64
        self.register_buffer("passes", torch.zeros(members, dtype=torch.int64))
        self.register_buffer("share", torch.zeros(vocabulary_size, dtype=double))
        self.register_buffer("classes", torch.zeros(members, vocabulary_size, dtype=torch.int64))
        self.register_buffer("ratio", torch.ones(members, size, dtype=double))
        self.register_buffer("head_weight", torch.ones(members, vocabulary_size, dtype=double))
        self.register_buffer("root_weight", torch.ones(members, vocabulary_size, dtype=double))
        self.register_buffer("word_given_class", torch.zeros(members, vocabulary_size, dtype=double))
        self.register_buffer("root", torch.full((members, size), 1 / size, dtype=double))
        self.register_buffer("stop", torch.full((members, size, 2, 2), 0.5, dtype=double))
        self.register_buffer("choose", torch.full((members, size, 2, 2, size), 1 / size, dtype=double))

    passes: Tensor  # (M,): how many passes each member has had
    share: Tensor  # (V,): of the text
    classes: Tensor  # (M, V)
    ratio: Tensor  # (M, K): see `predicate_ratios`
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
        return Preferences(self.between("length_bias", member), self.config.fragment_penalty)

    def grammar(self, member: int) -> ValenceGrammar:
        """The probabilities of a member."""
        return ValenceGrammar(*(table[member].cpu().numpy() for table in (self.root, self.stop, self.choose)))

    def fit(self, corpus: EncodedCorpus, start: int = 0) -> Iterator[FitStep]:
        """Fit one member after the other, one pass of EM per step.

        The first step of a member also induces its classes and computes its harmonic start.
        """
        text = FlatText(corpus)
        total = self.config.members * self.config.passes
        for member in range(start // self.config.passes, self.config.members):
            learner = _Learner(self, text, member)
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
        sums = GrammarSums(Preferences(0.0, self.config.fragment_penalty))
        whole = fragments.max(1, initial=0) == 0
        for rows, count in blocks_of_similar_length(lengths, whole, table=TABLE // len(members)):
            size = max(1, TABLE // (count**2 * len(rows)))  # members whose tables fit
            sentences = tokens[rows, :count].T, fragments[rows, :count].T, lengths[rows]
            for some in (members[start : start + size] for start in range(0, len(members), size)):
                heads[rows, :count, :count] += self._votes(sums, some, *sentences) / len(members)
        return HeadDistribution(torch.from_numpy(heads).to(batch.tokens.device), batch.lengths)

    def _votes(
        self, sums: GrammarSums, members: list[int], ids: np.ndarray, fragments: np.ndarray, lengths: np.ndarray
    ) -> np.ndarray:
        """Head distributions (B, N, N), summed over ``members``, of sentences ``ids`` (N, B) of ``lengths`` (B,)."""
        count, batch = ids.shape
        blocks = [self._block(member, ids, fragments, lengths) for member in members]
        classes = [block.classes + index * self.class_count for index, block in enumerate(blocks)]
        head, root = (np.concatenate([getattr(block, name) for block in blocks], 1) for name in ("head", "root"))
        every = SentenceBlock(
            np.concatenate(classes, 1), blocks[0].fragments, head, root, np.tile(lengths, len(members)), len(members)
        )
        tables = (table[members].cpu().numpy() for table in (self.root, self.stop, self.choose))
        grammar = ValenceGrammar(*(table.reshape(-1, *table.shape[2:]) for table in tables))
        bias = np.repeat([self.between("length_bias", member) for member in members], batch)
        sums.preferences = replace(sums.preferences, length_bias=bias)
        trees = sums.trees(grammar, every)
        arcs = by_head((trees.first + trees.later).reshape(2, count, count, len(members), batch).sum(3))
        arcs[np.arange(count), np.arange(count)] = trees.root.reshape(count, len(members), batch).sum(1)
        return arcs.transpose(2, 1, 0)

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats: the mean over members of P(classes), P(words | classes).

        The preferences for near, rare or predicate heads are not included, because they are not probabilities.
        """
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        members = self.ready()
        logs = np.zeros((len(members), len(lengths)))
        for index, member in enumerate(members):
            sums, words = GrammarSums(Preferences(0.0, 1.0)), np.log(self.word_given_class[member].cpu().numpy())
            for rows, count in blocks_of_similar_length(lengths, np.ones(len(lengths), dtype=bool)):
                ids = tokens[rows, :count].T
                unweighted = np.ones(ids.shape)
                classes = self.classes[member].cpu().numpy()[ids]
                block = SentenceBlock(classes, np.zeros_like(ids), unweighted, unweighted, lengths[rows])
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
        """Quadratic in the length: a batch fills the tables several times."""
        return 4096 * max(length, 4) ** 2 / PARSING_TABLE

    def _block(self, member: int, ids: np.ndarray, fragments: np.ndarray, lengths: np.ndarray) -> SentenceBlock:
        """Sentences (N, B) of ``lengths`` (B,), with the classes and word weights of a member."""
        tables = [table[member].cpu().numpy() for table in (self.classes, self.head_weight, self.root_weight)]
        classes, head, root = (table[ids] for table in tables)
        inside = np.arange(len(ids))[:, None] < lengths
        return SentenceBlock(classes, np.where(inside, fragments, -1), head, root, lengths)


class _Learner:
    """EM of one member. Its own state can be computed again at any pass from the buffers of the model."""

    def __init__(self, model: Dmv, text: FlatText, member: int) -> None:
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
        self.model.passes[self.member] = done + 1
        count = sum(block.classes.size for block in self.blocks)
        return -total / max(1, count), count

    def _learn(self, grammar: ValenceGrammar | None) -> float:
        """Fit the grammar to expected uses under ``grammar`` and return the log-likelihood under ``grammar``.

        With None, the expected uses are those of harmonic heads.
        """
        counts, total, group = ValenceGrammar.zeros(self.model.class_count), np.zeros(1), self.model.group
        for block in group.share(self.blocks):
            trees = self.sums.harmonic_heads(block) if grammar is None else self.sums.trees(grammar, block)
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
        """Compute the classes, predicate ratios and word weights of the member."""
        config, model, text = self.model.config, self.model, self.text
        if model.words_are_classes:
            classes, size = np.arange(model.vocabulary_size), model.vocabulary_size
        else:
            size = max(1, round(model.between("classes", self.member)))
            classes = word_classes(text.neighbours, text.words, classes=size, endings=config.endings, seed=self.seed)
        power = model.between("frequency_power", self.member)
        weights = frequency_weights(text.share, scale=config.frequency_scale, power=power)
        ratio = np.ones(model.class_count)
        ratio[:size] = self._predicates(classes, weights, size)
        limited = np.clip(ratio, 1 / config.predicate_limit, config.predicate_limit)[classes]
        smoothed = text.counts + 0.5
        tables = {
            "classes": classes,
            "ratio": ratio,
            "head_weight": weights * limited**config.predicate_head,
            "root_weight": weights * limited**config.predicate_root,
            "word_given_class": smoothed / np.bincount(classes, smoothed)[classes],
        }
        for name, table in tables.items():
            getattr(model, name)[self.member] = torch.from_numpy(table)
        model.share.copy_(torch.from_numpy(text.counts / max(1, len(text.ids))))

    def _predicates(self, classes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
        lengths, (low, high) = self.text.lengths, PREDICATE_LENGTHS
        short = (lengths >= low) & (lengths <= high)
        ids = self.text.ids[np.repeat(short, lengths)]
        return predicate_ratios(classes[ids], lengths[short], weights[ids], count=size, seed=self.seed)

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
        self.sums = GrammarSums(self._preferences(stage))
        fit = np.flatnonzero(self.text.lengths <= stages[stage][0])
        if not len(fit):
            fit = np.flatnonzero(self.text.lengths == self.text.lengths.min(initial=LONGEST))
        most = self.model.config.sentences
        if len(fit) > most:
            fit = np.sort(np.random.default_rng([self.seed, stage]).choice(fit, most, replace=False))
        self.blocks = []
        lengths = self.text.lengths[fit]
        whole = self.text.fragments[self.text.offsets[fit] + lengths - 1] == 0
        for rows, count in blocks_of_similar_length(lengths, whole):
            positions = self.text.word_positions(fit[rows], count)
            ids, fragments = self.text.ids[positions], self.text.fragments[positions]
            self.blocks.append(self.model._block(self.member, ids, fragments, self.text.lengths[fit[rows]]))
