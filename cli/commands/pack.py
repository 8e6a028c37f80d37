"""``synparse pack``: a trained model in one file."""

from __future__ import annotations

from pathlib import Path

import click

from cli.command import command, option
from cli.options import default_model, model_option

EXAMPLES = [
    ("synparse pack -m mine -o mine.synparse", "Pack a model into one file, to send or to archive."),
    ("synparse pack -o mine.synparse", "Pack the model in ./synparse-model."),
]


@command(examples=EXAMPLES)
@model_option
@option("-o", "--output", metavar="FILE", required=True, help="Output file, such as mine.synparse.")
@option("--half", is_flag=True, help="Store weights in half precision: half the size, nearly the same trees.")
def pack(model: str | None, output: str, half: bool) -> None:
    """Pack a trained model into one file.

    All commands take the file like a model folder. The result of train --best can be packed, too; of train --best
    --heads, pack the student, RUN/parts/student-1. The parts of the file are verified by their digests when it is
    opened. They contain text and numbers only, so opening a file from an unknown source cannot run code.
    """
    from induce.ensemble.ensemble_description import packable_model
    from induce.storage.checkpoint import publish
    from induce.storage.model_spec import whole_model
    from induce.storage.outputs import check_output

    model = whole_model(default_model(model))
    check_output(output, models=[model])
    digest = publish(Path(packable_model(model)), output, half=half)
    click.echo(f"{output}: sha256 {digest}")
