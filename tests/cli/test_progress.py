"""Progress of long calls: one updating line on a terminal, one line per minute in a log."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from rich.console import Console

from cli import progress
from cli.options import note
from cli.progress import Counter, Display, FilePositions
from cli.training_progress import part_status, with_progress
from induce.training.events import PartProgress, Progress, Scoring
from tests.support.calls import Caller, toy_text


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by ten seconds each time it is read."""
    now = iter(range(0, 1_000_000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A console that is a terminal of 80 columns and records its output."""
    console = Console(force_terminal=True, width=80, record=True, stderr=True)
    monkeypatch.setattr(progress, "has_terminal", lambda: True)
    monkeypatch.setattr("rich.console.Console", lambda **options: console)
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.0)
    return console


def test_log_has_one_line_per_minute(hours: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Counter("parsing").track(iter(range(10)), 10)) == list(range(10))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("parsing: ") and line.endswith(" sentences") for line in lines)
    assert "left" in lines[-1]
    counter = Counter("reading")
    for _ in range(9):
        counter.step(None)
    assert "%" not in capsys.readouterr().err


def test_long_status_wraps_in_a_terminal_of_80_columns(terminal: Console) -> None:
    does = "learns grammars, two from these phrases and two from the words alone"
    status = part_status(PartProgress(part=2, parts=5, does=does, minutes=11.0, minutes_left=8.2, share=0.6))
    Display().show(*status)
    minute, _, *words = terminal.export_text().partition("minute ")[2].split()
    assert minute == "12"
    assert " ".join(words) == f"part 2 of 5: {does}, about 8 min left"


def test_lines_of_a_training_break_between_words(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text(toy_text(), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")  # without an updating line
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    code, _, err = call("train", tmp_path / "text.txt", "--model", "segment-edges", "-o", tmp_path / "run")
    assert code == 0
    assert [line for line in err.splitlines() if len(line) > 40 and " " in line.strip()] == []
    assert "0 weights, on cpu" in " ".join(err.split())


def test_terminal_shows_activity_and_count(terminal: Console, capsys: pytest.CaptureFixture[str]) -> None:
    counter = Counter("parsing")
    counter.step(0.25)
    counter.step(0.5)
    counter.print("a line that stays")
    text = terminal.export_text()
    assert "parsing" in text
    assert "50%" in text
    assert "2 sentences" in text
    assert "a line that stays" in capsys.readouterr().err


def test_note_replaces_the_updating_line(terminal: Console, capsys: pytest.CaptureFixture[str]) -> None:
    counter = Counter("parsing")
    counter.step(0.5)
    note("a note")
    counter.close()
    assert "\x1b[2Knote: a note\n" in capsys.readouterr().err


def test_nothing_is_shown_if_results_go_to_the_same_terminal(terminal: Console) -> None:
    counter = Counter("parsing", hidden=True)
    for number in range(9):
        counter.step(number / 9)
    counter.close()
    assert "parsing" not in terminal.export_text()


def test_short_calls_on_a_terminal_do_not_load_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "has_terminal", lambda: True)
    monkeypatch.setattr("rich.console.Console", None)
    display = Display()
    display.show("parsing", ["1 sentence"], 0.5)
    display.close()


def test_short_calls_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    display.show("parsing", ["1 sentence"], 0.5)
    display.close()
    assert capsys.readouterr().err == ""


def test_training_progress_shows_the_epoch(terminal: Console) -> None:
    event = Progress(1, 2, 120, 0.5, 5.3, 202.0, 3400.0, 10.0, 12.0)
    assert list(with_progress([event, Scoring(0.5, 3.0)])) == [event, Scoring(0.5, 3.0)]
    text = terminal.export_text()
    assert "epoch 1/2" in text
    assert "perplexity 202" in text
    assert "scoring the development text" in text


def test_file_positions_are_fractions_of_all_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("1\n2")
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    positions = FilePositions([first, second])
    assert [positions.fraction(first, 1), positions.fraction(second, 2)] == [0.25, 1.0]
    assert positions.fraction("c", 1) is None
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"1\n2\n"))
    assert FilePositions([str(tmp_path / "c.gz")]).fraction(str(tmp_path / "c.gz"), 1) is None


@pytest.mark.parametrize(
    ("command", "activity"),
    [
        ("parse -m MODEL", "parsing"),
        ("extract -m MODEL", "extracting"),
        ("perplexity --per sentence -m MODEL", "scoring"),
        ("perplexity -m MODEL", "scoring"),
        ("convert --format text", "converting"),
        ("analyze agreement --baseline right -m MODEL", "parsing"),
    ],
)
def test_long_calls_report_progress(
    call: Caller, model: Path, working_folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, activity: str
) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    Path("in.ptb").write_text("(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n" * 40)
    code, _, err = call(*command.replace("MODEL", str(model)).split(), "in.ptb")
    assert code == 0, err
    assert f"{activity}: " in err
