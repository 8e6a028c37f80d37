"""State of DMV: the settings, and the classes, word weights and grammars of all members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.word_classes import check_words_as_classes
from induce.models.base import FittedModel
from induce.models.em.dependency_tables import CONSTRAINTS
from induce.models.em.phrase_heads import modifier_degree
from induce.models.em.valence_grammar import Preferences, SentenceBlock, ValenceGrammar
from induce.setting import choice, count, limited, setting, share, weight

EM = ("soft", "viterbi", "lateen")
NOT_COMPARED = -1e300  # log-likelihood of a pass that is not compared with the next one; finite, for checkpoints
GOLDEN_RATIO = 0.6180339887498949
#: settings that differ from member to member -> multiples of the golden ratio and of 1/7 between two members, so that
#: the values of a setting are spread evenly and those of two settings are independent
MEMBER_STEPS = {"classes": (1, 0), "length_bias": (2, 1), "frequency_power": (3, 2)}
#: condition: edges of segments have an effect
USES_EDGES = " or ".join(
    f"model.{name}!=0.0" for name in ("leaning", "head_leaning", "predicate_root", "predicate_head")
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
        when="model.annealed!=0.0",
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
        when="model.fragment_penalty!=1.0",
    )
    backoff: float = weight(
        10.0,
        "count of the choice that does not depend on valence, with which the extended one is smoothed",
        when="model.extended=true",
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
