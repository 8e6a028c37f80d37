"""Step 9 of PTB-Concat-Syn: trees over exactly the words of language-modeling files (Du et al. 2020, appendix A.3).

The authors made this step by hand. Here, the words of the user's own files decide, sentence by sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Location
from treebank.core.tree import Tree
from treebank.io.lines import open_lines

MIN_SIMILARITY = 0.5  # of two sentences that are the same
MOST_FREQUENT = 10  # differences in the report


@dataclass
class WordAlignment:
    """Changes the words of trees to those of the lines of ``paths``, in order, and counts the differences.

    Each tree ends with a sentence end, which lines do not need. Empty lines are ignored.
    """

    paths: Sequence[str]
    differences: Counter[tuple[str, str]] = field(default_factory=Counter)
    changed_sentences: int = 0

    def __post_init__(self) -> None:
        self._lines = self._read()

    def _read(self) -> Iterator[tuple[Location, list[str]]]:
        for path in self.paths:
            for number, line in open_lines(path):
                if words := line.split():
                    yield Location(path, number), words

    def __call__(self, tree: Tree, location: Location) -> Tree:
        """The tree over the words of the next line.

        Raises TreebankError if there is no further line, or if line and tree are different sentences.
        """
        where, words = next(self._lines, (None, []))
        if where is None:
            files = " ".join(self.paths)
            raise TreebankError(location.path, location.line, f"{files}: fewer lines than the treebank has sentences")
        if words[-1] != tree.words[-1]:
            words.append(tree.words[-1])
        if list(tree.words) == words:
            return tree
        matcher = SequenceMatcher(None, tree.words, words, autojunk=False)
        if matcher.ratio() < MIN_SIMILARITY:
            problem = (
                f"{where.path}:{where.line} is another sentence ({' '.join(words[:5])} …); "
                "treebank and files must have the same sentences in the same order"
            )
            raise TreebankError(location.path, location.line, problem)
        self.changed_sentences += 1
        for kind, start, end, other_start, other_end in reversed(matcher.get_opcodes()):
            if kind != "equal":
                self._count(tree.words[start:end], words[other_start:other_end])
                tree = _replace(tree, start, end, words[other_start:other_end])
        return tree

    def finish(self) -> None:
        """Raise SynparseError if there are lines after the last sentence of the treebank."""
        if rest := next(self._lines, None):
            where = rest[0]
            raise SynparseError(f"{where.path}:{where.line}: a line after the last sentence of the treebank")

    def _count(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Count the words that are replaced, deleted or inserted."""
        for index in range(max(len(before), len(after))):
            pair = (before[index] if index < len(before) else "", after[index] if index < len(after) else "")
            self.differences[pair] += 1

    def report(self) -> Iterator[str]:
        """The number of differences, and the most frequent ones."""
        replaced, deleted, inserted = (
            sum(count for (before, after), count in self.differences.items() if (bool(before), bool(after)) == kinds)
            for kinds in ((True, True), (True, False), (False, True))
        )
        yield f"  9  {self.changed_sentences:>9,} sentences changed to the words of {' '.join(self.paths)}:"
        yield f"               {replaced:,} tokens replaced, {deleted:,} deleted, {inserted:,} inserted"
        for (before, after), count in self.differences.most_common(MOST_FREQUENT):
            yield f"     {count:>9,} {before or '(nothing)'} -> {after or '(nothing)'}"


def _replace(tree: Tree, start: int, end: int, words: Sequence[str]) -> Tree:
    """The tree with ``words`` instead of the words from ``start`` to ``end``.

    Additional words follow the last of the replaced words in its bracket. If none is replaced, they are in the lowest
    bracket that contains both neighbors.
    """
    shared = min(end - start, len(words))
    tree = tree.with_words([*tree.words[:start], *words[:shared], *tree.words[start + shared :]])
    if shared < end - start:
        return tree.keep([not start + shared <= index < end for index in range(len(tree))])
    return _insert(tree, end, words[shared:], follows=shared > 0)


def _insert(tree: Tree, position: int, words: Sequence[str], *, follows: bool) -> Tree:
    """The tree with ``words`` before the word ``position``, in the bracket of the preceding word if ``follows``."""
    count, length = len(words), len(tree)

    def moved(index: int, span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        is_root = index == 0 and span == (0, length)
        holds_both = start < position < end or is_root or (follows and start < position == end)
        if holds_both:
            return start, end + count
        return (start + count, end + count) if start >= position else span

    spans = tuple(moved(index, span) for index, span in enumerate(tree.spans))
    all_words = (*tree.words[:position], *words, *tree.words[position:])
    tags = (*tree.tags[:position], *["W"] * count, *tree.tags[position:])
    return replace(tree, words=all_words, tags=tags, spans=spans)
