"""A sentence, its origin, its context (CoNLL-U columns and comments, or spacing), and tag sets, labels and scripts."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, repeat
from typing import NamedTuple

from treebank.base.errors import SynparseError
from treebank.core.tree import TRACE, Tree

NO_SPACE = "SpaceAfter=No"  # entry of MISC


class Token(NamedTuple):
    """A token of the surface text: a word, or a range of several that are written as one (``2-3 don't``)."""

    form: str
    first: int  # index of its first word, counted from 0
    last: int  # index of its last word, equal to ``first`` unless it is a range
    spaced: bool  # whether white space follows it


@dataclass(frozen=True, slots=True)
class Annotation:
    """A sentence as in its CoNLL-U file: comment lines, and rows of ten cells, including ranges and empty nodes.

    A sentence of CoNLL-X has the rows that it has in CoNLL-U, one of JSON has none. ``dropped`` names the parts that
    were left out because words were deleted or CoNLL-U does not have them.
    """

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    dropped: frozenset[str] = frozenset()

    def comment(self, name: str) -> str | None:
        """The value of the comment ``# name = …``, or None without such a comment."""
        for line in self.comments:
            key, equals, value = line.removeprefix("#").partition("=")
            if equals and key.strip() == name:
                return value.strip()
        return None

    def tokens(self) -> list[Token]:
        """The surface tokens in order. A range replaces the words that it covers, and empty nodes are left out."""
        tokens: list[Token] = []
        covered = 0  # the number of the last word that a range covers
        for row in self.rows:
            number, misc = row[0], row[9].split("|")
            if "." in number:
                continue
            first, _, last = number.partition("-")
            if last:
                covered = int(last)
            elif int(first) <= covered:
                continue
            tokens.append(Token(row[1], int(first) - 1, int(last or first) - 1, NO_SPACE not in misc))
        return tokens

    def text(self) -> str:
        """The sentence as running text: the value of ``# text``, else the tokens with their spacing."""
        text = self.comment("text")
        if text is not None:
            return text
        return "".join(token.form + " " * token.spaced for token in self.tokens()).rstrip(" ")

    def keep(self, mask: Sequence[bool], heads: Sequence[int], relations: Sequence[str]) -> Annotation:
        """The annotation of the words whose ``mask`` is true, with new numbers, and ``heads`` and ``relations`` if any.

        The comment ``# text``, enhanced dependencies, empty nodes, and ranges with a deleted word are left out. White
        space follows each token before a deleted word.
        """
        new_indices = list(accumulate(mask, initial=0))  # the number of kept words before each word
        rows, dropped = [], set(self.dropped)
        for row in self.rows:
            first, _, last = row[0].partition("-")
            if "." in first:
                dropped.add("enhanced dependencies")
                continue
            start, end = int(first) - 1, int(last or first)
            if all(mask[start:end]):
                if row[8] != "_":
                    dropped.add("enhanced dependencies")
                misc = row[9]
                if not all(mask[end : end + 1]):
                    misc = "|".join(entry for entry in misc.split("|") if entry != NO_SPACE) or "_"
                head = row[6] if last or not heads else str(heads[new_indices[start]] + 1)
                relation = row[7] if last or not relations else relations[new_indices[start]]
                name = f"{new_indices[start] + 1}-{new_indices[start] + end - start}" if last else str(new_indices[end])
                rows.append((name, *row[1:6], head, relation, "_", misc))
            elif last:
                dropped.add("multiword tokens")
        return replace(self.without_rows(), rows=tuple(rows), dropped=frozenset(dropped))

    def without_rows(self) -> Annotation:
        """The comments alone, without ``# text``."""
        comments = tuple(line for line in self.comments if line.removeprefix("#").partition("=")[0].strip() != "text")
        return Annotation(comments, ())


@dataclass(frozen=True, slots=True)
class Surface:
    """The position of a sentence in raw text, so that a tree can be laid over it.

    ``text`` is the sentence as it is written there; ``spans[i]`` the characters of word i in it, from 0, half-open.
    ``offset`` is the number of characters in the file before ``text``; line ends count as in the file. In a format with
    marks between words, such as subtitles, ``is_in_file`` is false, and positions are those in ``text`` alone.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    offset: int = 0
    is_in_file: bool = True

    def offsets(self) -> list[tuple[int, int]]:
        """The characters of each word in the whole file."""
        return [(self.offset + start, self.offset + end) for start, end in self.spans]

    def spaced(self) -> list[bool]:
        """For each word, whether white space follows it. This is always true for the last one."""
        starts = [start for start, _ in self.spans[1:]] + [len(self.text) + 1]
        return [end < start for (_, end), start in zip(self.spans, starts, strict=True)]


ROOT = -1  # the head of a word that has none
WHITE_SPACE = re.compile("[ \t\r\n]")  # ends words in files; other characters such as U+00A0 belong to words


class Location(NamedTuple):
    """File and line (from 1) of a sentence, for error messages."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence without traces, and the annotation that its file has.

    ``tags`` has one part-of-speech tag per word in the treebank's own tag set, ``universal_tags`` in that of Universal
    Dependencies. ``tree`` is the gold tree as annotated, with traces. ``heads[i]`` is the index of word i's head, or
    ``ROOT = -1`` for the root. ``relations[i]`` names the relation of word i to its head, such as ``nsubj``.
    Missing annotation is empty. ``surface`` has the positions of the words in raw text that was tokenized here,
    ``annotation`` the other columns and comments of a CoNLL-U file. Both are None if they were not kept.
    ``confidences`` has the confidence of a model in each bracket of ``tree`` or in each head, None where it has none,
    and ``confidence`` is their mean, or None if it is unknown. ``document`` names the document that begins here.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    tree: Tree | None = None
    heads: tuple[int, ...] = ()
    universal_tags: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    location: Location = field(default=Location("-", 0), compare=False)
    surface: Surface | None = field(default=None, compare=False)
    annotation: Annotation | None = field(default=None, compare=False)
    confidence: float | None = field(default=None, compare=False)
    confidences: tuple[float | None, ...] = field(default=(), compare=False)
    document: str = field(default="", compare=False)

    def with_tree(self, tree: Tree) -> Sentence:
        """Sentence with the words, tags and brackets of ``tree``, without heads, with its location and comments."""
        plain = tree.without_traces()
        sentence = Sentence(plain.words, plain.tags if any(plain.tags) else (), tree, location=self.location)
        if self.annotation is None:
            return sentence
        return replace(sentence, annotation=self.annotation.without_rows(), document=self.document)


Words = str | Sequence[str] | Sentence


def as_sentence(words: Words) -> Sentence:
    """``words`` as a `Sentence`, with a string split at white space.

    Raises TypeError for anything else, and SynparseError for words that are empty or contain white space.
    """
    if isinstance(words, Sentence):
        return words
    if isinstance(words, str):
        return Sentence(tuple(filter(None, WHITE_SPACE.split(words))))
    listed = tuple(words) if isinstance(words, Iterable) else (None,)
    if not all(isinstance(word, str) for word in listed):
        raise TypeError(f"a sentence is a string or a list of words, not {words!r}")
    for word in listed:
        if not word or WHITE_SPACE.search(word):
            problem = f"the word {word!r} of a sentence is empty or contains white space"
            raise SynparseError(f"{problem}; leave it out, split it, or write U+00A0 for a space")
    return Sentence(listed)


def each_sentence(sentences: Iterable[Words]) -> Iterator[Sentence]:
    """Iterate over ``sentences``, where a single string or `Sentence` counts as one sentence.

    Raises TypeError if they are not iterable.
    """
    if isinstance(sentences, str | Sentence):
        sentences = [sentences]
    if not isinstance(sentences, Iterable):
        raise TypeError(f"give a list of sentences, not {sentences!r}")
    return map(as_sentence, sentences)


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences under the name that a score line prints."""

    name: str
    sentences: Sequence[Sentence]
    note: str = ""  # printed beside every score, such as "5 % sample"

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def label(self) -> str:
        """Name and note as in a signature. Only the last part of a path is used, so that machines agree."""
        name = os.path.basename(os.path.normpath(self.name)) if os.sep in self.name else self.name
        return f"{name} ({self.note})" if self.note else name


_PENN_WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB"
)
#: The Penn Treebank's 36 tags of words. ``$``, ``#``, punctuation, ``-NONE-`` and tags of other sets are excluded.
WORD_TAGS = frozenset(_PENN_WORDS.split())
AUXILIARIES = frozenset({"AUX", "AUXG"})  # additional word tags of the automatic treebank BLLIP
PUNCTUATION_TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-"})
#: Punctuation tags of the Penn Treebank and those added by OntoNotes and the English Web Treebank
ALL_PUNCTUATION_TAGS = PUNCTUATION_TAGS | {'"', "HYPH", "NFP"}
EVALB_DELETED = PUNCTUATION_TAGS - {"-LRB-", "-RRB-"} | {TRACE}  # tags that EVALB deletes (COLLINS.prm)
#: All tags of treebanks in the style of the Penn Treebank
PENN_TAGS = WORD_TAGS | AUXILIARIES | ALL_PUNCTUATION_TAGS | {TRACE, *["$", "#", "ADD", "AFX", "GW", "XX"]}
UNIVERSAL_PUNCTUATION = "PUNCT"  # the tag of Universal Dependencies
#: scripts without spaces between words, as `script_of` names them
UNSPACED = frozenset(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"))
_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rcs")  # -LRB- and similar, in lower case


@lru_cache(maxsize=1 << 17)
def is_word(token: str) -> bool:
    """Whether ``token`` is more than punctuation and symbols.

    A token with a letter or a number is a word, and so is one with a private-use or unassigned character. A token of
    punctuation and symbols (Unicode categories P and S) is not, even with combining marks, joiners, control characters
    or spaces around them: an emoji with a variation selector is still a symbol. A token of combining marks alone is a
    word, a token of invisible characters alone is not. ``-LRB-``, ``-rrb-`` and similar tokens are brackets.
    """
    if token.isalnum():
        return True
    if token.lower() in _BRACKETS:
        return False
    kinds = {unicodedata.category(character) for character in token}
    if any(kind[0] in "LN" or kind in ("Co", "Cn", "Cs") for kind in kinds):
        return True
    return any(kind[0] == "M" for kind in kinds) and not any(kind[0] in "PS" for kind in kinds)


@lru_cache(maxsize=1 << 14)
def script_of(character: str) -> str:
    """Script of a letter, the first word of its Unicode name, or "" for other characters."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""


Strings = Sequence[str]
#: Name of a rule -> which tokens are words by their forms, treebank tags and universal tags
WORD_RULES: dict[str, Callable[[Strings, Strings, Strings], list[bool]]] = {
    "words": lambda words, tags, universal: [tag in WORD_TAGS for tag in tags],
    "words+aux": lambda words, tags, universal: [tag in WORD_TAGS or tag in AUXILIARIES for tag in tags],
    "no-punct": lambda words, tags, universal: [tag not in PUNCTUATION_TAGS for tag in tags],
    "evalb": lambda words, tags, universal: [tag not in EVALB_DELETED for tag in tags],
    "upos": lambda words, tags, universal: [tag != UNIVERSAL_PUNCTUATION for tag in universal],
    "letters": lambda words, tags, universal: [
        tag != TRACE and is_word(word) for word, tag in zip(words, tags or repeat(""), strict=False)
    ],
    "all": lambda words, tags, universal: [True] * len(words),
}
PENN_RULES = frozenset({"words", "words+aux", "no-punct"})  # rules that need the tags of the Penn Treebank


def word_mask(rule: str, words: Strings, tags: Strings, universal: Strings = ()) -> list[bool]:
    """For each token, whether it is a word by a rule in `WORD_RULES`.

    The result is shorter than ``words`` if the tags that the rule needs are missing.

    >>> word_mask("words", ["$", "5", "."], ["$", "CD", "."]), word_mask("letters", ["$", "5", "."], [])
    ([False, True, False], [False, True, False])
    """
    return WORD_RULES[rule](words, tags, universal)


def tags_are_penn(words: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether the ``tags`` of a sentence, one per word, are the Penn Treebank's, so that they distinguish words.

    Every token with a letter or a digit (see ``is_word``) must have one of ``PENN_TAGS``. A short sentence with another
    tag set can pass if the two sets share these tags. This does no harm, since all its words have word tags then. The
    decision depends on this sentence alone, not on its neighbors in the file.
    """
    return PENN_TAGS.issuperset(tags) or not any(
        tag not in PENN_TAGS and is_word(word) for word, tag in zip(words, tags, strict=True)
    )


def count_other_tags(gold: Treebank) -> int:
    """Number of sentences in which some words have no tags of the Penn Treebank."""
    fitting = 0
    for sentence in gold.sentences:
        words, tags = _words_and_tags(sentence)
        fitting += tags_are_penn(words, tags) if tags else not any(map(is_word, words))
    return len(gold) - fitting


def has_penn_tags(gold: Treebank) -> bool:
    """Whether most sentences of ``gold`` have tags of the Penn Treebank. Scores use one rule for the whole treebank."""
    return 2 * count_other_tags(gold) <= len(gold)


@lru_cache(maxsize=1 << 12)
def bare_label(label: str) -> str:
    """The label without function tags and indices, ``NP`` for ``NP-SBJ=2``. ``-LRB-`` and the like are unchanged."""
    return label if label.startswith("-") else label.partition("-")[0].partition("=")[0]


def count_words(gold: Treebank) -> list[int]:
    """Number of words of each sentence by the default convention of scores."""
    rule = "words" if has_penn_tags(gold) else "letters"
    pairs = map(_words_and_tags, gold.sentences)
    return [sum(word_mask(rule if tags else "letters", words, tags)) for words, tags in pairs]


def _words_and_tags(sentence: Sentence) -> tuple[Strings, Strings]:
    """The words and tags of a sentence, with empty elements if it has a tree."""
    tree = sentence.tree
    return (sentence.words, sentence.tags) if tree is None else (tree.words, tree.tags)


def short_sentences(gold: Treebank, max_length: int | None) -> list[bool]:
    """Whether each sentence has 1 to ``max_length`` words, as `count_words` counts. Without a bound, all are true."""
    if max_length is None:
        return [True] * len(gold)
    return [0 < length <= max_length for length in count_words(gold)]
