"""Checks of a training text: its statistics, common problems, and remedies.

``Watch`` counts sentences while they are read, in bounded memory. ``Health.findings`` lists the problems. The limits
are rules of thumb. A finding never stops a training.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treebank.core.sentence import UNSPACED, Sentence, script_of

INSPECTED_SENTENCES = 5_000  # sentences whose words and scripts are counted
COMPARED_SENTENCES = 200_000  # sentences among which repeated ones are counted
MIN_WORDS = 20_000  # a masked or next-word model of fewer words learns frequencies, not structure
MIN_SMALL_WORDS = 1_000  # for `_SMALL_MODEL`; with 500, two of four texts had trees below right branching
MAX_REPEATED_SHARE = 0.05
MAX_MARKUP_SHARE = 0.02  # of the words
MAX_MEAN_WORDS = 80.0  # words per sentence; longer lines are paragraphs
MIN_MEAN_WORDS = 3.0  # a tree of two words has only one shape
MAX_GLUED_SHARE = 0.5  # share of sentences whose last word ends in a stop
MIN_LINES = 100  # sentences for a statement about their ends and beginnings
MAX_BROKEN_SHARE = 0.2  # share of sentences that continue on the next line
MAX_BARE_SHARE = 0.8  # share of sentences without a stop and without an upper-case letter
MAX_HYPHENED_SHARE = 0.015  # share of sentences with a word that is divided at the end of a line
MAX_MEAN_CHARACTERS = 14.0  # characters per word: 8 in Finnish, 20 or more in a sentence without spaces
_STOPS = frozenset(".!?\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f\u1362\u0589\u104b\u17d4")
_SMALL_MODEL = "segment-edges"  # with which plain `train` begins; it learns from a few thousand words
_HYPHENED = re.compile(r"[^\W\d_]-\r?\n\s*[^\W\d_]")
_MARKUP = ("</", "/>", "http-equiv", "&nbsp;", "&amp;", "&lt;", "(NP", "(S", "(VP")


@dataclass(frozen=True, slots=True)
class Health:
    """Statistics of a corpus.

    ``scripts`` are the shares of the scripts among the letters, largest first. All shares are between 0 and 1.
    """

    sentences: int
    words: int
    mean_characters: float
    scripts: tuple[tuple[str, float], ...]
    glued_stops: float  # share of sentences whose last word ends in a stop
    markup: float  # share of words that look like tags of markup or of trees
    repeated: str  # the most frequent sentence of three or more words
    repeated_share: float
    broken: float = 0.0  # share of sentences without a stop that are continued in lower case
    bare: float = 0.0  # share of sentences without a stop and without an upper-case letter
    hyphened: float = 0.0  # share of sentences with a word that is divided at the end of a line

    @property
    def mean_words(self) -> float:
        """Words per sentence, without empty lines."""
        return self.words / self.sentences if self.sentences else 0.0

    def to_json(self) -> dict[str, Any]:
        """The statistics as stored in a model folder."""
        return {**asdict(self), "scripts": dict(self.scripts), "mean_words": self.mean_words}

    def summary(self) -> str:
        """One line: sentences, words per sentence, scripts."""
        frequent = [(name, share) for name, share in self.scripts[:3] if share >= 0.005]
        scripts = ", ".join(f"{name.capitalize()} {share:.0%}" for name, share in frequent)
        size = f"{self.sentences:,} sentences of {self.mean_words:.1f} words"
        return f"{size}; {scripts}" if scripts else size

    def report(self, *, token: str = "word", model: str = "") -> list[str]:
        """The summary and a note for each finding."""
        return [self.summary(), *(f"note: {finding}" for finding in self.findings(token=token, model=model))]

    def findings(self, *, token: str = "word", model: str = "") -> list[str]:
        """Problems of a text for the named ``model`` with their remedies, worst first.

        Checks of words are left out if the ``token`` is a character.
        """
        checks = [
            (
                token == "word" and self._is_unspaced,
                f"this text has no spaces between words ({self.mean_characters:.0f} characters per word)",
                "split it with --tokenizer icu (or characters, jieba, janome, pythainlp)",
            ),
            (
                token == "word" and self.glued_stops > MAX_GLUED_SHARE,
                f"this text looks untokenized: {self.glued_stops:.0%} of the lines end in a word with its stop",
                "split it with --tokenizer unicode (for English: english)",
            ),
            (
                self.words < MIN_WORDS and model != _SMALL_MODEL,
                f"{self.words:,} words are too few for useful trees of most models",
                f"give more text ({MIN_WORDS:,} words at the very least), or train phrases without --model",
            ),
            (
                self.words < MIN_SMALL_WORDS and model == _SMALL_MODEL,
                f"{self.words:,} words are too few for trees better than trivial ones",
                f"give more text ({MIN_SMALL_WORDS:,} words at the very least)",
            ),
            *self._line_checks(token),
            (
                self.mean_words > MAX_MEAN_WORDS,
                f"the lines are {self.mean_words:.0f} words long, so they are paragraphs, not sentences",
                "find the sentences with --tokenizer unicode (for English: english)",
            ),
            (
                0 < self.mean_words < MIN_MEAN_WORDS,
                f"the sentences have {self.mean_words:.1f} words, too few for a tree of any shape",
                "write one sentence per line",
            ),
            (
                self.repeated_share > MAX_REPEATED_SHARE,
                f"one sentence is {self.repeated_share:.0%} of all ({self.repeated!r})",
                "remove repeated lines: awk '!seen[$0]++' OLD > NEW",
            ),
            (
                self.markup > MAX_MARKUP_SHARE,
                f"{self.markup:.0%} of the words look like tags of markup or of trees",
                "remove them, or name the format with --input-format",
            ),
        ]
        return [f"{problem}; {remedy}" for is_found, problem, remedy in checks if is_found]

    def _line_checks(self, token: str) -> list[tuple[bool, str, str]]:
        """Checks of the ends and beginnings of lines: whether there is a problem, the problem, and its remedy."""
        has_lines = token == "word" and self.sentences >= MIN_LINES
        return [
            (
                has_lines and self.hyphened > MAX_HYPHENED_SHARE,
                "words are divided by hyphens at the ends of lines",
                r"join their parts: perl -CSD -0pe 's/(\pL)-\r?\n\s*(?=\p{Ll})/$1/g' OLD > NEW",
            ),
            (
                has_lines and self.broken > MAX_BROKEN_SHARE and self.bare <= MAX_BARE_SHARE,
                f"{self.broken:.0%} of the lines continue the sentence of the line before, in lower case",
                "give --paragraphs if the text is raw, or write one sentence per line",
            ),
            (
                has_lines and self.bare > MAX_BARE_SHARE,
                f"{self.bare:.0%} of the sentences have no stop and no capital letter, which makes trees worse",
                "restore punctuation if you can, at least between sentences and clauses",
            ),
        ]

    @property
    def _is_unspaced(self) -> bool:
        unspaced = sum(share for name, share in self.scripts if name in UNSPACED)
        return self.mean_characters > MAX_MEAN_CHARACTERS or (unspaced > 0.5 and self.mean_words < MIN_MEAN_WORDS)


class Watch:
    """Statistics of sentences that are counted while they are read."""

    def __init__(self) -> None:
        self._sentences = self._words = 0
        self._inspected = self._inspected_words = self._characters = self._glued = self._tags = 0
        self._broken = self._bare = self._hyphened = 0
        self._is_open = self._is_divided = False  # the last sentence has no stop, and ends in a hyphen
        self._scripts: Counter[str] = Counter()
        self._sentence_counts: Counter[int] = Counter()
        self._repeated_texts: dict[int, str] = {}

    def sentences(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield ``sentences`` and count their words."""
        for sentence in sentences:
            self.add(sentence.words, sentence.surface.text if sentence.surface else "")
            yield sentence

    def add(self, words: Sequence[str], text: str = "") -> None:
        """Count one sentence, unless it is empty. ``text`` is the sentence as it is written in raw text."""
        if not words:
            self._is_open = False
            return
        self._sentences += 1
        self._words += len(words)
        if len(words) > 2 and self._sentences <= COMPARED_SENTENCES:
            key = hash(tuple(words))
            self._sentence_counts[key] += 1
            if self._sentence_counts[key] == 2:
                self._repeated_texts[key] = " ".join(words)[:60]
        if self._sentences > INSPECTED_SENTENCES:
            return
        self._inspected += 1
        self._inspected_words += len(words)
        self._characters += sum(map(len, words))
        last, is_continued = words[-1], self._is_open and words[0][0].islower()
        self._glued += len(last) > 2 and last[-1] in _STOPS and last[-2].isalpha()
        self._tags += sum(any(mark in word for mark in _MARKUP) for word in words)
        self._scripts.update(filter(None, map(script_of, "".join(words))))
        self._broken += is_continued
        self._hyphened += bool(_HYPHENED.search(text)) or (self._is_divided and is_continued)
        self._is_open = last[-1].isalnum() or last[-1] in ",-"
        self._is_divided = last[-1] == "-" and (last[:-1] or words[-2:][0]).rstrip("-")[-1:].isalpha()
        self._bare += "".join(words).islower() and all(word[-1] not in _STOPS for word in words)

    @property
    def health(self) -> Health:
        """Statistics of the sentences counted so far."""
        letters = sum(self._scripts.values())
        key, count = max(self._sentence_counts.items(), key=lambda item: item[1], default=(0, 0))
        compared = min(self._sentences, COMPARED_SENTENCES)
        return Health(
            sentences=self._sentences,
            words=self._words,
            mean_characters=self._characters / max(self._inspected_words, 1),
            scripts=tuple((name, number / letters) for name, number in self._scripts.most_common(5)),
            glued_stops=self._glued / max(self._inspected, 1),
            markup=self._tags / max(self._inspected_words, 1),
            broken=self._broken / max(self._inspected, 1),
            bare=self._bare / max(self._inspected, 1),
            hyphened=self._hyphened / max(self._inspected, 1),
            repeated=self._repeated_texts.get(key, ""),
            repeated_share=count / compared if count > 1 and compared else 0.0,
        )
