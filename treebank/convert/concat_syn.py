"""PTB-Concat-Syn: the Penn Treebank's trees over the words of the language-modelling files.

The steps and their numbers are those of Du et al. 2020, appendix A.3. In the last step, the authors repaired the
treebank by hand until it agreed with the files of Mikolov et al. 2010 token by token, and did not publish the repairs.
Here, the words of the user's own files decide, sentence by sentence (`WordAlignment`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.lines import open_lines

UNKNOWN, END, NUMBER = "<unk>", "</s>", "N"
VOCABULARY_SIZE = 9_999  # forms in the vocabulary, including </s>
MIN_SIMILARITY = 0.5  # of two sentences that are the same
MOST_FREQUENT = 10  # differences in the report
_NUMBER = re.compile(r"[.-]*+[0-9][0-9.-]*")  # digits, with or without points and hyphens
_DELETED_BY_TAG = {"POS": "\\", "NNP": "wa"}
_PUNCTUATION = r"`` '' , . : ; - ? ! ;;- \ | ~ -lrb- -rrb- -lcb- -rcb- ( ) [ ] { } < > -- ... '"
_DELETED = frozenset(_PUNCTUATION.split())

STEPS = {  # number in the paper -> the counted changes
    1: "tokens put into lower case",
    2: f"numbers written {NUMBER}",
    3: f"$ written {NUMBER}",
    4: "tokens deleted: \\ tagged POS, wa tagged NNP",
    5: "tokens deleted: punctuation on the paper's list",
    6: "empty elements deleted",
    7: f"sentences ended with {END}",
    8: f"tokens written {UNKNOWN}",
}


def rewrite(word: str, tag: str, changed: Counter[int]) -> str | None:
    """The form of one token after steps 1 to 6, or None if it is deleted. ``changed`` counts the changes by step.

    Empty elements are deleted first, so that steps 1 to 5 count words only. This does not change the result.
    """
    if tag == TRACE:
        changed[6] += 1
        return None
    form = word.lower()
    changed[1] += form != word
    if form == _DELETED_BY_TAG.get(tag):
        changed[4] += 1
        return None
    if form in _DELETED:
        changed[5] += 1
        return None
    if _NUMBER.fullmatch(form):
        changed[2] += 1
        return NUMBER
    if form == "$":
        changed[3] += 1
        return NUMBER
    return form


def end_sentence(tree: Tree) -> Tree:
    """The tree under a new bracket ``TOP``, with ``</s>`` as its second child (step 7).

    The paper does not give the position of ``</s>`` in the tree. Here the distance before it is the largest of the
    sentence.
    """
    n = len(tree) + 1
    words, tags = (*tree.words, END), (*tree.tags, END)
    return Tree(words, tags, ((0, n), *tree.spans), ("TOP", *tree.labels))


def forms_of(sentence: Sentence, changed: Counter[int]) -> tuple[Tree, list[str | None]]:
    """The tree of a sentence and the forms of its leaves after steps 1 to 6. Raises TreebankError if it has no tree."""
    tree = sentence.tree
    if tree is None:
        problem = "this sentence has no tree; ptb-concat-syn needs trees"
        raise TreebankError(sentence.location.path, sentence.location.line, problem)
    return tree, [rewrite(word, tag, changed) for word, tag in zip(tree.words, tree.tags, strict=True)]


def count_forms(sentences: Iterable[Sentence]) -> Counter[str]:
    """Frequency of each form in the sentences after steps 1 to 7, in the order of first occurrence."""
    counts: Counter[str] = Counter()
    changed: Counter[int] = Counter()  # not used
    for sentence in sentences:
        forms = [form for form in forms_of(sentence, changed)[1] if form is not None]
        counts.update([*forms, END] if forms else [])
    return counts


@dataclass
class WordAlignment:
    """Step 9: changes the words of trees to those of the lines of ``paths``, in order, and counts the differences.

    Each tree ends with a sentence end, which lines do not need. Empty lines are ignored.
    """

    paths: Sequence[str]
    differences: Counter[tuple[str, str]] = field(default_factory=Counter)
    changed_sentences: int = 0

    def __post_init__(self) -> None:
        numbered = ((path, *line) for path in self.paths for line in open_lines(path))
        self._lines = ((Location(path, number), words) for path, number, line in numbered if (words := line.split()))

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
                self.differences.update(zip_longest(tree.words[start:end], words[other_start:other_end], fillvalue=""))
                tree = _replace(tree, start, end, words[other_start:other_end])
        return tree

    def finish(self) -> None:
        """Raise SynparseError if there are lines after the last sentence of the treebank."""
        if rest := next(self._lines, None):
            where = rest[0]
            raise SynparseError(f"{where.path}:{where.line}: a line after the last sentence of the treebank")

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


@dataclass
class ConcatSyn:
    """The normalization with the most frequent forms of ``counts`` as vocabulary. It counts its changes by step.

    ``alignment`` makes the last step, if there is one.
    """

    counts: Counter[str]
    alignment: WordAlignment | None = None
    changed: Counter[int] = field(default_factory=Counter)
    read: int = 0

    def __post_init__(self) -> None:
        self.vocabulary: Collection[str] = {form for form, _ in self.counts.most_common(VOCABULARY_SIZE)}

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences after steps 1 to 8, or 9, streamed. Sentences without a remaining word are left out."""
        for sentence in sentences:
            self.read += 1
            tree, forms = forms_of(sentence, self.changed)
            rest = tree.keep([form is not None for form in forms])
            if not len(rest):
                continue
            rest = end_sentence(rest.with_words([form for form in forms if form is not None]))
            words = tuple(word if word in self.vocabulary else UNKNOWN for word in rest.words)
            self.changed[7] += 1
            self.changed[8] += sum(word == UNKNOWN for word in words)
            rest = replace(rest, words=words)
            yield sentence.with_tree(self.alignment(rest, sentence.location) if self.alignment else rest)
        if self.alignment:
            self.alignment.finish()

    def report(self) -> Iterator[str]:
        """The number of changes, one line per step."""
        yield "ptb-concat-syn: the steps of Du et al. 2020, appendix A.3"
        for step, description in STEPS.items():
            yield f"  {step}  {self.changed[step]:>9,} {description}"
        if self.alignment:
            yield from self.alignment.report()
        else:
            yield "  9          - manual repairs: skipped (never published; --align-with makes them with your files)"
        yield f"  vocabulary: {len(self.vocabulary):,} of {len(self.counts):,} forms, and {UNKNOWN}"
        yield f"  sentences left out, since no word remained: {self.read - self.changed[7]:,} of {self.read:,}"
