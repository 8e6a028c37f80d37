"""``synparse pack``: a model in one file."""

from __future__ import annotations

from pathlib import Path

import click

from cli.help import command
from cli.options import default_model


@command()
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="FILE", required=True, help="The file to write, such as mine.synparse.")
@click.option("--half", is_flag=True, help="Store numbers in half precision: half the size, nearly the same trees.")
def pack(run: str | None, output: str, half: bool) -> None:
    """Pack the model in RUN (./synparse-model by default) into one file, to send or to keep.

    The file is a model as a folder is: -m FILE parses with it. Its parts are checked against their digests when it is
    opened, and hold text and numbers only, so that one from a stranger cannot run anything.
    """
    from induce.storage.publishing import publish

    digest = publish(Path(run or default_model()), output, half=half)
    click.echo(f"{output}: sha256 {digest}")
