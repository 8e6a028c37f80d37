"""``synparse eval --pairs``: how often models find the grammatical one of two sentences the more probable one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import Decorated
from cli.output import print_json, print_table

if TYPE_CHECKING:
    from induce.likelihood.minimal_pairs import Accuracy, PairEvaluation

PAIRS = ("pairs_folder", "limit", "ngram_text")  # options that go with --pairs only
WITH_PAIRS = ("pairs", "runs", "device", *PAIRS)


def pairs_options(command: Decorated) -> Decorated:
    """``command`` with ``--pairs`` and the options that go with it."""
    for option in (
        click.option(
            "--ngram-text", metavar="FILE", help="With --pairs: a unigram and a 5-gram model of this text, too."
        ),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="With --pairs: N of each phenomenon."),
        click.option("--pairs-folder", metavar="DIR", help="Where marvin-linzen and blimp are; or $SYNPARSE_PAIRS."),
        click.option(
            "--pairs", metavar="NAME", help="Instead of --gold: minimal pairs, marvin-linzen, blimp or a file."
        ),
    ):
        command = option(command)
    return command


def check_pairs(names: Mapping[str, str]) -> None:
    """Raises UsageError for options (name -> as it was written) that do not go with --pairs, or only with it."""
    if "pairs" not in names:
        alone = [name for name in PAIRS if name in names]
        if alone:
            raise click.UsageError(f"{names[alone[0]]} goes with --pairs")
        return
    wrong = [option for name, option in names.items() if name not in WITH_PAIRS and option != "--json"]
    if wrong:
        raise click.UsageError(f"{wrong[0]} does not go with --pairs")


def show_pairs(name: str, groups: Mapping[str, Sequence[str]], form: str | None, given: Mapping[str, Any]) -> None:
    """Score the models in the folders of ``groups`` on the pairs and print a table, or JSON."""
    from induce.likelihood.minimal_pairs import evaluate_pairs

    options = {option: given[option] for option in ("limit", "ngram_text", "device")}
    evaluation = evaluate_pairs(name, groups, folder=given["pairs_folder"], **options)
    if form == "json":
        print_json(evaluation.to_json())
        return
    _print(evaluation)


def _print(evaluation: PairEvaluation) -> None:
    """A row a phenomenon, a column a system; then means, the model's own trees, and what has to be known."""
    scores = evaluation.scores
    several = len({score.run for score in scores if score.run}) > 1
    header = [
        "Phenomenon",
        "Pairs",
        *(f"{one.system} {one.run}" if several and one.run else one.system for one in scores),
    ]
    first = scores[0]
    rows = []
    for group in dict.fromkeys([*first.by_group, ""]):
        names = dict.fromkeys(pair.phenomenon for pair in first.pairs if pair.group == group)
        rows += [_row(name, [score.by_phenomenon[name] for score in scores]) for name in names]
        if group:
            rows.append(_row(f"= {group}", [score.by_group[group] for score in scores]))
    rows.append(["= mean of phenomena", "", *(f"{score.mean:.1f}" for score in scores)])
    rows.append(_row("= all pairs", [score.overall for score in scores]))
    if any(any(score.with_unknown) for score in scores) and any(score.known for score in scores):
        rows.append(["= pairs without an unknown word", "", *(_part(score.known) for score in scores)])
    for title, connected in (("own tree connects verb and subject", True), ("own tree does not", False)):
        if any(score.by_connection(connected) for score in scores):
            rows.append([title, "", *(_part(score.by_connection(connected)) for score in scores)])
    rows.append(["% of pairs with an unknown word", "", *(f"{score.unknown_percent:.1f}" for score in scores)])
    rows.append(["% of pairs that are tied", "", *(f"{score.tied_percent:.1f}" for score in scores)])
    print_table(header, rows)
    click.echo("\nAccuracy in percent, 95 % interval in brackets; chance is 50.")
    for pattern, runs in evaluation.spreads.items():
        click.echo(f"{pattern} (mean of {len(runs.values)}): {runs.mean:.1f} ± {runs.deviation:.1f}")
    for signature in dict.fromkeys(score.signature for score in scores):
        click.echo(signature)


def _row(name: str, found: Sequence[Accuracy]) -> list[str]:
    return [name, str(found[0].pairs), *map(_cell, found)]


def _cell(found: Accuracy) -> str:
    low, high = found.interval
    return f"{found.value:.1f} [{round(low)}, {round(high)}]"


def _part(found: Accuracy | None) -> str:
    """The accuracy of some of the pairs, and of how many."""
    return f"{found.value:.1f} of {found.pairs}" if found else "-"
