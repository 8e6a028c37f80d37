"""``synparse parse``: one sentence a line in, one tree a line out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import (
    decoder_option,
    default_model,
    device_option,
    distances_option,
    inputs,
    layer_option,
    note,
    priors_option,
    reading_options,
)
from cli.output import drawing, opened
from cli.status import Lines, Meter

if TYPE_CHECKING:
    from treebank.base.errors import TreebankError
    from treebank.core.sentence import Sentence
    from treebank.draw.picture import Analysis
    from treebank.io.read import InputOptions

LARGEST_DRAWING = 200  # words; a picture of more is wider than anything it could be looked at on


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model: ./synparse-model, or what is built in.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--output-dir", metavar="DIR", help="Write a file into DIR for each file of INPUT.")
@click.option("--resume", is_flag=True, help="With --output-dir: go on where a broken-off call stopped.")
@click.option("--engine", type=click.Choice(["processes", "ray"]), help="With --output-dir: parse in shards, by these.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="How many parse at a time; as many as cores.")
@click.option(
    "--address", metavar="HOST:PORT", help="With --engine ray: a cluster that runs; else one is started here."
)
@click.option("--skip-bad", is_flag=True, help="Write an empty line for a broken sentence, tell of each, and go on.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["brackets", "jsonl", "drawing", "conllu"]),
    help="Of trees: brackets (the default), jsonl or drawing; of heads: conllu (the default) or drawing.",
)
@reading_options
@decoder_option
@layer_option
@distances_option
@priors_option
@device_option
def parse(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    output_dir: str | None,
    resume: bool,
    engine: str | None,
    workers: int | None,
    address: str | None,
    skip_bad: bool,
    form: str | None,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Parse text: one sentence a line in, one tree a line out, in order.

    INPUT are files, folders, patterns or - for standard input, which is also read when none is named. An empty line
    gives an empty line. With --tokenize, every sentence found gives a line. A model of heads gives CoNLL-U.
    """
    if output and output_dir:
        raise click.UsageError("--output and --output-dir exclude each other")
    if resume and not output_dir:
        raise click.UsageError("--resume goes with --output-dir")
    if (engine or workers) and not output_dir:
        raise click.UsageError("--engine and --workers go with --output-dir")
    if address and engine != "ray":
        raise click.UsageError("--address goes with --engine ray")
    from induce.parsing.load import load_parser
    from induce.parsing.writer import Job, parse_into
    from treebank.io.expand import expand
    from treebank.io.output_path import check_output

    paths = inputs(input)
    files = expand(paths)  # a misspelt path is told before a model is loaded
    check_output(output, paths)
    parser = load_parser(run or default_model(), tell=note, **parsing)
    form = form or ("conllu" if parser.output == "heads" else "brackets")
    if form == "conllu":
        parser.must_give("heads", "another --format")
    elif form != "drawing":
        parser.must_give("trees", "--format conllu")
    skipped = _Skipped()
    lines = Lines(files)
    meter = Meter("parsing", results_shown=not output and not output_dir and sys.stdout.isatty())
    job = Job(
        parser,
        form,
        parser.input_options(input_options),
        draw=_drawing if form == "drawing" else None,
        on_bad=skipped if skip_bad else None,
        watch=lambda place: meter.step(lambda: lines.share(*place)),
    )
    try:
        if output_dir and (engine or workers):
            from induce.workers.batch import parse_in_shards
            from induce.workers.engines import engine_called

            make_engine = engine_called(engine or "processes", workers, address)
            written = parse_in_shards(output_dir, paths, job, make_engine, resume=resume, tell=meter.say)
        elif output_dir:
            written = parse_into(output_dir, paths, job, resume=resume, tell=meter.say)
        else:
            written = 0
            with opened(output) as write:
                for line in job.lines(paths):
                    write(line)
                    written += 1
    finally:
        meter.end()
    if skipped.count:
        click.echo(f"{skipped.count:,} of {written:,} sentences were broken and left empty", err=True)


class _Skipped:
    """Tells of each broken sentence, and keeps only their number: there may be millions."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: TreebankError) -> None:
        self.count += 1
        click.echo(f"skipped: {error}", err=True)


def _drawing(analysis: Analysis, sentence: Sentence) -> str:
    """A picture made of characters, an empty line behind it; a tree that is too large stands in brackets."""
    count = len(analysis.words)
    if count > LARGEST_DRAWING and analysis.tree is not None:
        note = f"{sentence.place}: {count:,} words are too many to draw; the tree stands in brackets"
        click.echo(f"note: {note}", err=True)
        return f"{analysis.tree}\n"
    return drawing(analysis) + "\n"
