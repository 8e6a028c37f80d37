"""The option ``--plot``, and the check of a file for a picture."""

from __future__ import annotations

from typing import Any

from cli.command import option
from cli.options import OUTPUT, Decorator


def plot_option(help: str) -> Decorator:
    """Add ``--plot`` for an .svg, .pdf or .png file, which `check_plot` checks."""
    return option(
        "--plot",
        metavar="FILE",
        callback=lambda context, parameter, path: check_plot(path),
        help=f"{help} (.svg, .pdf or .png).",
        group=OUTPUT,
    )


def check_plot(path: str | None, *, trees: bool = False, **reads: Any) -> str | None:
    """The path of a picture.

    Raises SynparseError if it cannot be written there, or would replace a file that the call ``reads``.
    ``trees``: the picture shows trees or heads, which have more formats than plots.
    """
    from induce.storage.outputs import check_output
    from treebank.draw.picture_files import SCENES, SUFFIXES, check_format

    if path:
        suffixes = SUFFIXES if trees else tuple(SCENES)
        check_output(path, suffixes=suffixes, **reads)
        check_format(path, suffixes)
    return path
