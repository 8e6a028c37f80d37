"""Training in a notebook: one output, renewed, with a bar while it goes on and the lines that stay."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import synparse
from cli.notebook import TrainingView, display_of_notebook
from induce.training.events import Progress
from tests.support.calls import toy_text
from tests.support.tiny import SETTINGS


class Screen:
    """A notebook's output: what was displayed, and every state that it was in."""

    def __init__(self) -> None:
        self.displayed = 0
        self.states: list[str] = []

    def display(self, what: Any, *, display_id: bool) -> Screen:
        assert display_id
        self.displayed += 1
        return self

    def update(self, what: Any) -> None:
        self.states.append(what._repr_html_())


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """IPython as a kernel has it, with a screen in the place of the browser."""
    found = Screen()
    package, display = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = found.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return found


def test_training_in_a_notebook_shows_its_lines_in_one_output(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(toy_text(60), encoding="utf-8")
    synparse.train(str(tmp_path / "in.txt"), run=str(tmp_path / "run"), settings=list(SETTINGS["onlstm"]))
    assert screen.displayed == 1
    assert "training on" in screen.states[0]
    assert "development" in screen.states[-1]
    assert f"the model is in {tmp_path / 'run'}" in screen.states[-1]
    assert "<progress" not in screen.states[-1]


def test_the_bar_tells_how_far_the_epoch_is() -> None:
    view = TrainingView()
    assert not view.hear(Progress(1, 4, 10, 0.25, 4.0, 54.6, 1000.0, 5.0, 60.0))
    assert view._repr_html_() == (
        '<div><progress max="1" value="0.250"></progress> '
        "epoch 1/4, 01:00 left, perplexity 54.6, 1,000 words/s, step 10, loss 4.00</div>"
    )


def test_outside_a_notebook_nothing_is_shown(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert display_of_notebook() is not None
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())  # in a terminal
    assert display_of_notebook() is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert display_of_notebook() is None
