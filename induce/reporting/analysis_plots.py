"""Plots of analyses: correlations of channels with relations, and scores by the value of a setting."""

from __future__ import annotations

import os

from induce.analysis.channels import ChannelReport
from induce.analysis.sweep import Sweep
from induce.reporting.plots import Line, draw_heat_map, draw_lines
from treebank.draw.scene import Scene


def plot_channels(report: ChannelReport) -> Scene:
    """A heat map of relations (rows) by channels (columns, layer by layer), with a dot at the best channel."""
    layers, channels = report.relations[0].correlations.shape
    best = [(row, entry.best) for row, entry in enumerate(report.relations)]
    return draw_heat_map(
        [(f"{entry.relation} ({entry.arcs:,})", entry.correlations.ravel().tolist()) for entry in report.relations],
        title=f"Channels of {report.model} and relations of {os.path.basename(report.data)}",
        across=f"layer, {channels} channels each",
        columns=[str(index // channels + 1) if index % channels == 0 else "" for index in range(layers * channels)],
        marked={(row, position[0] * channels + position[1]) for row, position in best if position},
    )


def plot_sweep(report: Sweep) -> Scene:
    """Each score's mean over the values of the setting, with bars of one standard deviation."""
    numeric = all(type(value) in (int, float) for value in report.values)
    positions = {value: value if numeric else index for index, value in enumerate(report.values)}
    lines = []
    for name, runs in zip(report.names, report.scores.values(), strict=True):
        values = sorted(runs)
        points = [(float(positions[value]), runs[value].mean) for value in values]
        lines.append(Line(name, points, [runs[value].deviation for value in values]))
    title = f"Scores on {os.path.basename(report.data)}"
    names = [] if numeric else [str(value) for value in report.values]
    return draw_lines(lines, title=title, across=report.setting, up="%", names=names)
