"""Is this text fit to learn trees from? What a corpus looks like, what is wrong with it, and what helps.

``Watch`` looks at sentences while they are read, in bounded memory; ``Health.findings`` says what is odd. The bounds
are rules of thumb, each beside its reason; a finding never stops anything.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from treebank.core.sentence import Sentence

LOOKED_AT = 5_000  # sentences whose words and scripts are looked at
REMEMBERED = 200_000  # sentences among which repeated ones are counted
FEWEST_WORDS = 20_000  # a masked or next-word model of fewer words learns frequencies, not structure
MOST_UNKNOWN = 0.2
MOST_REPEATED = 0.05
LONGEST_MEAN = 80.0  # words a sentence: paragraphs, no sentences
SHORTEST_MEAN = 3.0  # a tree of two words has one shape
GLUED = 0.5  # share of sentences whose last word ends in a stop that is part of it
LONGEST_WORDS = 14.0  # characters a word; Finnish has 8, a sentence without spaces 20 and more
UNSPACED = frozenset(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))
_STOPS = frozenset(".!?\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f\u1362\u0589\u104b\u17d4")
_MARKUP = ("</", "/>", "http-equiv", "&nbsp;", "&amp;", "&lt;", "(NP", "(S", "(VP")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is odd about a corpus, and what helps."""

    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Health:
    """Counts of a corpus. ``scripts`` are shares of letters, the largest first; shares are between 0 and 1."""

    sentences: int
    words: int
    mean_characters: float
    scripts: tuple[tuple[str, float], ...]
    glued_stops: float  # share of sentences that end in a word with a stop on it
    markup: float  # share of words that look like tags of a markup or of trees
    repeated: str  # the most frequent sentence of three words or more
    repeated_share: float

    @property
    def mean_words(self) -> float:
        """Words a sentence, empty lines left out."""
        return self.words / self.sentences if self.sentences else 0.0

    def to_json(self) -> dict[str, Any]:
        """For the facts of a run."""
        return {**asdict(self), "scripts": dict(self.scripts), "mean_words": self.mean_words}

    def summary(self, unknown_share: float | None = None) -> str:
        """One line: sentences, words a sentence, unknown words, scripts."""
        parts = [f"{self.sentences:,} sentences of {self.mean_words:.1f} words"]
        if unknown_share is not None:
            parts.append(f"{unknown_share:.1%} unknown")
        shown = [(name, share) for name, share in self.scripts[:3] if share >= 0.005]
        parts.append(", ".join(f"{name.capitalize()} {share:.0%}" for name, share in shown))
        return "; ".join(part for part in parts if part)

    def report(self, unknown_share: float | None = None, *, token: str = "word") -> list[str]:
        """The summary and a note for each finding."""
        findings = self.findings(unknown_share or 0.0, token=token)
        return [self.summary(unknown_share), *(f"note: {finding}" for finding in findings)]

    def findings(self, unknown_share: float = 0.0, *, token: str = "word") -> list[Finding]:
        """What is odd, the worst first; nothing for an ordinary corpus. Of characters only some of it is asked."""
        found = [self._spacing(), self._glued()] if token == "word" else []
        found += [self._size(), self._lengths(), self._repeats(), self._tags()]
        if unknown_share > MOST_UNKNOWN and token == "word":
            problem = f"{unknown_share:.0%} of the words are unknown"
            found.append(
                Finding(problem, "more text, --set data.unknown=shape or a larger data.vocabulary_size may help")
            )
        return [finding for finding in found if finding]

    def _size(self) -> Finding | None:
        if self.words >= FEWEST_WORDS:
            return None
        problem = f"{self.words:,} words are too little for useful trees"
        return Finding(problem, f"give more text: {FEWEST_WORDS:,} words at the very least, better a million")

    def _spacing(self) -> Finding | None:
        unspaced = sum(share for name, share in self.scripts if name in UNSPACED)
        if self.mean_characters <= LONGEST_WORDS and not (unspaced > 0.5 and self.mean_words < SHORTEST_MEAN):
            return None
        problem = f"this text has no spaces between words ({self.mean_characters:.0f} characters a word)"
        return Finding(problem, "split it with --tokenizer icu (or characters, jieba, janome, pythainlp)")

    def _glued(self) -> Finding | None:
        if self.glued_stops <= GLUED:
            return None
        problem = f"this text looks untokenised: {self.glued_stops:.0%} of the lines end in a word with its stop"
        return Finding(problem, "split it with --tokenizer, here and for parsing")

    def _lengths(self) -> Finding | None:
        if self.mean_words > LONGEST_MEAN:
            problem = f"the lines are {self.mean_words:.0f} words long, so they are paragraphs and no sentences"
            return Finding(problem, "find the sentences with --tokenizer")
        if 0 < self.mean_words < SHORTEST_MEAN:
            problem = f"the sentences have {self.mean_words:.1f} words, too few for a tree of any shape"
            return Finding(problem, "a line should hold one sentence")
        return None

    def _repeats(self) -> Finding | None:
        if self.repeated_share <= MOST_REPEATED:
            return None
        problem = f"one sentence is {self.repeated_share:.0%} of all ({self.repeated!r})"
        return Finding(problem, "take repeated lines out: awk '!seen[$0]++' OLD > NEW")

    def _tags(self) -> Finding | None:
        if self.markup <= 0.02:
            return None
        problem = f"{self.markup:.0%} of the words look like tags of a markup or of trees"
        return Finding(problem, "take them out, or name the format with --as")


