"""Options that several commands share, and their default values."""

from __future__ import annotations

import glob
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from typing import Any

import click
from click.core import ParameterSource

from cli.command import complete_model, completing, number_option, option, stacked
from cli.output import wrapped
from induce.storage import builtin, locate
from treebank.base.errors import SynparseError, TreebankError

Decorator = Callable[[Any], Any]

MODEL, INPUT, OUTPUT, SCORING, LEARNING = "Model", "Input", "Output", "Scoring", "Learning"
GOLD_HELP = "Treebank: a file, a folder, or a name such as sample or wsj10."


def not_empty(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Callback of an option whose empty value, as from an unset variable of the shell, would mean the default.

    Raises BadParameter for such a value, and returns others unchanged.
    """
    if value == "":
        raise click.BadParameter("an empty value; give a value, or leave out the option")
    return value


overwrite_option = option("--overwrite", is_flag=True, help="Replace files of other programs.", group=OUTPUT)
output_option = option("-o", "--output", metavar="FILE", help="Output file instead of standard output.", group=OUTPUT)
ptb_option = option("--ptb", metavar="DIR", help="Folder of the full Penn Treebank, for names like wsj23.", group=INPUT)
decoder_option = option(
    "--decoder",
    metavar="NAME",
    help="Decoding algorithm, such as unbiased, biased or eisner (synparse info lists all).",
    group=MODEL,
)
priors_option = option(
    "--priors",
    metavar="LIST",
    help="Priors instead of the model's: none, or NAME:STRENGTH,… such as branching:0.1.",
    group=MODEL,
)
model_option = option(
    "-m",
    "--model",
    metavar="PATH",
    help="Trained model, such as mine or mine@layer=2 (default: ./synparse-model).",
    group=MODEL,
    shell_complete=complete_model,
)
models_option = option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="PATH",
    help="Trained model: mine, mine@layer=2, a pattern such as 'runs/seed-*', or with a name in tables and pictures, "
    "ours=mine (repeatable; default: ./synparse-model).",
    group=MODEL,
    shell_complete=complete_model,
)
encoding_option = option("--encoding", metavar="NAME", help="Encoding of files that are not UTF-8.", group=INPUT)
max_length_option = number_option("--max-length", help="Use only sentences of at most N words.", group=INPUT)
SEED = click.IntRange(0, 2**32 - 1)
MAX_THREADS = 1024
#: suffixes of files that hold something else than the formats of treebanks and tables
OTHER_SUFFIXES = frozenset(
    ("csv", "tsv", "json", "tex", "html", "htm", "svg", "pdf", "png", "jpg", "xlsx", "xls", "ods", "docx", "npz", "zip")
)
DEFAULT_SEED = 1
seed_option = option("--seed", type=SEED, default=DEFAULT_SEED, show_default=True, metavar="N", help="Random seed.")
settings_option = option(
    "--set",
    "settings",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Change one setting (repeatable).",
    group=LEARNING,
)
max_minutes_option = option(
    "--max-minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="M",
    help="Time limit in minutes.",
    group=LEARNING,
)
baseline_option = option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME",
    help="Baseline to score (repeatable): left, right, balanced, balanced-williams, random, random-uniform, oracle, "
    "gold; for heads previous, next.",
    group=SCORING,
    shell_complete=completing("treebank.core.baselines:BASELINES", "treebank.core.baselines:HEAD_BASELINES"),
)
convention_option = option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAME",
    help="Evaluation convention (repeatable): on-lstm (default), km, km-wsj10, km-prose, kim-sentence, kim-corpus, "
    "tnpcfg, tnpcfg-corpus, seminfo, seminfo-corpus, evalb, "
    "or fields such as avg:corpus,root:keep; for heads udgn (default), no-punct, all-tokens.",
    group=SCORING,
    shell_complete=completing(
        *(f"treebank.evaluate.conventions:{prefix}CONVENTIONS" for prefix in ("", "ATTACHMENT_"))
    ),
)


def _use_threads(context: click.Context, parameter: click.Parameter, count: int | None) -> None:
    """Set the number of threads of this process."""
    if count is not None:
        from induce.workers.pool import use_threads  # which loads numpy

        use_threads(count)


device_option = stacked(
    option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Device to compute on.",
    ),
    number_option(
        "--threads",
        high=MAX_THREADS,
        expose_value=False,
        is_eager=True,
        callback=_use_threads,
        help="Threads, by default $OMP_NUM_THREADS or all cores.",
    ),
)
parsing_options = stacked(decoder_option, priors_option, device_option)  # for reading trees from a model


def check_parsing_options(parsing: Mapping[str, Any]) -> None:
    """Raises UsageError for a decoder or priors in a call without a model."""
    if parsing["decoder"] is not None or parsing["priors"] is not None:
        raise click.UsageError("--decoder and --priors require a model that parses text (-m)")


def dependent_seed_option(requirement: str, group: str) -> Any:
    """Add ``--seed`` to a command in which it has an effect only with the option ``requirement``."""
    help = f"With {requirement}: random seed (default {DEFAULT_SEED})."
    return option("--seed", type=SEED, metavar="N", help=help, group=group)


def dependent_seed(seed: int | None, requirement: str, value: object) -> int:
    """The seed or the default one. Raises UsageError for a seed if the option ``requirement`` has no ``value``."""
    if seed is not None and not value:
        raise click.UsageError(f"--seed requires {requirement}")
    return DEFAULT_SEED if seed is None else seed


def label_options(source: str, group: str) -> Decorator:
    """Add ``--labels``, ``--label-count``, ``--labels-of`` and ``--seed``. ``source`` names the trees in the help."""
    return stacked(
        option(
            "--labels",
            type=click.Choice(["induced"]),
            help=f"Replace labels of phrases, or relations of CoNLL-U, by labels that are induced from {source}.",
            group=group,
        ),
        number_option(
            "--label-count",
            low=2,
            help="With --labels: number of labels (default 12), or of relations (default 30).",
            group=group,
        ),
        option(
            "--labels-of",
            multiple=True,
            metavar="INPUT",
            help="With --labels: induce the labels from this corpus instead (repeatable).",
            group=group,
        ),
        dependent_seed_option("--labels", group),
    )


def label_seed(labels: str | None, label_count: int | None, labels_of: Sequence[str], seed: int | None) -> int:
    """The seed of the induction. Raises UsageError for options of labels that have no effect."""
    if not labels and (labels_of or label_count):
        raise click.UsageError("--label-count and --labels-of require --labels induced")
    return dependent_seed(seed, "--labels induced", labels)


def page_options(name: str) -> Decorator:
    """Add ``--output`` with the default ``name`` of a page, and ``--overwrite``, for `check_page_output`."""
    return stacked(
        option("-o", "--output", default=name, show_default=True, metavar="FILE", help="Output file.", group=OUTPUT),
        option("--overwrite", is_flag=True, help=f"Replace {name} of another program.", group=OUTPUT),
    )


def check_page_output(output: str, overwrite: bool) -> None:
    """Raises SynparseError if the default output would replace a file of another program, and UsageError if the suffix
    is that of another format.
    """
    from treebank.io.output_path import check_default_output

    format_of_suffix(output, ["html"], ["htm"])
    if click.get_current_context().get_parameter_source("output") is ParameterSource.DEFAULT:
        check_default_output(output, overwrite=overwrite)


def note_page(output: str) -> None:
    """Print the name of a page that was written into a file."""
    if output != "-":
        click.echo(f"{output}: open it in a browser", err=True)


def gold_option(required: bool = False) -> Decorator:
    """Add ``--gold``."""
    return option("--gold", required=required, metavar="GOLD", help=GOLD_HELP, group=INPUT)


head_rules_option = option(
    "--head-rules", metavar="NAME", help="Gold heads from trees: collins, yamada-matsumoto, stanford.", group=INPUT
)


def format_option(
    *names: str, default: str | None = None, help: str = "Output format.", suffixes: Sequence[str] = ()
) -> Decorator:
    """Add ``--format`` with the choices ``names``, as the argument ``form``.

    Without it, the suffix of the file after ``--output`` names the format, if it is that of a format. The command may
    write its default format into files with the other ``suffixes``.
    """
    return option(
        "--format",
        "form",
        type=click.Choice(names),
        default=default,
        show_default=default is not None,
        callback=partial(_format_of_output, suffixes),
        help=help,
        group=OUTPUT,
    )


def _format_of_output(
    others: Sequence[str], context: click.Context, parameter: click.Parameter, form: str | None
) -> str | None:
    """The format after ``--format``, else that which the suffix of the output file names, else the default.

    Raises UsageError for the suffix of a format that the command does not write.
    """
    output = context.params.get("output")
    if context.get_parameter_source("form") is not ParameterSource.DEFAULT or not output:
        return form
    return format_of_suffix(output, parameter.type.choices, others) or form  # type: ignore[attr-defined]


def format_of_suffix(output: str | None, names: Sequence[str], others: Sequence[str] = ()) -> str:
    """The format among ``names`` that the suffix of a file names, or "" without a file and for other suffixes.

    Raises UsageError for the suffix of a format that is not in ``names``, unless it is one of ``others``.
    """
    from treebank.io.formats import format_by_suffix, suffix_of

    entry, suffix = format_by_suffix(output or ""), suffix_of(output or "")[1:]
    suffixes = [suffix, entry.name if entry else "", "latex" if suffix == "tex" else ""]
    chosen = next((name for name in suffixes if name in names), "")
    other = entry.name if entry else f".{suffix}" if suffix in OTHER_SUFFIXES else ""
    if other and not chosen and suffix not in others:
        *first, last = names
        choices = f"{', '.join(first)} or {last}" if first else last
        remedy = "choose one with --format" if first else "name another file"
        raise click.UsageError(f"{output}: this command writes {choices}, not {other}; {remedy}")
    return chosen


def on_error_option(*choices: str) -> Decorator:
    """Add ``--on-error`` with ``choices``, the first of which is the default."""
    effects = {"skip": "leave it out", "blank": "write an empty line"}
    effect = ", or ".join(effects[choice] for choice in choices if choice in effects)
    return option(
        "--on-error",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help=f"Malformed sentence: stop, or {effect} and continue with a warning.",
        group=INPUT,
    )


class SkippedSentences:
    """Callback for malformed sentences: print each one and count them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: TreebankError) -> None:
        self.count += 1
        click.echo(f"skipped: {error}", err=True)


