"""``synparse parse``: one sentence per line in, one tree per line out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.options import (
    OUTPUT,
    SkippedSentences,
    decoder_option,
    default_model,
    device_option,
    distances_option,
    format_option,
    input_paths,
    layer_option,
    model_option,
    note,
    on_error_option,
    output_option,
    priors_option,
    reading_options,
)
from cli.output import drawing, open_output
from cli.progress import Counter, FilePositions

if TYPE_CHECKING:
    from treebank.core.sentence import Sentence
    from treebank.draw.picture import Analysis
    from treebank.io.read import InputOptions

MAX_DRAWN_WORDS = 200

EXAMPLES = [
    ("synparse parse -m mine input.txt > trees.txt", "Write one tree per line of the input."),
    (
        "synparse parse -m mine --tokenizer english book.txt --format jsonl -o b.jsonl",
        "Parse raw text; write words, spans and character offsets as JSON lines.",
    ),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@model_option
@decoder_option
@layer_option
@distances_option
@priors_option
@device_option
@reading_options
@on_error_option("stop", "blank")
@output_option
@format_option(
    "brackets",
    "jsonl",
    "drawing",
    "conllu",
    help="Output format: brackets (default), jsonl or drawing for trees; conllu (default) or drawing for heads.",
)
@option("--output-dir", metavar="DIR", help="Write one output file into DIR for each input file.", group=OUTPUT)
@option("--resume", is_flag=True, help="With --output-dir: continue an interrupted job.")
@option(
    "--engine", type=click.Choice(["processes", "ray"]), help="With --output-dir: parse in parallel with this engine."
)
@option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Number of parallel workers (default: number of cores)."
)
@option("--address", metavar="HOST:PORT", help="With --engine ray: address of a running cluster.")
def parse(
    input: Sequence[str],
    model: str | None,
    output: str | None,
    output_dir: str | None,
    resume: bool,
    engine: str | None,
    workers: int | None,
    address: str | None,
    on_error: str,
    form: str | None,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Parse text: one sentence per line in, one tree per line out, in the same order.

    INPUT is any number of files, folders or patterns, or - for standard input (the default). An empty line gives an
    empty line. With --tokenizer, each sentence found in the raw text gives one line. A model of dependency heads
    writes CoNLL-U.
    """
    _check_usage(output, output_dir, resume, engine, workers, address)
    from induce.parsing.load import load_parser
    from induce.parsing.writer import Job, parse_into
    from induce.storage.outputs import check_output
    from treebank.io.expand import expand

    paths = input_paths(input)
    files = expand(paths)  # a wrong path is reported before a model is loaded
    model = default_model(model)
    check_output(output, inputs=paths, models=[model])
    parser = load_parser(model, tell=note, **parsing)
    form = form or ("conllu" if parser.output == "heads" else "brackets")
    if form == "conllu":
        parser.must_give("heads", "another --format")
    elif form != "drawing":
        parser.must_give("trees", "--format conllu")
    skipped, positions = SkippedSentences(), FilePositions(files)
    counter = Counter("parsing", hidden=not output and not output_dir and sys.stdout.isatty())
    job = Job(
        parser,
        form,
        parser.input_options(input_options),
        draw=_drawing if form == "drawing" else None,
        on_bad=skipped if on_error == "blank" else None,
        watch=lambda position: counter.step(positions.fraction(*position)),
    )
    try:
        if output_dir and (engine or workers):
            from induce.workers.batch import parse_in_shards
            from induce.workers.engines import engine_called

            make_engine = engine_called(engine or "processes", workers, address)
            written = parse_in_shards(output_dir, paths, job, make_engine, resume=resume, tell=counter.print)
        elif output_dir:
            written = parse_into(output_dir, paths, job, resume=resume, tell=counter.print)
        else:
            written = 0
            with open_output(output) as write:
                for line in job.lines(paths):
                    write(line)
                    written += 1
    finally:
        counter.close()
    if skipped.count:
        click.echo(f"{skipped.count:,} of {written:,} sentences were malformed; their lines are empty", err=True)


def _check_usage(
    output: str | None,
    output_dir: str | None,
    resume: bool,
    engine: str | None,
    workers: int | None,
    address: str | None,
) -> None:
    """Raises UsageError if options exclude each other or a required option is missing."""
    if output and output_dir:
        raise click.UsageError("--output and --output-dir exclude each other")
    if resume and not output_dir:
        raise click.UsageError("--resume requires --output-dir")
    if (engine or workers) and not output_dir:
        raise click.UsageError("--engine and --workers require --output-dir")
    if address and engine != "ray":
        raise click.UsageError("--address requires --engine ray")


def _drawing(analysis: Analysis, sentence: Sentence) -> str:
    """One analysis drawn with characters, or in brackets if the tree is too large, and an empty line."""
    count = len(analysis.words)
    if count > MAX_DRAWN_WORDS and analysis.tree is not None:
        note(f"{sentence.place}: {count:,} words are too many to draw; the tree is written as brackets")
        return f"{analysis.tree}\n"
    return drawing(analysis) + "\n"
