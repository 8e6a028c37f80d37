"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from induce.storage import locate

Decorated = Callable[..., Any]


def default_model() -> str:
    """The model to use if none is named, with a note if it is the built-in one."""
    return locate.default_model(note)


def inputs(given: Sequence[str]) -> list[str]:
    """What to read: ``given``, else standard input, with a word to a person who sits there."""
    if not given and sys.stdin and sys.stdin.isatty():
        click.echo("reading from the keyboard, one sentence a line; Ctrl-D ends", err=True)
    return list(given) or ["-"]


def note(line: str) -> None:
    """Tells the user something that is no result."""
    click.echo(f"note: {line}", err=True)


def seeds_option(command: Decorated) -> Decorated:
    """``command`` with ``--run``, as often as there are models to compare."""
    return click.option(
        "-m",
        "--run",
        "runs",
        multiple=True,
        metavar="RUN",
        help="A model folder, or a pattern of several seeds; repeat it.",
    )(command)


def device_option(command: Decorated) -> Decorated:
    """``command`` with ``--device`` and ``--threads``."""
    device = click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where the model computes.",
    )
    threads = click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        expose_value=False,
        is_eager=True,
        callback=_use_threads,
        help="Number of threads; by default OMP_NUM_THREADS, else the number of cores.",
    )
    return device(threads(command))


def _use_threads(context: click.Context, parameter: click.Parameter, count: int | None) -> None:
    from induce.workers.pool import use_threads

    if count is not None:
        use_threads(count)


def decoder_option(command: Decorated) -> Decorated:
    """``command`` with ``--decoder``."""
    return click.option(
        "--decoder", metavar="NAME", help="How trees are read from the model, such as unbiased, biased or eisner."
    )(command)


def layer_option(command: Decorated) -> Decorated:
    """``command`` with ``--layer``."""
    return click.option(
        "--layer", type=click.IntRange(min=1), metavar="N", help="The layer whose trees are read, counted from 1."
    )(command)


def distances_option(command: Decorated) -> Decorated:
    """``command`` with ``--distances``."""
    return click.option(
        "--distances",
        type=click.Choice(["lm", "syd"]),
        help="Of a model that also learned from trees: the language model's distances, or those that did (syd).",
    )(command)


def priors_option(command: Decorated) -> Decorated:
    """``command`` with ``--priors``."""
    return click.option(
        "--priors",
        metavar="LIST",
        help="Preferences about trees in place of the model's: none, or NAME:STRENGTH,… such as branching:0.1.",
    )(command)


def seed_option(command: Decorated) -> Decorated:
    """``command`` with ``--seed``."""
    return click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="For everything random.")(
        command
    )


def reading_options(command: Decorated) -> Decorated:
    """``command`` with the options that say how its input is read, which it gets as one: ``input_options``."""
    from treebank.io.formats import FORMATS
    from treebank.tokenize import DEFAULT, NONE, TOKENIZATIONS

    @wraps(command)
    def called(*arguments: Any, **options: Any) -> Any:
        from treebank.io.read import InputOptions

        tokenize = options.pop("tokenize") or (DEFAULT if options["paragraphs"] else "")
        input_options = InputOptions(
            tokenize=tokenize,
            paragraphs=options.pop("paragraphs"),
            form=options.pop("form_of_input") or "",
            encoding=options.pop("encoding") or "",
        )
        return command(*arguments, input_options=input_options, **options)

    decorated: Decorated = called
    for option in reversed(_reading(list(FORMATS), [*TOKENIZATIONS, NONE], DEFAULT)):
        decorated = option(decorated)
    return decorated


def _reading(kinds: Sequence[str], rules: Sequence[str], default: str) -> list[Callable[[Decorated], Decorated]]:
    """The options themselves, in the order of the help."""
    return [
        click.option(
            "--tokenize",
            "tokenize",
            flag_value=default,
            help="The text is raw: split it into sentences and words by the boundaries of Unicode.",
        ),
        click.option(
            "--tokenization",
            "tokenize",
            type=click.Choice(rules),
            help="Split raw text by this rule: english cuts contractions, characters and segmenters all scripts.",
        ),
        click.option("--paragraphs", is_flag=True, help="The text is raw, and only blank lines end paragraphs."),
        click.option(
            "--as", "form_of_input", type=click.Choice(kinds), help="What the files hold, where that is mistaken."
        ),
        click.option("--encoding", metavar="NAME", help="The encoding of files that are not UTF-8."),
    ]
