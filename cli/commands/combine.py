"""``synparse combine``: ensembles of models and files of trees."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cli.command import command, option
from cli.options import OUTPUT, decoder_option, not_empty, note

VOTING = "Voting"
EXAMPLES = [
    ("synparse combine runs/seed-* -o voters", "Make an ensemble; parse and eval take it like any model."),
    (
        "synparse combine mine@weight=2 trees.txt -o vote.safetensors --threshold 0.5",
        "Copy a model of weight 2 and a file of trees into one file; keep only phrases with a majority.",
    ),
    ("synparse combine runs/seed-1 runs/seed-2 -o voters.safetensors", "Write one file, which can be copied and sent."),
]


@command(examples=EXAMPLES)
@click.argument("members", nargs=-1, required=True, metavar="MEMBER...")
@option("--heads", is_flag=True, help="Give heads although some members give trees.", group=VOTING)
@option(
    "--threshold",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Leave out phrases with at most this share of the votes; 0 gives binary trees.",
    group=VOTING,
)
@option(
    "--votes",
    type=click.Choice(["trees", "marginals"]),
    help="Vote with each member's tree (default for trees) or with its probabilities (default for heads).",
    group=VOTING,
)
@option(
    "--priors",
    metavar="LIST",
    help="Priors of the votes, besides those of the members: NAME:STRENGTH,… such as initial-spans:1.",
    group=VOTING,
)
@decoder_option
@option(
    "-o",
    "--output",
    "run",
    required=True,
    metavar="PATH",
    callback=not_empty,
    help="Folder that names the members, or file FILE.safetensors that contains copies of them.",
    group=OUTPUT,
)
@option("--overwrite", is_flag=True, help="Replace an existing ensemble.", group=OUTPUT)
def combine(
    members: Sequence[str],
    run: str,
    overwrite: bool,
    heads: bool,
    threshold: float,
    votes: str | None,
    decoder: str | None,
    priors: str | None,
) -> None:
    """Combine models into an ensemble, which all commands take like a model.

    MEMBER is a model, a file of trees or heads for the text that will be parsed, a folder written by parse
    --output-dir, a pattern such as 'runs/seed-*', or baseline:right. MODEL@layer=2, MODEL@decoder=unbiased and
    MODEL@weight=2, separated by commas, choose the trees of a member and its weight.
    """
    from induce.ensemble.combine import combine as combined

    ensemble = combined(
        members,
        run,
        overwrite=overwrite,
        heads=heads,
        threshold=threshold,
        sums=None if votes is None else votes == "marginals",
        decoder=decoder or "",
        priors=priors,
        report=note,
    )
    for member in ensemble.description.members:
        click.echo(member.name)
    count = len(ensemble.description.members)
    votes = "1 member votes" if count == 1 else f"{count} members vote"
    click.echo(f"{run}: {votes} for {ensemble.output}, decoder {ensemble.decoder}")
