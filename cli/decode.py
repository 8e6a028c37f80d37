"""``synparse decode``: from distances to trees, without a model."""

from __future__ import annotations

import json
from typing import Any

import click

from cli.output import opened
from treebank.errors import SynparseError, TreebankError

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
    except ValueError as error:
        raise TreebankError(path, number, f"not a line of JSON ({error})") from None
    if not isinstance(found, dict) or not _numbers(found.get("distances")):
        raise TreebankError(path, number, 'expected an object with "distances", a list of numbers')
    distances = [float(value) for value in found["distances"]]
    words = found.get("words")
    kept = found.get("kept")
    if words is None:
        words = [f"w{i}" for i in range(len(distances))] if kept is None else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TreebankError(path, number, '"words" must be a list of strings, and "kept" needs it')
    kept = list(range(len(words))) if kept is None else kept
    if not isinstance(kept, list) or any(type(i) is not int for i in kept) or kept != sorted(set(kept)):
        raise TreebankError(path, number, '"kept" must be ascending indices of words')
    if kept and not 0 <= kept[0] <= kept[-1] < len(words):
        raise TreebankError(path, number, f'"kept" names word {kept[-1]}, but there are {len(words)} words')
    if len(kept) != len(distances):
        raise TreebankError(path, number, f"{len(distances)} distances for {len(kept)} words; one per word is needed")
    if any(not word or set(word) & set(" \t\n") for word in words):
        raise TreebankError(path, number, "a word is empty or holds a space, tab or line end")
    return Reading(words, kept, distances), str(found.get("decoder", DEFAULT_DECODER))


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
