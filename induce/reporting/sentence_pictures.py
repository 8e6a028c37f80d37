"""Pictures of sentences: analyses from brackets, JSON lines, CoNLL-U, models and gold, one picture per sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from treebank.base.errors import SynparseError, TreebankError, UsageError
from treebank.core.head_rules import DEFAULT_RULES, check_labels, find_rules
from treebank.core.relations import with_relations
from treebank.core.sentence import Location, Sentence, Treebank
from treebank.corpora.catalog import files_of, is_name, read_input
from treebank.draw.picture import GOLD, Analysis, Picture, fitted
from treebank.io.formats import BRACKETS, JSON_LINES, TEXT, format_by_suffix
from treebank.io.jsonl import read_objects, tree_of, words_and_indices
from treebank.io.predictions import read_prediction_trees
from treebank.io.read import DEFAULT_INPUT, InputOptions, expand, input_format, read_sentences
from treebank.io.source import STDIN, Source, reads_once

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from induce.parsing.reading import Confidences, Reading

Choose = Callable[[int], bool]  # whether the sentence with this number, from 1, is drawn
FIRST = 100  # number of pictures per file by default
BLOCK_SENTENCES = 16  # sentences that are parsed together


def chosen_numbers(text: str) -> Choose:
    """Test whether a sentence is selected by ``text``, such as ``3,7-9,20-``.

    Raises UsageError if ``text`` is not a list of numbers and ranges.
    """
    ranges: list[tuple[int, float]] = []
    for part in text.replace(" ", "").split(","):
        start, dash, end = part.partition("-")
        if not start.isdecimal() or (end and not end.isdecimal()) or not 1 <= int(start) <= int(end or start):
            raise UsageError(f"--sentences {text!r}: give numbers from 1 and rising ranges, such as 3,7-9,20-")
        ranges.append((int(start), int(end) if end else float("inf") if dash else int(start)))
    return lambda number: any(start <= number <= end for start, end in ranges)


def holds_text(paths: Sequence[str], input_options: InputOptions = DEFAULT_INPUT) -> bool:
    """Whether one of the inputs has neither trees nor heads, which requires a model."""
    return any(not input_format(path, input_options).structure for path in files_of(paths))


def pictures(
    paths: Sequence[str],
    parsers: Sequence[tuple[str, Parser]],
    gold: Treebank | None = None,
    *,
    choose: Choose = lambda number: True,
    input_options: InputOptions = DEFAULT_INPUT,
    head_rules: str | None = None,
) -> Iterator[Picture]:
    """Pictures of the sentences for which ``choose`` is true, in order.

    With ``gold``, every file of ``paths`` contains the analyses of its sentences by one system, and each parser parses
    them. Without ``gold``, the parsers parse the sentences in ``paths``; if there are no parsers, the analyses in the
    files are drawn. ``parsers`` are pairs of a displayed name and a parser. Text is read by the tokenization rule that
    they share. Predicted heads are compared with the heads of gold trees by ``head_rules`` (None: the default ones).
    """
    input_options = replace(input_options, keep_annotation=True)  # glosses are set under the words
    if gold is not None:
        find_rules(head_rules or DEFAULT_RULES)
        return _compared_with_gold(paths, parsers, gold, choose, input_options, head_rules)
    if parsers:
        from induce.parsing.parser import with_rule

        rules = [parser.tokenization for _, parser in parsers]
        purposes = [parser.purpose for _, parser in parsers]
        return _parsed(_words(paths, with_rule(input_options, rules, purposes)), parsers, choose)
    analyses = (
        pair
        for path in paths
        for file in ([path] if is_name(path) else expand([path]))
        for pair in read_analyses(file, input_options=input_options)
    )
    return (Picture(str(number), (each,)) for number, (_, each) in enumerate(analyses, start=1) if choose(number))


def read_analyses(
    path: str, name: str = "", *, input_options: InputOptions = DEFAULT_INPUT
) -> Iterator[tuple[Location, Analysis]]:
    """Every analysis of a file, or of the treebank called ``path``, in order and with its location.

    Raises SynparseError for a file of plain text, and TreebankError with file and line if it cannot be read.
    """
    if is_name(path):
        yield from ((sentence.location, Analysis.of_sentence(sentence, name)) for sentence in read_input([path]))
        return
    form = input_format(path, input_options)
    if form is TEXT:
        where = "standard input" if path == STDIN else path
        remedy = "leave it out, since models (-m) parse the sentences of --gold"
        raise SynparseError(f"{where}: plain text, without trees or heads to compare with gold; {remedy}")
    if form is JSON_LINES:
        for number, value in read_objects(Source(path, input_options.encoding)):
            try:
                yield Location(path, number), Analysis(name, ()) if value is None else analysis_of_line(value, name)
            except (ValueError, SynparseError) as error:
                raise TreebankError(path, number, str(error)) from None
    elif form is BRACKETS and not format_by_suffix(path):
        for predicted in read_prediction_trees(path, encoding=input_options.encoding):
            tree = predicted.bare if predicted.labelled is None else predicted.labelled
            yield Location(predicted.path, predicted.line), Analysis.of_tree(tree, name)
    else:
        for sentence in read_sentences([path], trees=True, input_options=input_options):
            yield sentence.location, Analysis.of_sentence(sentence, name)


def _words(paths: Sequence[str], input_options: InputOptions) -> Iterator[Sentence]:
    """Sentences of text, or of files or treebanks that contain trees or heads."""
    for path in (file for name in paths for file in ([name] if is_name(name) else expand([name]))):
        if is_name(path) or input_format(path, input_options) is not BRACKETS:
            yield from read_input([path], input_options=input_options)
        else:
            for position, analysis in read_analyses(path, input_options=input_options):
                yield Sentence(analysis.words, analysis.tags, location=position)


def _parsed(sentences: Iterable[Sentence], parsers: Sequence[tuple[str, Parser]], choose: Choose) -> Iterator[Picture]:
    numbered = (pair for pair in enumerate(sentences, start=1) if choose(pair[0]))
    while block := list(islice(numbered, BLOCK_SENTENCES)):
        analyses = [analyses_of(parser, [sentence for _, sentence in block], name) for name, parser in parsers]
        for (number, _), several in zip(block, zip(*analyses, strict=True), strict=True):
            yield Picture(str(number), several)


def _compared_with_gold(
    paths: Sequence[str],
    parsers: Sequence[tuple[str, Parser]],
    gold: Treebank,
    choose: Choose,
    input_options: InputOptions,
    head_rules: str | None,
) -> Iterator[Picture]:
    chosen = [(number, sentence) for number, sentence in enumerate(gold.sentences, start=1) if choose(number)]
    numbers = {number for number, _ in chosen}
    systems = [_of_system(path, gold, numbers, input_options) for path in paths]
    systems += [analyses_of(parser, [sentence for _, sentence in chosen], name) for name, parser in parsers]
    if any(analysis.heads for system in systems for analysis in system):
        check_labels((sentence.tree for _, sentence in chosen if not sentence.heads), gold.label)
        if not head_rules and any(sentence.tree and not sentence.heads for _, sentence in chosen):
            input_options.notify(
                f"gold heads are derived by the rules {DEFAULT_RULES}; choose others with --head-rules"
            )
        chosen = [(number, with_relations(sentence, head_rules or DEFAULT_RULES)) for number, sentence in chosen]
    for index, (number, sentence) in enumerate(chosen):
        reference = Analysis.of_sentence(sentence, GOLD)
        if not systems:
            yield Picture(str(number), (reference,))
            continue
        analyses = tuple(fitted(system[index], sentence.location, sentence.words) for system in systems)
        picture = Picture(str(number), analyses, reference)
        picture.check_compared()
        yield picture


def _of_system(path: str, gold: Treebank, numbers: set[int], input_options: InputOptions) -> list[Analysis]:
    """Analyses in a file of the gold sentences with these ``numbers``. The file may also be UTF-8.

    Raises SynparseError if the file does not have as many sentences as ``gold``.
    """
    read: Iterable[tuple[Location, Analysis]] = read_analyses(path, path, input_options=input_options)
    if input_options.encoding and not reads_once(path):
        with suppress(TreebankError):
            read = list(read_analyses(path, path, input_options=replace(input_options, encoding="")))
    analyses, count = [], 0
    for position, analysis in read:
        count += 1
        if count in numbers and count <= len(gold):
            analyses.append(fitted(analysis, position, gold.sentences[count - 1].words))
    if count != len(gold):
        raise SynparseError(f"{path}: {count:,} sentences for the {len(gold):,} of {gold.name}")
    return analyses


def analyses_of(parser: Parser, sentences: Sequence[Sentence], name: str) -> list[Analysis]:
    """Analyses of the sentences by a model: trees or heads, with the distances or probabilities that were decoded."""
    readings = zip(parser.predict(sentences), sentences, strict=True)
    return [analysis_of(reading, parser.decoder, name).glossed(sentence) for reading, sentence in readings]


def analysis_of_line(line: dict[str, Any], name: str) -> Analysis:
    """Analysis in a JSON object of `extract` or `convert`, decoded by the decoder that it names or the default one.

    Raises ValueError or SynparseError if the object is invalid.
    """
    if "spans" in line:
        return of_tree_line(line, name)
    from induce.parsing.reading import from_json

    return analysis_of(*from_json(line), name)


def of_tree_line(value: dict[str, Any], name: str) -> Analysis:
    """The tree of an object with ``spans`` or ``distances``. Raises ValueError if it is malformed."""
    tree = tree_of(value)
    values: Any = value.get("distances")
    if not isinstance(values, list):
        return Analysis.of_tree(tree, name)
    words, indices = words_and_indices(value, len(values), "distances")
    return Analysis(name, tuple(words), (), tree, distances=spread(values, indices, len(words)))


def analysis_of(reading: Reading, decoder: str, name: str) -> Analysis:
    """Analysis of a sentence by the system ``name``, decoded by ``decoder``.

    If a model of characters gives distances or probabilities, spaces are leaves, too, because they have gaps on both
    sides (figure 4 of PRPN).
    """
    drawn = replace(reading, token="word") if reading.structure.drawn_numbers(reading.row) else reading
    return confident_analysis(drawn, decoder, name)[0]


def confident_analysis(
    reading: Reading, decoder: str, name: str, points: Sequence[tuple[float, float]] = ()
) -> tuple[Analysis, Confidences]:
    """Analysis as of `analysis_of`, with the confidence in each bracket of its tree or in each head.

    ``points`` is the map from scores to confidences of the parser (`Parser.confidence`).
    """
    from induce.decoding import specification

    decode, words = specification.decoder(decoder), tuple(reading.leaves)
    if specification.decoder_entry(decoder).gives == "trees":
        tree, confidences = reading.confident_tree(decode(reading.scores), points=points)
        analysis = Analysis(name, words, (), tree, **_numbers(reading))
        return replace(analysis, splits_highest=decoder == "unbiased"), confidences
    decoded = decode(reading.scores)
    heads = tuple(reading.all_heads(decoded))
    return Analysis(name, words, heads=heads, **_numbers(reading)), reading.head_confidences(decoded)


def _numbers(reading: Reading) -> dict[str, Any]:
    """Distances or head probabilities of all words, or an empty dictionary if the model returns neither."""
    count, row = len(reading.words), reading.row
    if len(reading.leaves) < count:
        return {}  # spaces are not leaves here, but have numbers
    spreads: dict[str, Any] = {"distances": spread, "probabilities": spread_square}
    numbers = reading.structure.drawn_numbers(row)
    return {name: spreads[name](values, reading.indices, count) for name, values in numbers.items()}


def spread(values: Sequence[float], indices: Sequence[int], count: int) -> tuple[float, ...]:
    """The values of the words with ``indices`` as values of all ``count`` words, NaN for the others."""
    spread_values = [math.nan] * count
    for i, value in zip(indices, values, strict=True):
        spread_values[i] = float(value)
    return tuple(spread_values)


def spread_square(rows: Sequence[Sequence[float]], indices: Sequence[int], count: int) -> tuple[tuple[float, ...], ...]:
    """A square of probabilities over all ``count`` words, 0 for words that the model did not receive."""
    spread_values = [[0.0] * count for _ in range(count)]
    for i, row in zip(indices, rows, strict=True):
        for other, value in zip(indices, row, strict=True):
            spread_values[i][other] = float(value)
    return tuple(map(tuple, spread_values))