def default_model(model: str | None = None, *, built_in: str = builtin.NAME) -> str:
    """The model to use: ``model``, else $SYNPARSE_MODEL, else ./synparse-model, else ``built_in``, with a note."""
    if model:
        return model
    from cli.default_model import announcement

    name = locate.default_model(note, built_in=built_in)
    line = "" if name in builtin.FILES else announcement(name, built_in)
    if line:
        note(line)
    return name


def default_models(models: Sequence[str], *, built_in: str = builtin.NAME) -> list[str]:
    """``models``, or the default model if there are none."""
    return list(models) or [default_model(built_in=built_in)]


def input_paths(paths: Sequence[str]) -> list[str]:
    """``paths``, or standard input if there are none. If that is a terminal, a hint is printed.

    Raises SynparseError if a sentence is given instead of a path.
    """
    for path in paths:
        if " " in path and not os.path.lexists(path) and not glob.has_magic(path):
            hint = f"to parse a sentence, pipe it in: echo {shlex.quote(path)} | synparse …"
            raise SynparseError(f"{path}: no such file or folder; {hint}")
    if not paths and sys.stdin and sys.stdin.isatty():
        click.echo("reading from the keyboard, one sentence per line; Ctrl-D ends the input", err=True)
    return list(paths) or ["-"]


