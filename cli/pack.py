"""``synparse pack``: a model in one file."""

from __future__ import annotations

from pathlib import Path

import click

from cli.help import command
from cli.options import default_run


@command()
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="FILE", required=True, help="The file to write, such as mine.synparse.")
def pack(run: str | None, output: str) -> None:
    """Pack the model in RUN (./synparse-model by default) into one file, to send or to keep.

    The file is a model as a folder is: -m FILE parses with it. Its parts are checked against their digests when it is
    opened, and hold text and numbers only, so that one from a stranger cannot run anything.
    """
    from induce.checkpoint import find
    from induce.packing import pack as write

    digest = write(find(Path(run or default_run())), output)
    click.echo(f"{output}: sha256 {digest}")
