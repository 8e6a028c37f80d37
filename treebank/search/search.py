"""Search in sentences: patterns for trees and for heads, matches, and random samples of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import itemgetter
from random import Random
from typing import NamedTuple, TypeVar

from treebank.base.arguments import check_count, check_type
from treebank.base.errors import TreebankError, UsageError
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE, Tree, escape
from treebank.core.word_check import plain
from treebank.search.head_language import HeadLanguage, IndexedHeads, is_for_heads
from treebank.search.pattern import parse_pattern
from treebank.search.tree_language import IndexedTree, TreeLanguage

Item = TypeVar("Item")
MAX_CONTEXT = 10_000  # sentences, or columns of a concordance
_NEEDS_TREE = "this sentence has no tree; in a pattern for heads, words are in braces, such as {upos=VERB}"
_NEEDS_HEADS = (
    "this sentence has no heads; parse text with -m english-heads, derive heads of treebanks with synparse convert "
    "--format conllu, or search for trees"
)


class Hit(NamedTuple):
    """A matching node: its words from ``start`` to ``end``, its label, and its number in the indexed sentence.

    Empty elements are not counted as words. The label of a word in a tree is the word, and that of a word with a head
    is its relation.
    """

    start: int
    end: int
    label: str
    node: int


class Context(NamedTuple):
    """The sentences of the same file before and after a match, and the number of the matching sentence, from 0."""

    number: int
    before: Sequence[Sentence]
    after: Sequence[Sentence]


@dataclass(frozen=True, slots=True)
class Match:
    """A sentence and the nodes that match. There are none if the search is for sentences without a match."""

    sentence: Sentence
    hits: tuple[Hit, ...] = ()
    context: Context | None = None

    @property
    def words(self) -> list[str]:
        """The words of the sentence, with ``(`` for ``-LRB-``."""
        return plain(self.sentence.words)

    @property
    def phrases(self) -> list[tuple[str, ...]]:
        """The words of each matching node."""
        words = tuple(self.words)
        return [words[hit.start : hit.end] for hit in self.hits]


class Query:
    """A pattern for trees, or for heads if it has words in braces.

    >>> query = Query("NP < DT")
    >>> tree = Tree.from_text("(S (NP (DT the) (NN cat)) (VP (VBD sat)))")
    >>> query.find(Sentence(tree.words, tree.tags, tree)).phrases
    [('the', 'cat')]
    """

    def __init__(self, pattern: str) -> None:
        """Raises PatternError, which names the position, for a malformed pattern."""
        check_type("pattern", pattern, (str,), "a string")
        self.for_heads = is_for_heads(pattern)
        self.pattern = parse_pattern(pattern, HeadLanguage() if self.for_heads else TreeLanguage())

    def find(self, sentence: Sentence) -> Match:
        """The match in a sentence, without hits if there are none.

        Raises TreebankError for a sentence without the annotation that the pattern is for.
        """
        return Match(sentence, tuple(self._heads(sentence) if self.for_heads else self._trees(sentence)))

    def _trees(self, sentence: Sentence) -> Iterable[Hit]:
        tree = sentence.tree
        if tree is None:
            if not sentence.words:
                return ()
            raise TreebankError(*sentence.location, _NEEDS_TREE)
        for labels in self.pattern.root.needs:
            if labels.isdisjoint(tree.words) and labels.isdisjoint(tree.labels) and labels.isdisjoint(tree.tags):
                return ()
        index = IndexedTree(tree, plain(tree.words))
        nodes = self.pattern.nodes(index)
        starts, ends = index.starts, index.ends
        if TRACE not in tree.tags:
            return [Hit(starts[node], ends[node], index.labels[node], node) for node in nodes]
        before = list(accumulate((tag != TRACE for tag in tree.tags), initial=0))
        return [Hit(before[starts[node]], before[ends[node]], index.labels[node], node) for node in nodes]

    def _heads(self, sentence: Sentence) -> Iterable[Hit]:
        if not sentence.heads and sentence.words:
            raise TreebankError(*sentence.location, _NEEDS_HEADS)
        relations = sentence.relations or ("",) * len(sentence.words)
        return [Hit(node, node + 1, relations[node], node) for node in self.pattern.nodes(IndexedHeads(sentence))]


@dataclass
class Search:
    """The matches of a pattern in sentences, in order: all, the first ``limit``, or a random ``sample`` of this size.

    With ``invert``, the sentences without a match. ``context`` is the number of sentences before and after each match.
    After the iteration, ``count`` is the number of matches, and ``labels`` are the labels of the first tree.
    """

    pattern: str | Query
    sentences: Iterable[Sentence]
    invert: bool = False
    context: int = 0
    limit: int | None = None
    sample: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Raises PatternError for a malformed pattern, and UsageError for numbers that cannot be used."""
        self.query = self.pattern if isinstance(self.pattern, Query) else Query(self.pattern)
        self.count, self.labels = 0, frozenset[str]()
        for name in ("context", "limit", "sample"):
            check_count(name, getattr(self, name))
        if self.context > MAX_CONTEXT:
            raise UsageError(f"a context of {self.context:,} sentences, and {MAX_CONTEXT:,} are allowed")
        if self.limit is not None and self.sample is not None:
            raise UsageError("a limit and a sample exclude each other; the sample has the size that you give")

    def __iter__(self) -> Iterator[Match]:
        matches = find_all(self.query, self._passing(), invert=self.invert, context=self.context)
        if self.sample is not None:
            matches = iter(draw_sample(matches, self.sample, self.seed))
        for match in islice(matches, self.limit):
            self.count += 1
            yield match

    def _passing(self) -> Iterator[Sentence]:
        """The sentences. The labels of the first tree are stored."""
        for sentence in self.sentences:
            if sentence.tree is not None and not self.labels:
                self.labels = frozenset(sentence.tree.labels)
            yield sentence


def has_words(sentence: Sentence) -> bool:
    """Whether a sentence has words. Empty lines of a text have none, and are not counted."""
    return bool(sentence.words or (sentence.tree and sentence.tree.words))


def find_all(query: Query, sentences: Iterable[Sentence], *, invert: bool = False, context: int = 0) -> Iterator[Match]:
    """The sentences with a match, in order. With ``invert``, those with words and without a match.

    With ``context``, each match has up to this number of sentences before and after it, and is found when these have
    been read.
    """
    sentences = filter(has_words, sentences)
    if context:
        yield from _find_with_context(query, sentences, invert, context)
        return
    for sentence in sentences:
        match = query.find(sentence)
        if bool(match.hits) != invert:
            yield match


def _find_with_context(query: Query, sentences: Iterable[Sentence], invert: bool, size: int) -> Iterator[Match]:
    """The sentences with a match, each with up to ``size`` sentences of the same file on both sides."""
    before: deque[Sentence] = deque(maxlen=size)
    waiting: deque[tuple[Match, list[Sentence]]] = deque()  # matches, and the sentences after them up to now
    for number, sentence in enumerate(sentences):
        if before and before[-1].location.path != sentence.location.path:
            yield from (match for match, _ in waiting)
            before.clear()
            waiting.clear()
        for _, after in waiting:
            after.append(sentence)
        if waiting and len(waiting[0][1]) == size:
            yield waiting.popleft()[0]
        match = query.find(sentence)
        if bool(match.hits) != invert:
            following: list[Sentence] = []
            waiting.append((Match(sentence, match.hits, Context(number, tuple(before), following)), following))
        before.append(sentence)
    yield from (match for match, _ in waiting)


def draw_sample(items: Iterable[Item], size: int, seed: int) -> list[Item]:
    """A random sample of ``size`` items in their order. Only the sample is held in memory.

    Algorithm R of Vitter (1985).
    """
    random = Random(seed)
    reservoir: list[tuple[int, Item]] = []
    for number, item in enumerate(items):
        if number < size:
            reservoir.append((number, item))
        elif (index := random.randrange(number + 1)) < size:
            reservoir[index] = number, item
    return [item for _, item in sorted(reservoir, key=itemgetter(0))]


def bracketed(tree: Tree, nodes: Iterable[int], before: str, after: str, quote: Callable[[str], str] = str) -> str:
    """The tree in one line with ``before`` and ``after`` around each of the ``nodes`` of its index.

    ``quote`` is called with each label, tag and word.

    >>> bracketed(Tree.from_text("(S (NP (DT the) (NN cat)) (VP (VBD sat)))"), [1], "<b>", "</b>")
    '(S <b>(NP (DT the) (NN cat))</b> (VP (VBD sat)))'
    """
    index, marked = IndexedTree(tree), set(nodes)
    texts: list[str] = []
    for node in reversed(range(len(index.labels))):
        children: list[str] = [texts.pop() for _ in index.children(node)]
        label = quote(escape(index.labels[node]))
        text = f"({label} {' '.join(children)})" if children else label
        texts.append(f"{before}{text}{after}" if node in marked else text)
    return " ".join(reversed(texts))