class Watch:
    """Passes sentences on and counts them; ``health`` says afterwards what was seen."""

    def __init__(self) -> None:
        self._sentences = self._words = 0
        self._looked = self._looked_words = self._characters = self._glued = self._tags = 0
        self._scripts: Counter[str] = Counter()
        self._seen: Counter[int] = Counter()
        self._first: dict[int, str] = {}

    def __call__(self, sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
        """The same sentences."""
        for words in sentences:
            self.add(words)
            yield words

    def sentences(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The same sentences, whose words are counted."""
        for sentence in sentences:
            self.add(sentence.words)
            yield sentence

    def add(self, words: Sequence[str]) -> None:
        """Counts one sentence; an empty one is none."""
        if not words:
            return
        self._sentences += 1
        self._words += len(words)
        if self._sentences <= LOOKED_AT:
            self._look(words)
        if len(words) > 2 and self._sentences <= REMEMBERED:
            key = hash(tuple(words))
            self._seen[key] += 1
            if self._seen[key] == 2:
                self._first[key] = " ".join(words)[:60]

    def _look(self, words: Sequence[str]) -> None:
        self._looked += 1
        self._looked_words += len(words)
        self._characters += sum(map(len, words))
        last = words[-1]
        self._glued += len(last) > 2 and last[-1] in _STOPS and last[-2].isalpha()
        self._tags += sum(any(mark in word for mark in _MARKUP) for word in words)
        self._scripts.update(filter(None, map(_script, "".join(words))))

    @property
    def health(self) -> Health:
        """What was seen so far."""
        letters = sum(self._scripts.values())
        key, count = max(self._seen.items(), key=lambda item: item[1], default=(0, 0))
        of = min(self._sentences, REMEMBERED)
        return Health(
            sentences=self._sentences,
            words=self._words,
            mean_characters=self._characters / max(self._looked_words, 1),
            scripts=tuple((name, number / letters) for name, number in self._scripts.most_common(5)),
            glued_stops=self._glued / max(self._looked, 1),
            markup=self._tags / max(self._looked_words, 1),
            repeated=self._first.get(key, ""),
            repeated_share=count / of if count > 1 and of else 0.0,
        )


@lru_cache(maxsize=1 << 14)
def _script(character: str) -> str:
    """The script of a letter, as the first word of its Unicode name; "" for what is no letter."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""
