"""``synparse convert``: treebanks in other forms."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import inputs, reading_options
from cli.output import opened
from cli.status import reading
from treebank.base.errors import TreebankError
from treebank.core.head_rules import HEAD_RULES
from treebank.io.formats import WRITERS

if TYPE_CHECKING:
    from treebank.io.read import InputOptions


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--to", type=click.Choice(list(WRITERS)), default="brackets", show_default=True, help="What to write.")
@click.option(
    "--strip",
    type=click.Choice(["traces", "functions", "punctuation"]),
    multiple=True,
    help="Delete empty elements, function tags, or what scoring does not count as a word; may be repeated.",
)
@click.option("--unary", type=click.Choice(["keep", "collapse"]), default="keep", help="One bracket for each span.")
@click.option("--binarize", type=click.Choice(["left", "right"]), help="At most two children for each bracket.")
@click.option("--labels", type=click.Choice(["keep", "drop"]), default="keep", help="X and W instead of labels.")
@click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only sentences of up to N words.")
@click.option(
    "--head-rules",
    type=click.Choice(list(HEAD_RULES)),
    default="collins",
    show_default=True,
    help="Which word heads a phrase, with --to conllu.",
)
@click.option("--recipe", type=click.Choice(["ptb-concat-syn"]), help="The words of the language-modelling files.")
@click.option(
    "--vocabulary-of",
    multiple=True,
    metavar="INPUT",
    help="Count the words of the recipe's vocabulary here instead; may be repeated.",
)
@reading_options
@click.option("--skip-bad", is_flag=True, help="Leave out broken sentences, and tell of each.")
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
def convert(
    input: Sequence[str],
    output: str | None,
    to: str,
    head_rules: str,
    recipe: str | None,
    vocabulary_of: Sequence[str],
    skip_bad: bool,
    ptb: str | None,
    input_options: InputOptions,
    **steps: Any,
) -> None:
    """Turn treebanks into other forms, one sentence a line, and back.

    INPUT are treebank files (brackets, CoNLL-U), JSON lines with distances or spans (.jsonl), folders, patterns, names
    such as wsj10, or - for standard input, which is also read when none is named.
    """
    from treebank.convert.convert import Conversion
    from treebank.convert.convert import convert as converted
    from treebank.corpora.catalog import is_name
    from treebank.io.expand import expand
    from treebank.io.output_path import check_output

    if vocabulary_of and not recipe:
        raise click.UsageError("--vocabulary-of is of use only with --recipe")
    paths = inputs(input)
    given = [path for path in paths if not is_name(path)]
    check_output(output, given)
    shown = not output and sys.stdout.isatty()
    with reading("converting", expand(given, trees=True), input_options, results_shown=shown) as counted:
        lines = converted(
            paths,
            to,
            Conversion(**steps),
            rules=head_rules,
            recipe=recipe is not None,
            vocabulary_of=vocabulary_of,
            ptb=ptb,
            tell=_note,
            on_bad=_skipped if skip_bad else None,
            input_options=counted,
        )
        with opened(output) as write_line:
            for text in lines:
                write_line(text)


def _skipped(error: TreebankError) -> None:
    click.echo(f"skipped: {error}", err=True)


def _note(text: str) -> None:
    click.echo(text, err=True)
