"""What is to be drawn of sentences: files of analyses, models, and gold, one picture a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, Treebank
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.reading import fitted, of_json, read_analyses, spread, spread_square
from treebank.io.expand import expand
from treebank.io.formats import BRACKETS, JSON_LINES, TEXT, detect
from treebank.io.read import DEFAULT_INPUT, InputOptions, read_sentences

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from induce.parsing.reading import Reading

Choose = Callable[[int], bool]  # whether the sentence with this number, from 1, is drawn
FIRST = 100  # pictures of a file, unless others are chosen


def chosen_numbers(text: str) -> Choose:
    """``3,7-9,20-`` as a choice of numbers. Raises SynparseError for what is none."""
    ranges: list[tuple[int, float]] = []
    for part in text.replace(" ", "").split(","):
        start, dash, end = part.partition("-")
        if not start.isdecimal() or (end and not end.isdecimal()) or int(start) < 1:
            raise SynparseError(f"sentences {text!r}: give numbers from 1 and ranges, such as 3,7-9,20-")
        ranges.append((int(start), int(end) if end else float("inf") if dash else int(start)))
    return lambda number: any(start <= number <= end for start, end in ranges)


def holds_text(paths: Sequence[str]) -> bool:
    """Whether any of these inputs is plain text, which needs a model."""
    return any(detect(path) is TEXT for path in expand(paths))


def pictures(
    paths: Sequence[str],
    parsers: Sequence[tuple[str, Parser]],
    gold: Treebank | None = None,
    *,
    choose: Choose = lambda number: True,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Iterator[Picture]:
    """One picture a sentence, in order; only of those that ``choose`` wants.

    With ``gold``, every file of ``paths`` is a system's analyses of its sentences, and each parser parses them.
    Without, the parsers parse what is in ``paths``; where there is no parser, what the files hold is drawn.
    ``parsers`` come with the names they are shown by. Text is read as the first of them requires.
    """
    if gold is not None:
        return _beside_gold(paths, parsers, gold, choose)
    if parsers:
        return _parsed(_words(paths, parsers[0][1].input_options(input_options)), parsers, choose)
    return _files(paths, choose)


def _files(paths: Sequence[str], choose: Choose) -> Iterator[Picture]:
    analyses = (found for path in expand(paths) for found in read_analyses(path, analyse=analysis_of_line))
    for number, (_, analysis) in enumerate(analyses, start=1):
        if choose(number):
            yield Picture(str(number), (analysis,))


def _words(paths: Sequence[str], input_options: InputOptions) -> Iterator[Sentence]:
    """The sentences of text, or of files that hold trees or heads."""
    for path in expand(paths):
        if detect(path) not in (BRACKETS, JSON_LINES):
            yield from read_sentences([path], input_options=input_options)
        else:
            for place, analysis in read_analyses(path, analyse=analysis_of_line):
                yield Sentence(analysis.words, analysis.tags, place=place)


def _parsed(
    sentences: Iterable[Sentence], parsers: Sequence[tuple[str, Parser]], choose: Choose, wanted: int = 16
) -> Iterator[Picture]:
    numbered = ((number, one) for number, one in enumerate(sentences, start=1) if choose(number))
    while block := list(islice(numbered, wanted)):
        analyses = [analyses_of(parser, [one for _, one in block], name) for name, parser in parsers]
        for (number, _), several in zip(block, zip(*analyses, strict=True), strict=True):
            yield Picture(str(number), several)


def _beside_gold(
    paths: Sequence[str], parsers: Sequence[tuple[str, Parser]], gold: Treebank, choose: Choose
) -> Iterator[Picture]:
    chosen = [(number, one) for number, one in enumerate(gold.sentences, start=1) if choose(number)]
    numbers = {number for number, _ in chosen}
    systems = [_fitted(path, gold, numbers) for path in paths]
    systems += [analyses_of(parser, [one for _, one in chosen], name) for name, parser in parsers]
    for index, (number, sentence) in enumerate(chosen):
        reference = Analysis.of_sentence(sentence, GOLD)
        if not systems:
            yield Picture(str(number), (reference,))
            continue
        analyses = tuple(fitted(system[index], sentence.place, sentence.words) for system in systems)
        yield Picture(str(number), analyses, reference)


def _fitted(path: str, gold: Treebank, numbers: set[int]) -> list[Analysis]:
    """The analyses of one file of the chosen sentences of gold. Raises SynparseError if there are more or fewer."""
    found = []
    count = 0
    for place, analysis in read_analyses(path, path, analyse=analysis_of_line):
        count += 1
        if count in numbers and count <= len(gold):
            found.append(fitted(analysis, place, gold.sentences[count - 1].words))
    if count != len(gold):
        raise SynparseError(f"{path}: {count:,} sentences for the {len(gold):,} of {gold.name}")
    return found


def analyses_of(parser: Parser, sentences: Sequence[Sentence], name: str) -> list[Analysis]:
    """What a model says of each sentence: tree or heads, and the distances or probabilities that they come from."""
    readings = parser.read(sentences)
    if parser.output == "heads":
        pairs = zip(parser.parse_heads(sentences), readings, strict=True)
        return [
            Analysis(name, tuple(words), heads=tuple(heads), **_numbers(reading)) for (words, heads), reading in pairs
        ]
    trees = zip(parser.parse(sentences), readings, strict=True)
    return [Analysis(name, tree.words, (), tree, **_numbers(reading)) for tree, reading in trees]


def analysis_of_line(found: dict[str, Any], name: str) -> Analysis:
    """What an object of `extract` or `convert` says, decoded by the decoder that it names or the usual one.

    Raises ValueError or SynparseError that says what is wrong with it.
    """
    if "spans" in found:
        return of_json(found, name)
    from induce.parsing.reading import from_json
    from induce.registry import decoder, decoder_entry

    reading, chosen = from_json(found)
    numbers = _numbers(reading)
    if decoder_entry(chosen).gives == "heads":
        heads = tuple(reading.heads(decoder(chosen)))
        return Analysis(name, tuple(reading.leaves), heads=heads, **numbers)
    return Analysis(name, tuple(reading.leaves), (), reading.tree(decoder(chosen)), **numbers)


def _numbers(reading: Reading) -> dict[str, Any]:
    """Distances or head probabilities of all words, where that is what the model gives."""
    count, kept, row = len(reading.words), reading.kept, reading.row
    if len(reading.leaves) < count:
        return {}  # the gaps on both sides of a space would stand for one
    spreads: dict[str, Any] = {"distances": spread, "probabilities": spread_square}
    numbers = reading.structure.drawn_numbers(row)
    return {name: spreads[name](values, kept, count) for name, values in numbers.items()}
