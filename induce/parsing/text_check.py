"""Check of a text against the vocabulary of a model: scripts, word segmentation and unknown words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from induce.data.vocabulary import Vocabulary
from treebank.core.sentence import UNSPACED, script_of

MAX_WORDS = 5_000  # at the beginning of a text, which are checked
MIN_WORDS = 10  # of a text, before the share of unknown words is judged
MIN_SENTENCES = 3  # of a text, before attached punctuation is judged
MAX_UNKNOWN_SHARE = 0.6
MIN_SCRIPT_SHARE = 0.005  # of the letters of a vocabulary, for scripts that it contains
MAX_UNSPACED_LETTERS = 6  # mean length of words in a script without spaces, above which they are not segmented
FINAL_MARKS = ".!?"


class TextCheck:
    """Counts of the words of a text, and the first problem that they show."""

    def __init__(self, vocabulary: Vocabulary, token: str) -> None:
        self.vocabulary, self.token = vocabulary, token
        self.finished = False
        self._words = self._unknown = self._sentences = self._attached = 0
        self._characters: Counter[str] = Counter()

    def add(self, words: Sequence[str], forms: Sequence[str]) -> None:
        """Count a sentence with its ``words`` and the normalized ``forms`` that the model reads."""
        if self._words > MAX_WORDS:
            return
        self._words += len(forms)
        self._unknown += sum(not self.vocabulary.knows(form) for form in forms)
        self._characters.update("".join(words))
        if words:
            self._sentences += 1
            end = words[-1]
            self._attached += end[-1] in FINAL_MARKS and end[:-1].isalpha() and not self.vocabulary.knows(end)

    def problem(self) -> str:
        """The first problem so far, or "". The check is finished after a problem and after `MAX_WORDS`."""
        text = self._script_problem() or self._attached_problem() or self._unknown_problem()
        self.finished = bool(text) or self._words > MAX_WORDS
        return text

    def _script_problem(self) -> str:
        scripts = _scripts(self._characters)
        letters = scripts.total()
        new = {script: count for script, count in scripts.items() if script not in self._known_scripts}
        if sum(new.values()) * 2 <= letters:
            return ""
        script = max(new, key=new.__getitem__)
        name = "Chinese" if script == "CJK" else script.capitalize()
        problem = f"most letters are {name}, a script that is not in the vocabulary of the model"
        if self.token == "word" and script in UNSPACED and letters > MAX_UNSPACED_LETTERS * self._words:
            problem += "; the text is not split into words, which --tokenizer does"
        return problem

    def _attached_problem(self) -> str:
        if self.token != "word" or self._sentences < MIN_SENTENCES or self._attached * 2 <= self._sentences:
            return ""
        return "punctuation is not separated from words; --tokenizer splits raw text into words"

    def _unknown_problem(self) -> str:
        if self._words < MIN_WORDS or self._unknown <= MAX_UNKNOWN_SHARE * self._words:
            return ""
        share = self._unknown / self._words
        return f"{share:.0%} of the {self.token}s are unknown to the model; its trees say little about this text"

    @cached_property
    def _known_scripts(self) -> frozenset[str]:
        entries = [entry.partition("\t")[2] or entry for entry in self.vocabulary.words if entry[0] != "<"]
        scripts = _scripts(Counter("".join(entries)))
        return frozenset(name for name, count in scripts.items() if count >= MIN_SCRIPT_SHARE * scripts.total())


def _scripts(characters: Counter[str]) -> Counter[str]:
    """Number of letters of each script, in the order of their first occurrence."""
    scripts: Counter[str] = Counter()
    for character, count in characters.items():
        if script := script_of(character):
            scripts[script] += count
    return scripts