def note(line: str) -> None:
    """Print a note on standard error."""
    # print() and not click.echo(), which would not see that a progress display redirects standard error
    print(wrapped(f"note: {line}", sys.stderr), file=sys.stderr, flush=True)


def reading_options(command: Any) -> Any:
    """Add the options for reading input, which the command receives as one argument ``input_options``."""
    from treebank.io.formats import FORMATS
    from treebank.tokenize import DEFAULT, NONE, TOKENIZATIONS

    @wraps(command)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        from treebank.io.read import InputOptions

        if options["paragraphs"] and options["tokenizer"] == NONE:
            raise click.UsageError("--paragraphs is for raw text; leave out --tokenizer none")
        input_options = InputOptions(
            tokenize=options.pop("tokenizer") or (DEFAULT if options["paragraphs"] else ""),
            paragraphs=options.pop("paragraphs"),
            form=options.pop("input_format") or "",
            encoding=options.pop("encoding") or "",
            notify=cache(note),  # once, although a command may read its text several times
        )
        return command(*arguments, input_options=input_options, **options)

    add_options = stacked(
        option(
            "--tokenizer",
            type=click.Choice([*TOKENIZATIONS, NONE]),
            metavar="NAME",
            help=f"Tokenizer of raw text, such as {DEFAULT} or english.",
            group=INPUT,
        ),
        option("--paragraphs", is_flag=True, help="Raw text with empty lines between paragraphs.", group=INPUT),
        option(
            "--input-format",
            type=click.Choice(list(FORMATS)),
            metavar="NAME",
            help="Format, such as text or brackets (default: detected).",
            group=INPUT,
        ),
        encoding_option,
    )
    return add_options(wrapper)
