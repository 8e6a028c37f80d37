"""``synparse analyze options`` and ``curves``: options along demonstrations, and how fast tasks were learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.help import command
from cli.options import default_model, seeds_option
from cli.output import print_json, print_table
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from treebank.draw.scene import Scene


@command("options")
@click.argument("demonstrations", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="A model with options, of train --task craft or of transfer.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
@click.option("--save", metavar="FILE.svg", help="Also draw switches and options under the steps.")
def options(demonstrations: Sequence[str], run: str | None, as_json: bool, save: str | None) -> None:
    """Which option is at work at each step of demonstrations in Craft, and where control goes back.

    INPUT are files with a demonstration a line; without any, one of each task of the model is generated.
    """
    from induce.tasks.craft.pictures import follow_options

    _check_target(save)
    found = follow_options(run or default_model(), demonstrations)
    if as_json:
        print_json([one.to_json() for one in found])
    for one in [] if as_json else found:
        click.echo(one.shown.sketch)
        print_table(one.columns, one.rows, text_columns=3)
        click.echo()
    _draw([one.scene() for one in found], save)


@command("curves")
@seeds_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
@click.option("--save", metavar="FILE.svg", help="Also draw the curves.")
def curves(runs: Sequence[str], as_json: bool, save: str | None) -> None:
    """How much of its task each run did right over its steps.

    Steps are updates, and calls of options in a run of transfer, where what is counted are episodes that were solved.
    """
    from induce.storage.model_spec import expand_models
    from induce.tasks.craft.pictures import learning_curves
    from treebank.draw.plots import draw_lines

    _check_target(save)
    folders = [str(folder) for found in expand_models(runs or [default_model()]).values() for folder in found]
    lines = learning_curves(folders)
    if as_json:
        print_json([{"run": one.name, "points": [list(point) for point in one.points]} for one in lines])
    else:
        rows = [
            [one.name, f"{one.points[-1][0]:,.0f}", f"{one.points[-1][1]:.1f}", f"{max(y for _, y in one.points):.1f}"]
            for one in lines
        ]
        print_table(["Run", "Steps", "Last %", "Best %"], rows)
    _draw([draw_lines(lines, title="Learning", across="steps", up="percent")], save)


def _check_target(path: str | None) -> None:
    """Raises SynparseError for a name that is not that of an SVG."""
    if path and not path.lower().endswith(".svg"):
        raise SynparseError(f"{path}: this picture is an SVG; end the name in .svg")


def _draw(scenes: list[Scene], path: str | None) -> None:
    """Write ``scenes`` below each other, if a path is given."""
    if path:
        from treebank.base.atomic_write import write_whole
        from treebank.draw.svg import column, svg

        write_whole(path, svg(column(scenes)).encode())
