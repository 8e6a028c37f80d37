"""Trees of other parsers that a grammar is focused on while it learns (after Park and Kim 2024).

Each of the references is a run, which parses the training text here, or a file of trees over that text. A run may be
followed by ``:DECODER``, so that one model can give trees of several kinds. Nothing of a treebank is read unless a file
of its trees is named, and then the model's facts say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from induce.processes import cores, in_copies
from induce.registry import DECODERS
from treebank.errors import SynparseError
from treebank.sentence import Sentence
from treebank.tree import Tree

if TYPE_CHECKING:
    from induce.parsing.parser import StructureParser

PARSED, GOLD = "parsed trees", "gold trees"
CHUNK, CHUNKS = 500, 64  # sentences that a process parses at a time, and how many such parts are in memory
PLAIN_TAGS = {"W", "X", ""}  # of words in trees that parsers write


def references_of(
    names: Sequence[str], *, device: str = "auto"
) -> Callable[[Iterable[Sentence]], Iterator[Sequence[Tree]]]:
    """What gives, for sentences in order, one tree over all the words of each by every reference.

    Raises SynparseError for a run or file that is not there, or whose decoder gives heads.
    """
    parsers = {name: _parser(name, device) for name in names if not is_file(name)}

    def parsed(sentences: Iterable[Sentence]) -> Iterator[Sequence[Tree]]:
        copies = tee(sentences, len(names))
        trees = [
            _parse(parsers[name], (Sentence(one.words, one.tags) for one in copy))
            if name in parsers
            else _read(name, copy)
            for name, copy in zip(names, copies, strict=True)
        ]
        return zip(*trees, strict=True)

    return parsed


def focus_kind(names: Sequence[str]) -> str:
    """Gold trees where a treebank is among the references, or a run that learned from one; else parsed trees."""
    return GOLD if any(_is_annotated(name) if is_file(name) else _saw_gold(name) for name in names) else PARSED


def is_file(name: str) -> bool:
    """Whether a reference is a file of trees, and not a run."""
    return Path(name).is_file()


def _parser(name: str, device: str) -> StructureParser:
    from induce.parsing.load import load_parser

    run, decoder = _run_and_decoder(name)
    if not Path(run).exists():
        raise SynparseError(f"{name}: there is no run and no file of trees to focus on")
    parser = load_parser(run, device=device, decoder=decoder or None)
    parser.must_give("trees", "name a run that gives trees")
    return parser


def _parse(parser: StructureParser, sentences: Iterator[Sentence]) -> Iterator[Tree]:
    """A tree for each sentence, in order; made on all cores."""
    count = cores() if getattr(parser, "device", "cpu") == "cpu" else 1
    while block := list(islice(sentences, CHUNK * CHUNKS)):
        chunks = [block[start : start + CHUNK] for start in range(0, len(block), CHUNK)]
        for trees in in_copies(lambda chunk: list(parser.parse(chunk)), chunks, min(count, len(chunks))):
            yield from trees


def _run_and_decoder(name: str) -> tuple[str, str]:
    """RUN and DECODER of ``RUN:DECODER``; of a RUN by itself no decoder."""
    run, colon, decoder = name.rpartition(":")
    return (run, decoder) if colon and decoder in DECODERS else (name, "")


def _saw_gold(name: str) -> bool:
    """Whether a run learned from gold trees, or from a run that did."""
    from induce.checkpoint import ENSEMBLE
    from induce.parsing.ensemble import Description
    from induce.parsing.load import read_trained

    run = _run_and_decoder(name)[0]
    if (Path(run) / ENSEMBLE).exists():
        return "gold" in Description.read(Path(run)).learned_from
    facts = read_trained(run).facts
    given = facts.get("trees", {"kind": "parsed", "note": ""})
    if given["kind"] != "parsed" or "gold" in given["note"]:
        return True
    return facts.get("focus_kind", PARSED) != PARSED


def _read(path: str, sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """The trees in a file, one over the words of each sentence."""
    from treebank.formats import read_sentences

    for number, (given, sentence) in enumerate(zip_longest(read_sentences([path]), sentences), start=1):
        tree = given.tree.without_traces() if given and given.tree else None
        if sentence is None or tree is None or len(tree) != len(sentence.words):
            words = " ".join(sentence.words[:8]) if sentence else "the text ends before"
            raise SynparseError(f"{path}: tree {number} is not one of the training text's sentence ({words} …)")
        yield tree


def _is_annotated(path: str) -> bool:
    from treebank.formats import read_sentences

    first = next(iter(read_sentences([path])), None)
    return first is not None and bool(set(first.tags or ()) - PLAIN_TAGS)
