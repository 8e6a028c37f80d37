"""Help that a person can use: options in groups by what they are for, and examples that can be typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cli.examples import EXAMPLES

HELP = {"help_option_names": ["-h", "--help"]}
FEWEST = 6  # options, before they are put into groups
OTHERS = "Options"
LAST = "The call"

#: title -> the options under it, of any command
GROUPS = {
    "Learning": (
        "--model --preset --set --task --trees --teacher --seed --seeds --best --sketch --reward --from-scratch "
        "--unfrozen"
    ),
    "The model": "--run --decoder --layer --distances --priors --device --member",
    "What is read": (
        "--gold --text --dev --ptb --tokenize --tokenization --paragraphs --as --encoding --skip-bad --max-length "
        "--sentences --vocabulary-of"
    ),
    "Scoring": "--baseline --convention --characters --compare --by --head-rules --minimum --subtypes",
    "With --text": "--batch-size --cache --cache-theta --cache-lambda",
    "With --pairs": "--pairs --pairs-folder --limit --ngram-text",
    "Classes": "--classes --minimum-count --endings",
    "What is compared": "--controls --scores --metric",
    "Changes": "--strip --unary --binarize --labels --recipe",
    "What is written": (
        "--output --output-dir --format --json --csv --latex --digits --save --worst --what --to --words --arcs "
        "--select --pictures --title --width --pack"
    ),
    LAST: "--resume --overwrite --max-minutes --engine --workers --address --help",
}
#: the same for commands that mean something else by an option
ELSEWHERE = {
    "train": {"What is written": "--output"},
    "eval": {"Scoring": "--seed --task"},
    "classes": {"Classes": "--seed"},
    "convert": {"Changes": "--head-rules --max-length"},
    "combine": {"What is written": "--run", "The vote": "--heads --threshold --votes --decoder"},
}


class Command(click.Command):
    """A command whose help has groups of options, and examples behind them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError where a model or an output is named twice, as only the last one would count."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for name in ("run", "output"):
            named = [one for one in order if one.name == name and not one.multiple]
            if len(named) > 1:
                several = "; several models vote together after synparse combine" if "-m" in named[0].opts else ""
                raise click.UsageError(f"{named[0].opts[0]} was given {len(named)} times{several}", ctx)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in option_groups(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(ctx, formatter)


class Group(click.Group):
    """A group of commands whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(ctx, formatter)


def command(name: str | None = None) -> Any:
    """The decorator of a command here."""
    return click.command(name, cls=Command, context_settings=HELP)


def examples_of(ctx: click.Context) -> tuple[tuple[str, str], ...]:
    """The examples of a command: what to type, and what comes of it."""
    return EXAMPLES.get(_name(ctx), ())


def option_groups(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The options of a command in groups: a title, and of each option how it is written and what it is for."""
    options = [one for one in command.get_params(ctx) if isinstance(one, click.Option)]
    shown = [(one, record) for one in options if (record := one.get_help_record(ctx))]
    if len(shown) < FEWEST:
        yield OTHERS, [record for _, record in shown]
        return
    titles = _titles(_name(ctx))
    for title in sorted(dict.fromkeys([*GROUPS, *ELSEWHERE.get(_name(ctx), {}), OTHERS]), key=LAST.__eq__):
        records = [record for one, record in shown if titles.get(one.opts[-1], OTHERS) == title]
        if records:
            yield title, records


def _titles(name: str) -> dict[str, str]:
    """Option -> the title that it stands under in the command called ``name``."""
    tables = (GROUPS, ELSEWHERE.get(name, {}))
    return {option: title for table in tables for title, options in table.items() for option in options.split()}


def _name(ctx: click.Context) -> str:
    """``analyze channels`` for ``synparse analyze channels``."""
    return ctx.command_path.removeprefix("synparse").strip()


def _write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    if found := examples_of(ctx):
        with formatter.section("Examples"):
            for typed, told in found:
                formatter.write(f"{'':{formatter.current_indent}}{typed}\n")
                with formatter.indentation():
                    formatter.write_text(told)
