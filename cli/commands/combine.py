"""``synparse combine``: runs and files of trees that vote together."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cli.help import command
from cli.options import decoder_option, note


@command()
@click.argument("members", nargs=-1, required=True, metavar="RUN-or-FILE...")
@click.option("-o", "--output", "run", required=True, metavar="RUN", help="The folder of the ensemble.")
@click.option("--pack", is_flag=True, help="Copy the members into RUN, so that it can be moved.")
@click.option("--overwrite", is_flag=True, help="Replace the ensemble in RUN.")
@click.option("--heads", is_flag=True, help="Give heads, though some members give trees: heads that agree with these.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Leave out phrases with this share of the votes or less; 0 gives binary trees.",
)
@click.option(
    "--votes",
    type=click.Choice(["trees", "marginals"]),
    help="Each member votes with its tree (the default of trees), or with its probabilities (the default of heads).",
)
@decoder_option
def combine(
    members: Sequence[str],
    run: str,
    pack: bool,
    overwrite: bool,
    heads: bool,
    threshold: float,
    votes: str | None,
    decoder: str | None,
) -> None:
    """Make an ensemble, which parse, eval, extract and info take like any model.

    A member is a run, a file of trees or heads over the text that will be parsed, a folder that parse --output-dir
    wrote, or baseline:right. RUN@layer=2, RUN@decoder=unbiased and RUN@weight=2, with commas between them, say which
    trees are meant and how much they count.
    """
    from induce.parsing.combine import combine as combined

    ensemble = combined(
        members,
        run,
        pack=pack,
        overwrite=overwrite,
        heads=heads,
        threshold=threshold,
        sums=None if votes is None else votes == "marginals",
        decoder=decoder or "",
        tell=note,
    )
    for member in ensemble.description.members:
        click.echo(member.name)
    click.echo(f"{run}: {len(members)} members vote for {ensemble.output}, decoder {ensemble.decoder}")
