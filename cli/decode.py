"""``synparse decode``: from distances to trees, from head distributions to heads, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from cli.output import opened
from treebank.errors import SynparseError, TreebankError
from treebank.formats.jsonl import words_and_kept

if TYPE_CHECKING:
    from induce.parsing.parser import HeadReading, HeightReading, Reading, StackReading

DEFAULT_DECODERS = {
    "distances": "unbiased",
    "heads": "chu-liu-edmonds",
    "heights": "heights",
    "stack": "shift-reduce",
}  # where neither the line nor the user names one


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", default="-")
@click.option(
    "--decoder",
    metavar="NAME",
    help="Of distances unbiased, biased or nary, of heads chu-liu-edmonds, eisner, argmax or heads-to-tree, of "
    "heights heights, of a stack shift-reduce; by default the one that a line names, else the first of these.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def decode(file: str, decoder: str | None, output: str | None) -> None:
    """Turn the JSON lines of `synparse extract` into trees, one a line, or into CoNLL-U where they hold heads.

    A line needs only "distances": one number per word, the gap before it; or "heads": a row per word, how probable
    each word is as its head; or "heights": a pair per word, the gap before it and its height; or "stack": the
    number of a slot per word. Without "words", words are called w0 w1 …
    """
    from induce.registry import structure_of
    from treebank.formats import open_lines

    if decoder:
        structure_of(decoder)  # a misspelt name is told before any line is read
    with opened(output) as write:
        for number, line in open_lines(file):
            if not line.strip(" \t"):
                write("")
                continue
            try:
                write(_decoded(_object(line), decoder))
            except (ValueError, SynparseError) as error:
                raise TreebankError(file, number, str(error)) from None


def _object(line: str) -> dict[str, Any]:
    """The JSON object in one line. Raises ValueError if there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a line of JSON ({error}); `synparse extract` writes what is read here") from None
    if not isinstance(found, dict) or not DEFAULT_DECODERS.keys() & found:
        raise ValueError(
            'expected an object with "distances", a list of numbers, or with "heads", a list of such lists, '
            'or with "heights", a list of pairs of numbers, or with "stack", a list of whole numbers'
        )
    return found


def _decoded(found: dict[str, Any], chosen: str | None) -> str:
    """The tree or the CoNLL-U lines of one object. Raises ValueError or SynparseError that says what is wrong."""
    from induce.parsing.parser import heads_of, tree_of
    from induce.registry import decoder, output_of, structure_of
    from treebank.formats.writers import conllu_lines

    given = [name for name in DEFAULT_DECODERS if name in found]
    named = chosen or found.get("decoder")
    structure = structure_of(str(named)) if named and structure_of(str(named)) in given else given[0]
    name = str(named or DEFAULT_DECODERS[structure])
    if structure_of(name) != structure:
        fitting = DEFAULT_DECODERS[structure]
        raise ValueError(
            f"decoder {name!r} needs {structure_of(name)}, and this line has {structure} (try {fitting!r})"
        )
    if structure == "distances":
        return str(tree_of(_distances(found), decoder(name)))
    if structure == "stack":
        return str(tree_of(_stack(found), decoder(name)))
    reading = _heights(found) if structure == "heights" else _heads(found)
    if output_of(name) == "trees":
        return str(tree_of(reading, decoder(name)))
    return conllu_lines(reading.words, heads_of(reading, decoder(name)))


def _distances(found: dict[str, Any]) -> Reading:
    from induce.parsing.parser import Reading

    values = found["distances"]
    if not _all_numbers(values):
        raise ValueError('expected an object with "distances", a list of numbers')
    return Reading(*words_and_kept(found, len(values), "distances"), _floats(values, "distances"))


def _stack(found: dict[str, Any]) -> StackReading:
    from induce.parsing.parser import StackReading

    slots = found["stack"]
    if not isinstance(slots, list) or any(type(slot) is not int for slot in slots):
        raise ValueError('expected an object with "stack", a list of whole numbers')
    return StackReading(*words_and_kept(found, len(slots), "slots"), slots)


def _heights(found: dict[str, Any]) -> HeightReading:
    from induce.parsing.parser import HeightReading

    pairs = found["heights"]
    if not isinstance(pairs, list) or not all(_all_numbers(pair) and len(pair) == 2 for pair in pairs):
        raise ValueError('expected an object with "heights", a list of pairs of numbers: gap before the word, height')
    words, kept = words_and_kept(found, len(pairs), "heights")
    return HeightReading(words, kept, [_floats(pair, "heights") for pair in pairs])


def _heads(found: dict[str, Any]) -> HeadReading:
    from induce.parsing.parser import HeadReading

    rows = found["heads"]
    if not isinstance(rows, list) or not all(map(_all_numbers, rows)):
        raise ValueError('expected an object with "heads", a list of lists of numbers')
    words, kept = words_and_kept(found, len(rows), "rows of heads")
    return HeadReading(words, kept, [_floats(row, "heads") for row in rows])


def _all_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) in (int, float) for value in values)


def _floats(values: list[float], name: str) -> list[float]:
    try:
        return list(map(float, values))
    except OverflowError:
        raise ValueError(f'"{name}" holds a whole number that is too large') from None
