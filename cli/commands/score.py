"""``synparse score``: how probable each sentence is to a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from cli.help import command
from cli.options import default_model, device_option, inputs, reading_options
from cli.output import opened
from cli.status import reading
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.likelihood.sentences import SentenceScore
    from treebank.io.read import InputOptions


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--words", "form", flag_value="words", help="A line a word: the word, its surprisal in bits.")
@click.option("--json", "form", flag_value="json", help="A JSON line a sentence, surprisals included.")
@reading_options
@device_option
def score(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    form: str | None,
    input_options: InputOptions,
    device: str,
) -> None:
    """Write how probable each sentence is: its log-probability in nats, its words and its unknown words.

    The three stand in one line with tabs between them; words are counted after the model's normalisation. Every
    sentence is read by itself. Of a model of masked words the first is the pseudo-log-likelihood: each word in turn is
    masked. A sentence without a word has "-" there.
    """
    from induce.likelihood.sentences import SentenceScorer
    from treebank.io.expand import expand
    from treebank.io.output_path import check_output
    from treebank.io.read import read_sentences

    paths = inputs(input)
    files = expand(paths)  # a misspelt path is told before a model is loaded
    check_output(output, paths)
    scorer = SentenceScorer(run or default_model(), device=device)
    if form == "words" and not scorer.gives_words:
        raise SynparseError(f"model {scorer.name!r} has probabilities of sentences, not of words; leave out --words")
    line = LINES[form or "sentence"]
    options, shown = scorer.input_options(input_options), not output and sys.stdout.isatty()
    with opened(output) as write, reading("scoring", files, options, results_shown=shown) as counted:
        for one in scorer.score(read_sentences(paths, input_options=counted)):
            write(line(one))


def _sentence(score: SentenceScore) -> str:
    value = "-" if score.log_probability is None else f"{score.log_probability:.4f}"
    return f"{value}\t{len(score.sentence.words)}\t{score.sentence.unknown}"


def _words(score: SentenceScore) -> str:
    """A line for each word, with ``<unk>`` behind those that are not in the vocabulary; then a blank line."""
    rows = zip(score.surprisals, [*score.sentence.is_unknown, False], strict=False)
    return "".join(f"{word}\t{bits:.4f}" + "\t<unk>" * is_unknown + "\n" for (word, bits), is_unknown in rows)


def _json(score: SentenceScore) -> str:
    return json.dumps(score.to_json(), ensure_ascii=False)


LINES: dict[str, Callable[[SentenceScore], str]] = {"sentence": _sentence, "words": _words, "json": _json}
