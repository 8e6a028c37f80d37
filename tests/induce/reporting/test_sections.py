"""Sections of a report about training."""

from __future__ import annotations

from induce.reporting.runs import RunStory
from induce.reporting.sections import Section, curves, learned, names_of
from treebank.draw.picture_files import render


def page(*sections: Section) -> str:
    return render("report.html", "induce.reporting", sections=sections)


def test_setting_without_a_value_has_a_dash() -> None:
    story = RunStory("runs/a", "onlstm", {"decoder": "unbiased"}, {"parse.decoder": "", "model.layers": "3"})
    html = page(learned([story]))
    assert '>parse.<wbr>decoder</th><td class="text" dir="auto">–</td>' in html
    assert '>decoder</th><td class="text" dir="auto">unbiased</td>' in html


def test_closed_details_are_not_printed() -> None:
    assert "@media print { details:not([open]) { display: none; }" in page()


def test_run_without_checks_has_no_curves() -> None:
    assert curves([RunStory("runs/a", "ensemble", {})]).blocks == ()
    check = {"seconds": 60.0, "loss": 5.0, "development_loss": 4.0, "epoch": 1, "step": 10}
    stories = [RunStory(f"runs/a-model-with-a-very-long-name-{i}", "onlstm", {}, checks=[check]) for i in range(2)]
    html = page(curves(stories))
    assert names_of(stories)[1] == "runs/a-model-with-a-very-long-name-1"
    assert f">{names_of(stories)[1]}</text>" in html
    assert names_of([RunStory("mine=runs/a", "onlstm", {})]) == ["mine"]
