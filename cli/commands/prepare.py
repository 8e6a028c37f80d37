"""``synparse prepare``: a corpus on disk, from which ``train`` learns without holding it in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.help import command
from cli.options import inputs, reading_options

if TYPE_CHECKING:
    from treebank.io.read import InputOptions


@command()
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("-o", "--output", required=True, metavar="CORPUS", help="The folder to write.")
@click.option("--model", metavar="NAME", help="The model that will be trained; onlstm by default.")
@click.option("--preset", metavar="NAME", help="Its preset.")
@click.option(
    "--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="Change one setting; may be repeated."
)
@reading_options
def prepare(
    text: tuple[str, ...],
    output: str,
    model: str | None,
    preset: str | None,
    settings: tuple[str, ...],
    input_options: InputOptions,
) -> None:
    """Read, normalise and count a text once, and write it as a corpus that is larger than memory.

    `synparse train CORPUS` gives the weights that `synparse train TEXT` gives. Of the settings those count that say how
    text is read: data.normalization, data.token and data.tokenization; all others are the training's.
    """
    from induce.data.sources import prepare_text

    for line in prepare_text(
        inputs(text), output, model=model, preset=preset, settings=settings, input_options=input_options
    ):
        click.echo(line, err=True)
