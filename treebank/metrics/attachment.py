"""UAS and UUAS: how many words get the right head, and how many arcs are right whichever way they point.

Predicted heads need not form a tree: there may be several roots, none, or cycles. A word that heads itself is a root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from treebank.dependency import Heads, delete
from treebank.errors import SynparseError, nearest
from treebank.head_rules import heads_from_tree
from treebank.metrics.alignment import agreeing, plain
from treebank.metrics.arcs import gold_arcs, recall_by_distance, recall_by_relation
from treebank.metrics.bracketing import by_length
from treebank.metrics.report import Counts, ScoreReport
from treebank.metrics.significance import bootstrap_interval
from treebank.sentence import ROOT, Sentence, Treebank
from treebank.tagset import AUXILIARIES, PUNCTUATION_TAGS, UNIVERSAL_PUNCTUATION, WORD_TAGS, has_penn_tags, is_word

if TYPE_CHECKING:
    import numpy as np

DEFAULT_RULES = "collins"  # where there are trees but no heads

# name in the signature -> which tokens count
HEAD_TOKENS: dict[str, Callable[[Sentence], list[bool]]] = {
    "words+aux": lambda sentence: [tag in WORD_TAGS or tag in AUXILIARIES for tag in sentence.tags],
    "no-punct": lambda sentence: [tag not in PUNCTUATION_TAGS for tag in sentence.tags],
    "upos": lambda sentence: [tag != UNIVERSAL_PUNCTUATION for tag in sentence.universal_tags],
    "letters": lambda sentence: [is_word(word) for word in sentence.words],
    "all": lambda sentence: [True] * len(sentence.words),
}
PENN_TOKENS = frozenset({"words+aux", "no-punct"})  # those that need the tags of the Penn Treebank


@dataclass(frozen=True, slots=True)
class AttachmentConvention:
    """Everything that changes a UAS or UUAS; both are summed over all sentences, root words included.

    ``tokens``: a name in ``HEAD_TOKENS``. ``others``: tokens that do not count are deleted, and words that depend on
    one go to its nearest ancestor that is left, or else are roots; or they are kept, and only their own heads are not
    scored. ``pairs``: for UUAS the arcs of a sentence are a set, so that two words that choose each other make one arc
    (a root makes one with itself); or each word's arc counts. Sentences have ``min_words`` to ``max_words`` tokens
    that count. ``heads``: the rules that made the gold heads from trees, "" if they were annotated.
    """

    name: str
    tokens: str
    others: Literal["deleted", "kept"]
    pairs: Literal["set", "each"]
    min_words: int = 1
    max_words: int | None = None
    heads: str = ""
    average: ClassVar[str] = "corpus"

    def __str__(self) -> str:
        """The part of a signature that says how was counted: ``conv:udgn|avg:corpus|tokens:words+aux|…``."""
        longest = "" if self.max_words is None else self.max_words
        heads = f"|heads:{self.heads}" if self.heads else ""
        return (
            f"conv:{self.name}|avg:{self.average}|tokens:{self.tokens}|others:{self.others}|pairs:{self.pairs}"
            f"|len:{self.min_words}-{longest}{heads}"
        )

    def includes(self, length: int) -> bool:
        """Whether a sentence with ``length`` tokens that count is scored."""
        return length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> AttachmentConvention:
        """The same convention for sentences of at most ``max_words`` words."""
        if max_words is None or (self.max_words is not None and self.max_words <= max_words):
            return self
        return replace(self, max_words=max_words)

    def fitted(self, gold: Treebank) -> AttachmentConvention:
        """The same convention with a rule for tokens that the tags of ``gold`` can answer.

        Where they are not those of the Penn Treebank: all but ``PUNCT`` by universal tags (``upos``); without these,
        every token with a letter or a digit (``letters``).
        """
        if self.tokens not in PENN_TOKENS or has_penn_tags(gold):
            return self
        universal = all(len(sentence.universal_tags) == len(sentence.words) for sentence in gold.sentences)
        return replace(self, tokens="upos" if universal else "letters")


ATTACHMENT_CONVENTIONS = {
    convention.name: convention
    for convention in (
        AttachmentConvention("udgn", "words+aux", "deleted", "set"),  # the script of Shen et al. 2022
        AttachmentConvention("no-punct", "no-punct", "kept", "each"),
        AttachmentConvention("all-tokens", "all", "kept", "each"),
    )
}


def find_attachment_convention(name: str) -> AttachmentConvention:
    """The convention of that name. Raises SynparseError, naming the nearest, if there is none."""
    if name not in ATTACHMENT_CONVENTIONS:
        raise SynparseError(f"no convention {name!r} for heads; {nearest(name, ATTACHMENT_CONVENTIONS)}")
    return ATTACHMENT_CONVENTIONS[name]


class PredictedHeads(Protocol):
    """One predicted sentence and where it was read."""

    @property
    def path(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def heads(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class GivenHeads:
    """Heads that did not come from a file."""

    path: str
    line: int
    words: tuple[str, ...]
    heads: Heads


@dataclass(frozen=True, slots=True)
class HeadView:
    """A gold sentence as a convention sees it: the words that are left, their heads, and which of them count."""

    sentence: Sentence
    mask: Sequence[bool]  # which words of the sentence count
    heads: Heads  # of the words that are left
    counted: Sequence[int]  # places among the words that are left

    @classmethod
    def of(cls, sentence: Sentence, heads: Sequence[int], convention: AttachmentConvention) -> HeadView:
        """The view of a sentence with gold ``heads`` over all its words. Raises SynparseError if tags are missing."""
        mask = HEAD_TOKENS[convention.tokens](sentence)
        if len(mask) != len(sentence.words):
            raise SynparseError(f"{sentence.place}: this sentence has no tags to tell which words count")
        if convention.others == "deleted":
            left = delete(heads, mask)
            return cls(sentence, mask, left, range(len(left)))
        rooted = tuple(ROOT if head == i else head for i, head in enumerate(heads))
        return cls(sentence, mask, rooted, [i for i, counts in enumerate(mask) if counts])

    def __len__(self) -> int:
        return len(self.counted)

    def reduce(self, predicted: PredictedHeads) -> Heads:
        """The predicted heads of the words that are left.

        ``predicted`` may hold all words of the gold sentence, or only those that count.
        Raises SynparseError if its words are others.
        """
        heads, gold = predicted.heads, self.sentence.words
        if len(heads) != len(predicted.words) or not all(ROOT <= head < len(heads) for head in heads):
            raise SynparseError(f"{predicted.path}:{predicted.line}: a head that is no word of the sentence")
        places = [i for i, counts in enumerate(self.mask) if counts]
        if _same(predicted.words, gold):
            return tuple(heads) if len(self.heads) == len(gold) else delete(heads, self.mask)
        if not _same(predicted.words, [gold[i] for i in places]):
            raise SynparseError(self._mismatch(predicted, [gold[i] for i in places]))
        if len(self.heads) == len(heads):
            return tuple(heads)
        spread = [ROOT] * len(gold)
        for place, head in zip(places, heads, strict=True):
            spread[place] = ROOT if head == ROOT else places[head]
        return tuple(spread)

    def _mismatch(self, predicted: PredictedHeads, counted: Sequence[str]) -> str:
        """Both places, and the first word that differs."""
        here, found = self.sentence.place, plain(predicted.words)
        gold = max(plain(self.sentence.words), plain(counted), key=lambda words: agreeing(found, words))
        i = agreeing(found, gold)
        ours, theirs = (repr(words[i]) if i < len(words) else f"the end after {i} words" for words in (found, gold))
        place = f"{predicted.path}:{predicted.line}"
        return f"{place}: the words differ from {here}: word {i + 1} is {ours}, in gold {theirs}"


class HeadSystem(Protocol):
    """Something that gives heads to gold sentences."""

    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> int | None: ...

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words; those of views that are not wanted may be empty."""


