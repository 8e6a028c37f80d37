"""``synparse parse``: one sentence per line in, one tree per line out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, number_option, option
from cli.options import (
    OUTPUT,
    SkippedSentences,
    default_model,
    format_option,
    label_options,
    label_seed,
    model_option,
    not_empty,
    note,
    on_error_option,
    output_option,
    parsing_options,
    reading_options,
)
from cli.output import drawing
from cli.progress import reading
from cli.text_call import TextCall
from induce.storage import builtin
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from induce.parsing.writer import Job
    from treebank.core.sentence import Sentence
    from treebank.io.read import InputOptions

MAX_DRAWN_WORDS = 200
MAX_TREES = 10_000  # of a sentence; their charts need memory in proportion

EXAMPLES = [
    ("synparse parse -m mine input.txt > trees.txt", "Write one tree per line of the input."),
    (
        "synparse parse -m mine --tokenizer english book.txt --format jsonl -o b.jsonl",
        "Parse raw text; write words, spans and character offsets as JSON lines.",
    ),
    ("synparse parse -m mine input.txt --min-confidence 0.5 -o sure.txt", "Leave out doubtful phrases."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@model_option
@parsing_options
@reading_options
@on_error_option("stop", "blank")
@output_option
@format_option(
    "brackets",
    "jsonl",
    "drawing",
    "conllu",
    help="Output format: brackets (default), jsonl or drawing for trees; conllu (default), jsonl or drawing for heads.",
)
@option(
    "--min-confidence",
    type=float,
    metavar="P",
    help="Leave out phrases with a confidence below P, so that their parts join the phrase above.",
    group=OUTPUT,
)
@option(
    "--mark-confidence",
    is_flag=True,
    help="Write the confidence into the labels of brackets (X=0.93), or into MISC of CoNLL-U (Confidence=0.93).",
    group=OUTPUT,
)
@number_option(
    "--k",
    high=MAX_TREES,
    help="Write the N best trees of each sentence with their scores, as JSON lines.",
    group=OUTPUT,
)
@label_options("the parsed text", OUTPUT)
@option(
    "--output-dir",
    metavar="DIR",
    callback=not_empty,
    help="Write one output file into DIR for each input file.",
    group=OUTPUT,
)
@option("--resume", is_flag=True, help="With --output-dir: continue an interrupted job.")
@option(
    "--engine", type=click.Choice(["processes", "ray"]), help="With --output-dir: parse in parallel with this engine."
)
@number_option(
    "--workers",
    help="With --output-dir: number of parallel workers (default: one process, or with --engine one per core).",
)
@option("--address", metavar="HOST:PORT", help="With --engine ray: address of a running cluster.")
def parse(
    input: Sequence[str],
    model: str | None,
    output: str | None,
    on_error: str,
    form: str | None,
    input_options: InputOptions,
    decoder: str | None,
    priors: str | None,
    device: str,
    min_confidence: float | None,
    mark_confidence: bool,
    k: int | None,
    labels: str | None,
    label_count: int | None,
    labels_of: Sequence[str],
    seed: int | None,
    **folder_options: Any,
) -> None:
    """Parse text: one sentence per line in, one tree per line out, in the same order.

    INPUT is any number of files, folders or patterns, or - for standard input (the default). An empty line gives an
    empty line. With --tokenizer, each sentence found in the raw text gives one line. A model of dependency heads
    writes CoNLL-U.
    """
    _check_usage(output, **folder_options)
    seed = label_seed(labels, label_count, labels_of, seed)
    _check_confidence(form, min_confidence, mark_confidence, k)
    from induce.parsing.load import load_parser
    from induce.parsing.writer import Job, TreeOptions

    model = default_model(model, built_in=builtin.HEADS if form == "conllu" else builtin.NAME)
    call = TextCall("parsing", input, output, models=[model], folder=folder_options["output_dir"])
    parser = load_parser(model, report=note, decoder=decoder, priors=priors, device=device)
    form = _form(form, parser, k)
    skipped = SkippedSentences()
    job = Job(
        parser,
        form,
        parser.input_options(input_options),
        draw=_drawing if form == "drawing" else None,
        on_bad=skipped if on_error == "blank" else None,
        watch=call.count,
        options=TreeOptions(-math.inf if min_confidence is None else min_confidence, mark_confidence, k),
    )
    if labels:
        job = _with_labels(job, call.paths, labels_of, label_count, seed)
    written = _write_folder(call, job, **folder_options) if call.folder else call.write(job.lines(call.paths))
    _report(job, skipped.count, written)


def _report(job: Job, skipped: int, written: int) -> None:
    """Print the legend of induced labels and the number of malformed sentences."""
    for line in job.options.labeler.legend if job.options.labeler else ():
        note(line)
    if skipped:
        click.echo(f"{skipped:,} of {written:,} sentences were malformed; their lines are empty", err=True)


def _form(form: str | None, parser: Parser, k: int | None) -> str:
    """The format ``form``, or the default. Raises SynparseError if the parser does not give what it holds."""
    form = form or ("jsonl" if k else "conllu" if parser.output == "heads" else "brackets")
    if form == "conllu":
        parser.must_give("heads", "another --format")
    elif form == "brackets":
        parser.must_give("trees", "--format conllu")
    return form


def _with_labels(job: Job, paths: Sequence[str], labels_of: Sequence[str], count: int | None, seed: int) -> Job:
    """``job`` with a labeler, learned from the trees or heads in ``labels_of``, or else from those of ``paths``.

    Without ``labels_of``, the texts ``paths`` are parsed twice. Raises SynparseError if one of them is a stream.
    """
    from induce.registry import load_part
    from treebank.corpora.catalog import files_of

    on_bad = ignore if job.on_bad else None
    options = replace(job.input_options, notify=ignore)
    with reading("learning labels", files_of(labels_of or paths), options) as input_options:
        labeler = load_part("labels")(
            job.parser,
            paths,
            labels_of,
            input_options=input_options,
            on_bad=on_bad,
            min_confidence=job.options.min_confidence,
            labels=count,
            seed=seed,
        )
    return replace(job, options=replace(job.options, labeler=labeler))


def _write_folder(
    call: TextCall,
    job: Job,
    output_dir: str,
    resume: bool,
    engine: str | None,
    workers: int | None,
    address: str | None,
) -> int:
    """Write one output file for each input file and return the number of sentences.

    Raises SynparseError for the name of a treebank, which has no file of its own.
    """
    from induce.registry import load_part
    from treebank.corpora.catalog import is_name

    for path in filter(is_name, call.paths):
        remedy = f"write its text first: synparse convert {path} --format text -o {path}.txt"
        raise SynparseError(f"{path}: --output-dir needs files, and this is the name of a treebank; {remedy}")
    parse_into, make_engine = load_part("shards"), load_part("engine")(engine or "", workers, address)
    try:
        written: int = parse_into(output_dir, call.paths, job, make_engine, resume=resume, report=call.counter.print)
        return written
    finally:
        call.counter.close()


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
    if (resume or engine or workers) and not output_dir:
        raise click.UsageError("--resume, --engine and --workers require --output-dir")
    if address and engine != "ray":
        raise click.UsageError("--address requires --engine ray")


def _check_confidence(form: str | None, min_confidence: float | None, mark_confidence: bool, k: int | None) -> None:
    """Raises UsageError if options for confidences or several trees do not suit each other or the format."""
    if min_confidence is not None and math.isnan(min_confidence):
        raise click.BadParameter("nan is not a number", param_hint="--min-confidence")
    if k and (min_confidence is not None or mark_confidence):
        raise click.UsageError("--k writes scores of trees; leave out --min-confidence and --mark-confidence")
    if k and form not in (None, "jsonl"):
        raise click.UsageError(f"--k writes JSON lines, not {form}; add --format jsonl")
    if mark_confidence and form == "jsonl":
        raise click.UsageError("JSON lines have all confidences; leave out --mark-confidence")


def _drawing(sentence: Sentence) -> str:
    """A tree or heads drawn with characters, or in brackets if the tree is too large, and an empty line."""
    count = len(sentence.words)
    if count > MAX_DRAWN_WORDS and sentence.tree is not None:
        note(f"{sentence.location}: {count:,} words are too many to draw; the tree is written as brackets")
        return f"{sentence.tree}\n"
    return drawing(sentence) + "\n"
