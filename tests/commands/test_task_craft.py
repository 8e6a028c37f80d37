"""Craft from the command line: training, resuming, segments, scores and transfer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from induce.settings.presets import load_preset
from induce.tasks.craft.demonstrations import Craft, CraftSettings
from tests.support.calls import Caller, set_options
from tests.support.model_files import MODEL, RESUME, weights_of

SMALL = set_options(
    *("task.expressions=45", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=15", "train.epochs=2")
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model folder of a small policy."""
    from cli.main import run

    folder = tmp_path_factory.mktemp("craft") / "run"
    assert run(["task", "train", "craft", *SMALL, "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of six demonstrations, with an empty line after the first."""
    path = tmp_path_factory.mktemp("demonstrations") / "demonstrations.txt"
    lines = list(map(str, Craft().generate(CraftSettings(), "test", 6)))
    path.write_text("\n".join([lines[0], "", *lines[1:]]) + "\n", encoding="utf-8")
    return path


def test_training_logs_loss_and_accuracy(trained: Path) -> None:
    log = [json.loads(line) for line in (trained / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    checks = [line for line in log if line["event"] == "check"]
    assert len(checks) == 2
    assert checks[1]["development_loss"] < checks[0]["development_loss"]
    assert 0 < checks[1]["development_accuracy"] < 1


def test_resumed_run_ends_with_the_same_weights(trained: Path, tmp_path: Path, call: Caller) -> None:
    run = tmp_path / "run"
    call.result("task", "train", "craft", *SMALL, "--set", "train.epochs=1", "-o", run)
    call.result("train", "--resume", "--set", "train.epochs=2", "-o", run)
    assert weights_of(run / RESUME) == weights_of(trained / RESUME)


def test_parse_and_extract_segment_trajectories(trained: Path, demonstrations: Path, call: Caller) -> None:
    lines = demonstrations.read_text(encoding="utf-8").splitlines()
    trees = call.result("parse", "-m", trained, demonstrations).splitlines()
    assert len(trees) == 7
    for line, tree in zip(lines, trees, strict=True):
        assert re.findall(r"\(W (\w+)\)", tree) == line.split()[2:]
    extracted = [json.loads(line) for line in call.result("extract", "-m", trained, demonstrations).splitlines()]
    assert [len(line["distances"]) for line in extracted] == [len(text.split()[2:]) for text in lines]
    assert all(line["distances"][0] == 1 for line in extracted if line["words"])
    binary = call.result("parse", "-m", trained, "--decoder", "unbiased", demonstrations)
    assert binary.count("(X") == sum(max(0, len(line["words"]) - 1) for line in extracted)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("AC use", "1: expected a task, a map and actions"),
        ("BD {map} use", r"1: task 'BD' is not one of the tasks of this model \(AC CD DA\)"),
        ("AC {map} jump", "1: 'jump' is not an action"),
        ("AC ./. use", "1: a map has 8 lines of 8 cells"),
    ],
)
def test_malformed_trajectory_is_refused(trained: Path, tmp_path: Path, call: Caller, line: str, problem: str) -> None:
    world = ">w.i..../......../......../......../......../......../......../........"
    path = tmp_path / "demonstrations.txt"
    path.write_text(line.format(map=world) + "\n", encoding="utf-8")
    assert re.search(problem, call.refusal("parse", "-m", trained, path))


def test_eval_reports_scores_and_options(
    trained: Path, demonstrations: Path, tmp_path: Path, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("induce.tasks.craft.policy_scores.WORLDS", 2)
    document = call.json("task", "eval", "craft", "-m", trained, "-m", trained / MODEL, demonstrations)
    score, same_score, mean = document["scores"]
    assert score["values"] == same_score["values"] == mean["values"]
    assert set(mean["deviations"].values()) == {0.0}
    assert set(score["values"]) == {
        *("actions", "F1 tol 0", "F1 tol 1", "F1 own", "align", "NMI"),
        *(f"{measure} {sketch}" for measure in ("success", "calls") for sketch in ("AC", "CD", "DA")),
    }
    assert all(0 <= value <= 100 for value in score["values"].values())
    assert score["values"]["F1 tol 0"] >= 50  # the last end is given
    assert list(score["options"]) == ["A (get wood)", "C (get iron)", "D (get grass)"]
    (tmp_path / "scores.json").write_text(json.dumps(document), encoding="utf-8")
    swept = call.json("analyze", "sweep", tmp_path / "scores.json", "--setting", "model.temperature")
    measured = {row["metric"]: row for row in swept["scores"]}
    assert measured.keys() == score["values"].keys()
    assert measured["NMI"]["setting"] == load_preset("craft-small").model["temperature"]
    assert mean["signature"] == score["signature"]
    table = call.result("task", "eval", "craft", "-m", trained, demonstrations)
    assert "success of each option by itself" in table
    assert re.search(r"^craft\|model:ocn\|checkpoint:\w{8}\|data:", table, re.MULTILINE)
    assert "|demonstrations:6|" in table


@pytest.mark.parametrize("model", ["moe", "ompn", "compile"])
def test_baselines_are_trained_scored_and_parse(
    tmp_path: Path, demonstrations: Path, call: Caller, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setattr("induce.tasks.craft.policy_scores.WORLDS", 3)
    size = ["model.slot_size=6"] if model == "ompn" else ["model.hidden_size=6"]
    settings = set_options(*size, "task.expressions=15", "train.epochs=1")
    call.result("task", "train", "craft", "--model", model, *settings, "-o", tmp_path / "run")
    score = call.json("task", "eval", "craft", "-m", tmp_path / "run", demonstrations)["scores"][0]
    assert ("NMI" in score["values"]) == (model != "ompn")
    assert ("success AC" in score["values"]) == (model != "compile")  # CompILE reads complete demonstrations
    assert "options" not in score
    assert len(call.result("parse", "-m", tmp_path / "run", demonstrations).splitlines()) == 7


def test_options_are_reported_along_demonstrations(
    trained: Path, demonstrations: Path, tmp_path: Path, call: Caller
) -> None:
    lines = [line.split() for line in demonstrations.read_text(encoding="utf-8").splitlines() if line]
    picture = tmp_path / "steps.svg"
    analyses = call.json("task", "options", "-m", trained, demonstrations, "--plot", picture)
    assert [(analysis["task"], analysis["actions"]) for analysis in analyses] == [(line[0], line[2:]) for line in lines]
    for analysis in analyses:
        assert analysis["switch"][0] == 1
        assert all(abs(sum(choice) - 1) < 1e-5 and len(choice) == 3 for choice in analysis["options"])
        assert len(analysis["switch"]) == len(analysis["options"]) == analysis["ends"][-1] + 1
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.count(">switch<") == len(analyses)
    assert drawn.count(">option 3<") == len(analyses)
    table = call.result("task", "options", "-m", trained).splitlines()
    assert [line for line in table if line in ("AC", "CD", "DA")] == ["AC", "CD", "DA"]
    assert sum(bool(re.search(r" use +[ACD] ", line)) for line in table) == 6
    assert "end the name in .svg" in call.refusal("task", "options", "-m", trained, "--plot", "steps.bmp")


def test_curves_report_accuracy_by_step(trained: Path, tmp_path: Path, call: Caller) -> None:
    picture = tmp_path / "curves.svg"
    curve = call.json("task", "curves", "-m", trained, "--plot", picture)[0]
    assert [step for step, _ in curve["points"]] == [3, 6]
    assert all(0 < value < 100 for _, value in curve["points"])
    assert ">percent<" in picture.read_text(encoding="utf-8")
    assert f"{curve['points'][-1][1]:.1f}" in call.result("task", "curves", "-m", trained)


def test_demonstrations_have_no_returns(trained: Path, call: Caller) -> None:
    problem = f"{trained}: this run learns from demonstrations, without returns; name runs of task transfer"
    assert call.refusal("task", "curves", "-m", trained, "--what", "return") == problem


def test_options_learn_a_new_task(trained: Path, tmp_path: Path, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    monkeypatch.setattr("induce.tasks.craft.policy_scores.WORLDS", 2)
    monkeypatch.setattr("induce.tasks.craft.policy_scores.GENERATED", 3)
    run, small = tmp_path / "a new", ("--set", "loader.batch_size=32", "--set", "train.epochs=1")
    code, _, messages = call("task", "transfer", "-m", trained, "--sketch", "DCA", *small, "-o", run)
    assert code == 0, messages
    assert "iteration 1/1: 128 calls, success" in messages
    assert f"model folder: {run}\nnext: synparse task eval craft -m '{run}'\n" in messages
    other = tmp_path / "other"
    limited = call("task", "transfer", "-m", trained, *small, "-o", other, "--max-minutes", 1e-9)[2]
    assert "time limit reached after" in limited
    assert f"model folder: {other}; to continue: synparse task transfer --resume -o {other}\n" in limited
    log = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    (curve,) = call.json("task", "curves", "-m", run, "--what", "return", "--plot", tmp_path / "returns.svg")
    assert curve["points"] == [[event["calls"], event["reward"]] for event in log] != []
    assert ">return<" in (tmp_path / "returns.svg").read_text(encoding="utf-8")
    assert "Best return" in call.result("task", "curves", "-m", run, "--what", "return")
    assert "there is no return" in call.refusal("task", "curves", "-m", run / RESUME, "--what", "return")
    score = call.json("task", "eval", "craft", "-m", run)["scores"][0]
    assert {"success DCA", "calls DCA", "NMI"} <= score["values"].keys()
    assert "calls of the options of" in call.result("info", "-m", run)
    exclusive = ["-m", trained, "--from-scratch"], ["--from-scratch", "--unfrozen"], ["--resume", "-m", trained]
    for arguments in ([], *exclusive):
        assert call("task", "transfer", *arguments, "-o", run)[0] == 2
    for command, correct, resumed in (("train", "task transfer", run), ("task transfer", "train", trained)):
        message = call.refusal(*command.split(), "--resume", "-o", resumed)
        assert message.endswith(f"resume it with: synparse {correct} --resume -o {shlex.quote(str(resumed))}")
    message = call.refusal("perplexity", "sample", "-m", other)
    assert message.endswith(f"not been trained yet; resume with: synparse task transfer --resume -o {other}")


def test_incompatible_models_and_settings_are_refused(
    trained: Path, tiny_model: Callable[..., Path], call: Caller
) -> None:
    problem = f"{tiny_model('lstm')}: this model has learned plain text, not task 'craft'"
    assert call.refusal("task", "curves", "-m", tiny_model("lstm")) == problem
    assert "has learned craft, not task 'listops'" in call.refusal("task", "eval", "listops", "-m", trained)
    assert "moe" in call.refusal("task", "train", "craft", "--model", "lstm", "-o", trained / "new", code=2)
    problem = call.refusal("task", "train", "craft", *SMALL, "--set", "task.sketches=AC", "-o", trained / "new")
    assert "model.tasks = 3, and task.sketches names 1" in problem


def test_curves_continue_after_the_best_step(tmp_path: Path, call: Caller) -> None:
    for epochs in (1, 3):
        call.result("task", "train", "craft", *SMALL, "--set", f"train.epochs={epochs}", "-o", tmp_path / str(epochs))
    (tmp_path / "1" / MODEL).replace(tmp_path / "3" / MODEL)
    log = [json.loads(line) for line in (tmp_path / "3" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    checks = [event for event in log if event["event"] == "check"]
    points = call.json("task", "curves", "-m", tmp_path / "3")[0]["points"]
    assert points == [[check["step"], 100 * check["development_accuracy"]] for check in checks]
    assert len(points) == 3
