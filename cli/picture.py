"""Plots drawn with matplotlib, an optional dependency (``pip install 'synparse[draw]'``)."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from treebank.base.atomic_write import write_whole
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.analysis.channels import ChannelReport
    from induce.analysis.sweep import Sweep


def draw_channels(report: ChannelReport, path: str) -> None:
    """Write a heat map of relations (rows) by channels (columns, layer by layer), with a dot at the best channel."""
    layers, channels = report.relations[0].correlations.shape
    rows = len(report.relations)
    figure = _figure(2.5 + 0.22 * layers * channels, 1.9 + 0.24 * rows)
    axes = figure.add_subplot()
    values = [relation.correlations.ravel() for relation in report.relations]
    image = axes.imshow(values, cmap="RdBu_r", aspect="auto", interpolation="nearest", vmin=-1, vmax=1)
    for row, relation in enumerate(report.relations):
        if relation.best:
            axes.plot(relation.best[0] * channels + relation.best[1], row, marker="o", markersize=3, color="black")
    for layer in range(1, layers):
        axes.axvline(layer * channels - 0.5, color="black", linewidth=0.8)
    axes.set_yticks(range(rows), [f"{entry.relation} ({entry.arcs:,})" for entry in report.relations])
    axes.set_xticks([(layer + 0.5) * channels - 0.5 for layer in range(layers)], [str(i + 1) for i in range(layers)])
    axes.tick_params(length=0)
    axes.set_xlabel(f"layer, {channels} channels each")
    axes.set_title(f"Channels of {report.model} and relations of {os.path.basename(report.data)}", fontsize=10)
    figure.colorbar(image, ax=axes, label="Pearson's correlation")
    _write(figure, path)


def draw_sweep(report: Sweep, path: str) -> None:
    """Write each score's mean over the values of the setting, with bars of one standard deviation."""
    figure = _figure(5.0, 3.4)
    axes = figure.add_subplot()
    for name, runs in zip(report.names, report.scores.values(), strict=True):
        values = sorted(runs)
        means, deviations = [runs[value].mean for value in values], [runs[value].deviation for value in values]
        positions = values if all(type(value) in (int, float) for value in values) else list(map(str, values))
        axes.errorbar(positions, means, yerr=deviations, marker="o", markersize=4, capsize=3, label=name)
    axes.set_xlabel(report.setting)
    axes.set_ylabel("%")
    axes.set_title(f"Scores on {os.path.basename(report.data)}", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend()
    _write(figure, path)


def _write(figure: Any, path: str) -> None:
    """Write the figure. An existing file is replaced only after the drawing has succeeded."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=os.path.splitext(path)[1].removeprefix(".").lower(), dpi=150)
    write_whole(path, drawn.getvalue())


def _figure(width: float, height: float) -> Any:
    """An empty figure, with its size in inches. Raises SynparseError if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SynparseError("--plot needs matplotlib, which is not installed: pip install 'synparse[draw]'") from None
    return Figure(figsize=(width, height), layout="constrained")
