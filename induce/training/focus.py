"""Trees of other parsers that a grammar is focused on while it learns (after Park and Kim 2024), or heads.

Each of the references is a run, which parses the training text here, or a file of trees or heads over that text. A run
may be followed by ``:DECODER``, so that one model can give trees of several kinds. Nothing of a treebank is read unless
a file of its trees is named, and then the model's facts say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from induce.registry import DECODERS, Output
from induce.storage.locate import PathType, locate
from induce.structures import HeadDistribution
from induce.workers.pool import cores, in_copies
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree

if TYPE_CHECKING:
    from induce.parsing.parser import StructureParser

Found = TypeVar("Found")
PARSED, GOLD = "parsed", "gold"
CHUNK, CHUNKS = 500, 64  # sentences that a process parses at a time, and how many such parts are in memory
PLAIN_TAGS = {"W", "X", ""}  # of words in trees that parsers write


def references_of(
    names: Sequence[str], *, device: str = "auto"
) -> Callable[[Iterable[Sentence]], Iterator[Sequence[Tree]]]:
    """What gives, for sentences in order, one tree over all the words of each by every reference.

    Raises SynparseError for a run or file that is not there, or whose decoder gives heads.
    """
    parsers = {name: _parser(name, device) for name in names if not is_file(name)}

    return lambda sentences: zip(*_given(names, parsers, sentences, _trees, _read), strict=True)


def head_references_of(
    names: Sequence[str], *, device: str = "auto"
) -> Callable[[Iterable[Sentence]], Iterator[np.ndarray]]:
    """What gives, for sentences in order, the head distributions (N, N) over all the words of each, the mean of all
    references; on the diagonal that a word is the root.

    Raises SynparseError for a run or file that is not there, or that gives trees.
    """
    parsers = {name: _parser(name, device, "heads") for name in names if not is_file(name)}

    def parsed(sentences: Iterable[Sentence]) -> Iterator[np.ndarray]:
        squares = _given(names, parsers, sentences, _squares, _read_heads)
        return (np.mean(found, axis=0) for found in zip(*squares, strict=True))

    return parsed


def check_development(names: Sequence[str]) -> None:
    """Raises SynparseError for a file: it is about the training text, and development text apart from it needs trees or
    heads, too."""
    for name in filter(is_file, names):
        problem = "this file is about the training text alone, and the development text is apart from that"
        raise SynparseError(f"{name}: {problem}; name a run, or give a TEXT without --dev")


def focus_kind(names: Sequence[str], output: Output = "trees") -> str:
    """``gold trees`` where a treebank is among the references, or a run that learned from one; else ``parsed trees``;
    of ``output`` heads likewise."""
    gold = any(_is_annotated(name) if is_file(name) else _saw_gold(name) for name in names)
    return f"{GOLD if gold else PARSED} {output}"


def is_file(name: str) -> bool:
    """Whether a reference is a file of trees or heads, or parsed text, and not a run."""
    return locate(name).type in (PathType.FILE, PathType.PARSED)


def _parser(name: str, device: str, output: Output = "trees") -> StructureParser:
    from induce.parsing.load import load_parser

    run, decoder = _run_and_decoder(name)
    if locate(run).type in (PathType.MISSING, PathType.TREEBANK):
        raise SynparseError(f"{name}: there is no run and no file of {output} to focus on")
    parser = load_parser(run, device=device, decoder=decoder or None)
    parser.must_give(output, f"name a run that gives {output}")
    return parser


def _given(
    names: Sequence[str],
    parsers: Mapping[str, StructureParser],
    sentences: Iterable[Sentence],
    work: Callable[[StructureParser, Sequence[Sentence]], list[Found]],
    read: Callable[[str, Iterable[Sentence]], Iterator[Found]],
) -> list[Iterator[Found]]:
    """What each reference gives for every sentence: what ``work`` makes of a parser, or what is ``read`` in a file."""
    copies = tee(sentences, len(names))
    return [
        _parse(parsers[name], (Sentence(one.words, one.tags) for one in copy), work)
        if name in parsers
        else read(name, copy)
        for name, copy in zip(names, copies, strict=True)
    ]


def _trees(parser: StructureParser, sentences: Sequence[Sentence]) -> list[Tree]:
    return list(parser.parse(sentences))


def _squares(parser: StructureParser, sentences: Sequence[Sentence]) -> list[np.ndarray]:
    """Head distributions (N, N) over all words; of words that the model does not see rows of zeros."""
    if parser.structure is not HeadDistribution:
        return [_one_hot(heads) for _, heads in parser.parse_heads(sentences)]
    squares = []
    for reading in parser.read(sentences):
        square = np.zeros((len(reading.words), len(reading.words)), dtype=np.float32)
        square[np.ix_(reading.kept, reading.kept)] = reading.scores
        squares.append(square)
    return squares


def _one_hot(heads: Sequence[int]) -> np.ndarray:
    """The distributions of certain heads."""
    square = np.zeros((len(heads), len(heads)), dtype=np.float32)
    square[range(len(heads)), [word if head == ROOT else head for word, head in enumerate(heads)]] = 1
    return square


def _parse(
    parser: StructureParser,
    sentences: Iterator[Sentence],
    work: Callable[[StructureParser, Sequence[Sentence]], list[Found]],
) -> Iterator[Found]:
    """What ``work`` makes of each sentence, in order; done on all cores."""
    count = cores() if getattr(parser, "device", "cpu") == "cpu" else 1
    while block := list(islice(sentences, CHUNK * CHUNKS)):
        chunks = [block[start : start + CHUNK] for start in range(0, len(block), CHUNK)]
        for found in in_copies(lambda chunk: work(parser, chunk), chunks, min(count, len(chunks))):
            yield from found


def _run_and_decoder(name: str) -> tuple[str, str]:
    """RUN and DECODER of ``RUN:DECODER``; of a RUN by itself no decoder."""
    run, colon, decoder = name.rpartition(":")
    return (run, decoder) if colon and decoder in DECODERS else (name, "")


def _saw_gold(name: str) -> bool:
    """Whether a run learned from gold trees, or from a run that did."""
    from induce.parsing.ensemble import Description
    from induce.parsing.load import read_trained

    run = _run_and_decoder(name)[0]
    if locate(run).type is PathType.ENSEMBLE:
        return "gold" in Description.read(Path(run)).learned_from
    facts = read_trained(run).facts
    given = facts.get("trees", {"kind": "parsed", "note": ""})
    if given["kind"] != "parsed" or "gold" in given["note"]:
        return True
    return not facts.get("focus_kind", PARSED).startswith(PARSED)


def _read(path: str, sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """The trees in a file, one over the words of each sentence."""
    from treebank.io.read import read_sentences

    for number, (given, sentence) in enumerate(zip_longest(read_sentences([path]), sentences), start=1):
        tree = given.tree.without_traces() if given and given.tree else None
        if sentence is None or tree is None or len(tree) != len(sentence.words):
            words = " ".join(sentence.words[:8]) if sentence else "the text ends before"
            raise SynparseError(f"{path}: tree {number} is not one of the training text's sentence ({words} …)")
        yield tree


def _read_heads(path: str, sentences: Iterable[Sentence]) -> Iterator[np.ndarray]:
    """The heads in a file, those of each sentence over all its words."""
    from treebank.io.read import read_sentences

    for number, (given, sentence) in enumerate(zip_longest(read_sentences([path]), sentences), start=1):
        heads = given.heads if given else ()
        if sentence is None or not heads or len(heads) != len(sentence.words):
            words = " ".join(sentence.words[:8]) if sentence else "the text ends before"
            raise SynparseError(f"{path}: sentence {number} has not the heads of the training text's ({words} …)")
        yield _one_hot(heads)


def _is_annotated(path: str) -> bool:
    from treebank.io.read import read_sentences

    first = next(iter(read_sentences([path])), None)
    return first is not None and bool(set(first.tags or ()) - PLAIN_TAGS)
