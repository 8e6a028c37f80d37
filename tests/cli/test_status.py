"""What a person sees of a long call: one line on a terminal of any width, a line a minute in a log."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from cli import progress, status
from cli.status import Lines, Meter, StatusLine
from induce.training.events import Progress, Scoring
from tests.support.calls import Caller
from treebank.io.lines import count_lines

PARTS = ["epoch 1/2", "00:12 left", "perplexity 202", "3,400 words/s", "step 120"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A terminal whose width can be set."""
    width = {"columns": 80}
    monkeypatch.setattr(status.shutil, "get_terminal_size", lambda *given: os.terminal_size((width["columns"], 24)))
    return width


@pytest.mark.parametrize("columns", [200, 100, 80, 60, 40, 30, 12, 3])
def test_the_line_fits_and_the_time_left_goes_last(
    terminal: dict[str, int], capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    terminal["columns"] = columns
    StatusLine().show(PARTS, 0.5)
    shown = capsys.readouterr().err
    assert shown.startswith("\r\x1b[K")
    text = shown.removeprefix("\r\x1b[K")
    assert 0 < len(text) < columns
    assert ("00:12 left" in text) == (columns >= 30)
    assert ("step 120" in text) == (columns >= 80)
    assert text.count("━") == text.count("─") == (10 if columns >= 100 else 0)


def test_a_line_that_stays_is_whole(capsys: pytest.CaptureFixture[str], terminal: dict[str, int]) -> None:
    line = StatusLine()
    line.show(PARTS)
    line.say("x" * 200)
    line.clear()
    assert capsys.readouterr().err.endswith("\r\x1b[K" + "x" * 200 + "\n")


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is half a minute further each time it is asked."""
    now = iter(range(0, 1_000_000, 30))
    monkeypatch.setattr(status.time, "monotonic", lambda: float(next(now)))


def test_a_line_a_minute_in_a_log(hours: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Meter("parsing").over(iter(range(10)), 10)) == list(range(10))
    assert capsys.readouterr().err == (
        "parsing: 30%, 03:30 left, 3 sentences\n"
        "parsing: 50%, 02:30 left, 5 sentences\n"
        "parsing: 70%, 01:30 left, 7 sentences\n"
        "parsing: 90%, 00:30 left, 9 sentences\n"
    )


def test_counts_alone_where_nobody_knows_how_much_there_is(hours: None, capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter("reading")
    for _ in range(5):
        meter.step(lambda: None)
    assert capsys.readouterr().err == "reading: 3 sentences\nreading: 5 sentences\n"


def test_nothing_where_results_go_to_the_same_terminal(
    hours: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "on_terminal", lambda: True)
    meter = Meter("parsing", results_shown=True)
    for _ in range(9):
        meter.step(lambda: 0.5)
    meter.end()
    assert capsys.readouterr().err == ""


def test_training_in_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, hours: None) -> None:
    step = Progress(1, 2, 120, 0.34, 5.3, 202.1, 3400.0, 10.0, 12.0)
    events = [step, step, Scoring(0.4, 60.0), Scoring(0.6, 30.0)]
    assert list(progress.shown(events)) == events
    assert capsys.readouterr().err == (
        "epoch 1/2, 00:12 left, perplexity 202, 3,400 words/s, step 120, loss 5.30\n"
        "scoring the development text, 60%, 00:30 left\n"
    )


def test_lines_of_all_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("a\n" * 30)
    two.write_text("b\n" * 70)
    lines = Lines([str(one), str(two)])
    assert [lines.share(str(one), 15), lines.share(str(two), 20), lines.share("other", 1)] == [0.15, 0.5, None]
    assert Lines([str(one), "-"]).share(str(one), 15) is None
    packed = tmp_path / "three.gz"
    packed.write_bytes(gzip.compress(b"c\n"))
    assert count_lines(str(packed)) is None


def test_parsing_and_evaluating_tell_how_far_they_are(
    call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: None
) -> None:
    text = tmp_path / "in.txt"
    text.write_text("the dog saw a cat\n\n" * 20)
    monkeypatch.setattr(status, "LOG_SECONDS", 0.0)
    code, out, err = call("parse", "-m", model, text)
    assert (code, out.count("\n")) == (0, 40)
    told = [line for line in err.splitlines() if line.startswith("parsing: ")]
    assert told[-1] == "parsing: 100%, 00:00 left, 40 sentences"
    (tmp_path / "gold.ptb").write_text("(S (A the) (B dog))\n" * 3)
    code, out, err = call("eval", "-m", model, "--gold", tmp_path / "gold.ptb")
    assert code == 0, err
    assert "onlstm parses: 100%, 00:00 left, 3 sentences\n" in err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("extract", "-m", "MODEL", "in.ptb"), "extracting: 100%, 00:00 left, 40 sentences"),
        (("score", "-m", "MODEL", "in.ptb"), "scoring: 100%, 00:00 left, 40 sentences"),
        (("convert", "in.ptb", "--to", "text"), "converting: 100%, 00:00 left, 40 sentences"),
        (("eval", "-m", "MODEL", "--text", "in.ptb"), "scoring: 100%, 00:00 left, 240 tokens"),
        (("analyze", "agreement", "-m", "MODEL", "--baseline", "right", "--text", "in.ptb"), "parsing: 100%, "),
    ],
)
def test_long_calls_tell_how_far_they_are(
    call: Caller,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hours: None,
    command: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.ptb").write_text("(S (NP (A the) (B dog)) (VP (C saw) (NP (A a) (B cat))))\n" * 40)
    monkeypatch.setattr(status, "LOG_SECONDS", 0.0)
    monkeypatch.setattr("induce.likelihood.units.STREAM_TOKENS", 60)
    code, _, err = call(*(model if part == "MODEL" else part for part in command))
    assert code == 0, err
    lines = [line for line in err.splitlines() if line.startswith(told.partition(" ")[0])]
    assert lines[-1].startswith(told)