def _same(words: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether they are the same words, ``-LRB-`` for ``(`` and the like allowed."""
    return len(words) == len(gold) and (tuple(words) == tuple(gold) or plain(words) == plain(gold))


def previous(length: int) -> Heads:
    """Each word depends on the one before it; the first is the root."""
    return tuple(range(-1, length - 1))


def following(length: int) -> Heads:
    """Each word depends on the one after it; the last is the root."""
    return (*range(1, length), ROOT) if length else ()


HEAD_BASELINES: dict[str, Callable[[int], Heads]] = {"previous": previous, "next": following}


@dataclass(frozen=True, slots=True)
class HeadBaseline:
    """Heads that follow from the number of words that are left."""

    name: str
    seed: None = None

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words. Raises SynparseError if there is no such baseline."""
        if self.name not in HEAD_BASELINES:
            raise SynparseError(f"no baseline {self.name!r} for heads; {nearest(self.name, HEAD_BASELINES)}")
        return [HEAD_BASELINES[self.name](len(view.heads)) for view in views]


@dataclass(frozen=True, slots=True)
class HeadPredictions:
    """Heads of a parser, one sentence for each gold sentence, or for each one that is scored."""

    name: str
    sentences: Sequence[PredictedHeads]
    seed: int | None = None

    @classmethod
    def of_model(cls, name: str, sentences: Iterable[tuple[Sequence[str], Sequence[int]]]) -> HeadPredictions:
        """The words and heads that a model gave, in order."""
        numbered = enumerate(sentences, start=1)
        return cls(name, [GivenHeads(name, i, tuple(words), tuple(heads)) for i, (words, heads) in numbered])

    @classmethod
    def of_file(cls, path: str) -> HeadPredictions:
        """The heads of a CoNLL-U file. Raises TreebankError with file and line if they cannot be read."""
        from treebank.formats.predictions import read_prediction_heads

        return cls(path, list(read_prediction_heads(path)))

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words. Raises SynparseError if the predictions are of other sentences."""
        chosen: Sequence[int] = range(len(views))
        if len(self.sentences) != len(views):
            chosen = [i for i, is_wanted in enumerate(wanted) if is_wanted]
        if len(self.sentences) != len(chosen):
            raise SynparseError(self._miscount(views, wanted))
        heads: list[Heads] = [()] * len(views)
        for i, predicted in zip(chosen, self.sentences, strict=True):
            heads[i] = views[i].reduce(predicted)
        return heads

    def _miscount(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> str:
        """What is wrong with the number of sentences: where the words part, else how many there are."""
        gold = views[0].sentence.place.path if views else "gold"
        found = f"{len(self.sentences):,} sentence{'s' * (len(self.sentences) != 1)}"
        counts = f"{found} with heads for the {len(views):,} of {gold}"
        if not all(wanted):
            return f"{self.name}: {counts}, of which {sum(wanted):,} are scored; give one for each or each scored"
        for view, predicted in zip(views, self.sentences, strict=False):
            try:
                view.reduce(predicted)
            except SynparseError as error:
                return f"{error} ({counts})"
        if len(self.sentences) < len(views):
            return f"{self.name}: {counts}; the one for {views[len(self.sentences)].sentence.place} is missing"
        extra = self.sentences[len(views)]
        return f"{extra.path}:{extra.line}: a sentence too many ({counts})"


def count_directed(predicted: Sequence[int], view: HeadView) -> int:
    """How many of the words that count have the right head; roots of both are right."""
    gold = view.heads
    return sum(predicted[i] == gold[i] or (predicted[i] == i and gold[i] == ROOT) for i in view.counted)


def count_undirected(predicted: Sequence[int], view: HeadView, pairs: Literal["set", "each"]) -> int:
    """How many predicted arcs are gold ones in either direction: different arcs, or one for each word that counts."""
    if pairs == "set":
        return len(_pairs(predicted) & _pairs(view.heads))
    arcs = _pairs(view.heads)
    return sum(_pair(i, predicted[i]) in arcs for i in view.counted)


def _pair(i: int, head: int) -> tuple[int, int]:
    """The arc of word i without its direction; a root's is (i, i)."""
    return (i, i) if head == ROOT else (min(i, head), max(i, head))


def _pairs(heads: Sequence[int]) -> set[tuple[int, int]]:
    return {_pair(i, head) for i, head in enumerate(heads)}


def evaluate_heads(
    gold: Treebank,
    systems: Sequence[HeadSystem],
    conventions: Iterable[AttachmentConvention],
    *,
    max_length: int | None = None,
    rules: str | None = None,
    details: bool = False,
) -> list[ScoreReport]:
    """UAS and UUAS for each convention and system, in the order given, conventions first.

    Gold heads come from the trees of ``gold`` by the head ``rules`` if these are named, or if it has no heads. Of each
    sentence at most ``max_length`` tokens may count. ``details`` adds scores by length, relation and distance.
    Raises SynparseError if no sentence is left.
    """
    data = f"{gold.name} ({gold.note})" if gold.note else gold.name
    gold_heads, made_by = _gold_heads(gold, rules)
    reports = []
    for convention in conventions:
        convention = replace(convention.fitted(gold).up_to(max_length), heads=made_by)
        views = [HeadView.of(*pair, convention) for pair in zip(gold.sentences, gold_heads, strict=True)]
        wanted = [len(view) > 0 and convention.includes(len(view)) for view in views]
        if not any(wanted):
            raise SynparseError(f"{data}: no sentence is left to score ({convention})")
        for system in systems:
            reports += score_heads(system, views, wanted, convention, data=data, details=details)
    return reports


def score_heads(
    system: HeadSystem,
    views: Sequence[HeadView],
    wanted: Sequence[bool],
    convention: AttachmentConvention,
    *,
    data: str,
    details: bool = False,
) -> list[ScoreReport]:
    """UAS and UUAS of one system over the views that are wanted, with intervals.

    ``details`` adds scores by sentence length and the recall of gold arcs by relation and distance.
    """
    given = system.heads(views, wanted)
    places = [i for i, is_wanted in enumerate(wanted) if is_wanted]
    matched = {
        "UAS": [count_directed(given[i], views[i]) for i in places],
        "UUAS": [count_undirected(given[i], views[i], convention.pairs) for i in places],
    }
    arcs = [arc for i in places for arc in gold_arcs(given[i], views[i])] if details else []
    reports = []
    for metric, numbers in matched.items():
        counts = [Counts(right, len(views[i]), len(views[i])) for i, right in zip(places, numbers, strict=True)]
        value = 100 * sum(numbers) / sum(len(views[i]) for i in places)
        low, high = bootstrap_interval(counts, _share)
        report = ScoreReport(
            system=system.name,
            metric=metric,
            convention=convention,
            data=data,
            value=value,
            precision=value,
            recall=value,
            interval=(100 * low, 100 * high),
            counts=counts,
            places=places,
            seed=system.seed,
        )
        if details:
            report = replace(
                report,
                by_length=by_length(counts, [len(views[i]) for i in places], convention),
                by_relation=recall_by_relation(arcs, metric),
                by_distance=recall_by_distance(arcs, metric),
            )
        reports.append(report)
    return reports


def _share(sums: np.ndarray) -> np.ndarray:
    """What was matched of what counts, for each row of summed counts."""
    return sums[:, 0] / sums[:, 1]


def _gold_heads(gold: Treebank, rules: str | None) -> tuple[list[Heads], str]:
    """The gold heads of each sentence, and the name of the head rules that gave them, "" if they were annotated."""
    lacking = [sentence for sentence in gold.sentences if len(sentence.heads) != len(sentence.words)]
    if rules is None and not lacking:
        return [sentence.heads for sentence in gold.sentences], ""
    bare = [sentence for sentence in lacking if sentence.tree is None]
    if bare:
        raise SynparseError(f"{bare[0].place}: this sentence has neither heads nor a tree to get them from")
    heads = []
    for sentence in gold.sentences:
        if sentence.tree is None:
            lack = "no tree to find heads in by rules" if rules else "heads and no tree, and others the other way round"
            raise SynparseError(f"{sentence.place}: this sentence has {lack}")
        heads.append(heads_from_tree(sentence.tree, rules or DEFAULT_RULES))
    return heads, rules or DEFAULT_RULES
