"""``synparse decode``: from distances to trees, without a model."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from cli.output import opened
from treebank.errors import SynparseError, TreebankError

_NEVER_IN_A_WORD = re.compile("[ \t\n\0\ud800-\udfff]")
DEFAULT_DECODER = "unbiased"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", default="-")
@click.option(
    "--decoder",
    metavar="NAME",
    help="unbiased, biased or nary; by default the one that a line names, else unbiased.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def decode(file: str, decoder: str | None, output: str | None) -> None:
    """Turn the JSON lines of `synparse extract` into trees, one a line.

    A line needs "distances" only: one number per word, the gap before it. Without "words", words are called w0 w1 …
    """
    from induce.parser import tree_of
    from induce.registry import decoder as find
    from treebank.formats import open_lines

    chosen = find(decoder) if decoder else None
    with opened(output) as write:
        for number, line in open_lines(file):
            if not line.strip(" \t"):
                write("")
                continue
            reading, named = _read(line, file, number)
            try:
                tree = tree_of(reading, chosen or find(named))
            except SynparseError as error:
                raise TreebankError(file, number, str(error)) from None
            write(str(tree))


def _read(line: str, path: str, number: int) -> tuple[Any, str]:
    """The reading in one line and the decoder it names. Raises TreebankError that says what is wrong with it."""
    from induce.parser import Reading

    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = f"not a line of JSON ({error}); `synparse extract` writes what is read here"
        raise TreebankError(path, number, problem) from None
    try:
        distances = _distances(found)
        words = _words(found, len(distances))
        kept = _kept(found, len(words))
        if len(kept) != len(distances):
            raise ValueError(f"{len(distances)} distances for {len(kept)} words; one per word is needed")
    except ValueError as error:
        raise TreebankError(path, number, str(error)) from None
    return Reading(words, kept, distances), str(found.get("decoder", DEFAULT_DECODER))


def _distances(found: Any) -> list[float]:
    values = found.get("distances") if isinstance(found, dict) else None
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError('expected an object with "distances", a list of numbers')
    try:
        return list(map(float, values))
    except OverflowError:
        raise ValueError('"distances" holds a whole number that is too large') from None


def _words(found: dict[str, Any], count: int) -> list[str]:
    """The words of the line; ``w0 w1 …``, ``count`` of them, if there are none."""
    words = found.get("words")
    if words is None and found.get("kept") is None:
        return [f"w{i}" for i in range(count)]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError('"words" must be a list of strings, and "kept" needs it')
    for i, word in enumerate(words, start=1):
        if not word:
            raise ValueError(f"word {i} is empty")
        if bad := _NEVER_IN_A_WORD.search(word):
            raise ValueError(f"word {i} holds {bad[0]!r}; a word cannot (blank, line end, NUL or half a character)")
    return words


def _kept(found: dict[str, Any], count: int) -> list[int]:
    """The indices of the words that have a distance, all ``count`` of them if the line does not say."""
    kept = found.get("kept")
    if kept is None:
        return list(range(count))
    if not isinstance(kept, list) or any(type(i) is not int for i in kept) or kept != sorted(set(kept)):
        raise ValueError('"kept" must be ascending indices of words')
    if kept and not 0 <= kept[0] <= kept[-1] < count:
        wrong = kept[0] if kept[0] < 0 else kept[-1]
        raise ValueError(f'"kept" names word {wrong}, but there are {count} words, counted from 0')
    return kept
