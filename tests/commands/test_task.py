"""Models of tasks, and a model of plain text that predicts a stack, in every command."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run as run_cli
from induce.analysis.sweep import sweep
from induce.tasks.encoders.sequences import MemoryEncoder
from tests.support.calls import Caller, set_options
from tests.support.model_files import MODEL, RESUME, content_of, rewrite

TINY = ("task.expressions=60", "train.epochs=1", "loader.batch_size=16")
SHORT = "task.longest=12"  # of listops
FEW = "task.operators=2"  # of logic
OM = ("model.slot_size=8", "model.slots=4", "model.test_slots=5")


@pytest.fixture(scope="module")
def folder(tiny_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with tiny models of both tasks and of plain text. Tests must not change it."""
    path = tmp_path_factory.mktemp("tasks")
    (path / "text").symlink_to(tiny_model("ordered-memory"))
    runs = [["listops", *set_options(*TINY, SHORT, *OM)], ["logic", *set_options(*TINY, FEW, *OM)]]
    runs.append(["listops", "--model", "lstm", *set_options(*TINY, SHORT, "model.hidden_size=8")])
    for name, (task, *rest) in zip(("listops", "logic", "lstm"), runs, strict=True):
        assert run_cli(["task", "train", task, "-o", str(path / name), *rest]) == 0
    return path


@pytest.fixture(autouse=True)
def _work(working_folder: Path) -> None:
    Path("in.txt").write_text("[MAX 2 9 [MIN 4 7 ] 0 ]\n\n7\n[SM 1 2 ]\n", encoding="utf-8")


@pytest.mark.parametrize("name", ["listops", "text"])
def test_extract_and_decode_reproduce_the_trees_of_parse(call: Caller, folder: Path, name: str) -> None:
    trees = call.result("parse", "-m", folder / name, "in.txt")
    lines = call.result("extract", "-m", folder / name, "in.txt", "--what", "stack")
    Path("stack.jsonl").write_text(lines, encoding="utf-8")
    assert call.result("decode", "stack.jsonl") == trees
    assert call.result("decode", "stack.jsonl", "--decoder", "shift-reduce") == trees
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [len(row["stack"]) for row in rows] == [len(row.get("indices", row["words"])) for row in rows]
    assert "decoder" not in rows[0]


def test_expressions_are_text_unless_a_suffix_names_another_format(call: Caller, folder: Path) -> None:
    Path("only.txt").write_text("[MAX 2 9 [MIN 4 7 ] 0 ]\n", encoding="utf-8")
    Path("one.conllu").write_text("1\t7\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    model = ("-m", folder / "listops")
    assert "[MAX 2 9 [MIN 4 7 ] 0 ]" in call.result("draw", "only.txt", *model)
    assert json.loads(call.result("extract", "only.txt", "--what", "gates", *model))["words"][0] == "[MAX"
    assert call.result("parse", "one.conllu", *model) == "(X (W 7))\n"


def test_run_is_resumed_by_the_name_of_its_task(call: Caller, folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folder / "listops", tmp_path / "run")
    code, _, err = call("task", "train", "listops", "--resume", "-o", run, "--seed", "1", "--set", "train.epochs=2")
    assert code == 0, err
    assert "all epochs done" in err
    message = call.usage("task", "train", "logic", "--resume", "-o", run)
    assert "task cannot change on --resume: the run keeps listops" in message
    assert "--seed cannot change on --resume: the run keeps 1" in call.usage(
        "task", "train", "listops", "--resume", "-o", run, "--seed", "2"
    )


def test_missing_settings_of_a_model_are_reported(call: Caller, folder: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(folder / "listops", tmp_path / "run")) / MODEL
    rewrite(path, content=lambda content: content["settings"].update(model={}))
    Path("test.tsv").write_text("7\t7\n", encoding="utf-8")
    message = call.refusal("task", "eval", "listops", "test.tsv", "-m", tmp_path / "run")
    assert "weights and settings do not fit together: 'classifier_dropout'" in message


def test_sweep_groups_accuracy_by_a_setting(call: Caller, folder: Path) -> None:
    Path("test.tsv").write_text("9\t( ( ( [MAX 2 ) 9 ) ] )\n7\t7\n1\t( ( ( [MIN 2 ) 1 ) ] )\n", encoding="utf-8")
    document = call.json("task", "eval", "listops", "test.tsv", "-m", folder / "listops")
    (score,) = document["scores"]
    low, high = score["interval"]
    assert 0 <= low <= score["value"] <= high <= 100
    assert high - low > 30  # there are only three examples
    Path("scores.json").write_text(json.dumps(document), encoding="utf-8")
    report = call.json("analyze", "sweep", "scores.json", "--setting", "task.expressions")
    rows = {row["metric"]: (row["setting"], row["mean"]) for row in report["scores"]}
    assert rows == {"accuracy": (60, score["value"]), "UF1": (60, score["trees"]["value"])}


def test_sweep_groups_perplexity_and_minimal_pairs_by_a_setting(folder: Path) -> None:
    run = {"run": str(folder / "text"), "signature": "s"}
    text = {"text": {"name": "t.txt"}, "scores": [{**run, "metric": "PPL", "value": 3.0}]}
    result = sweep(text, "model.slots")
    assert (result.data, result.names, [runs.mean for by in result.scores.values() for runs in by.values()]) == (
        "t.txt",
        ["PPL"],
        [3.0],
    )
    pairs = {"chance": 50.0, "scores": [{"run": "", "mean": 50.0, "signature": "s"}, {**run, "mean": 61.0}]}
    result = sweep(pairs, "model.slots")
    assert [runs.mean for by in result.scores.values() for runs in by.values()] == [61.0]
    with pytest.raises(ValueError, match="contains no scores of models"):
        sweep({"text": {"name": "t"}, "scores": [{**run, "metric": "PPL", "value": None}]}, "model.slots")


def test_eval_reports_accuracy_by_size_and_tree_scores(call: Caller, folder: Path) -> None:
    lines = ["9\t( ( ( [MAX 2 ) 9 ) ] )", "1\t( ( ( [MIN ( ( ( [MAX 2 ) 9 ) ] ) ) 1 ) ] )", "7\t7"]
    Path("test.tsv").write_text("\n".join(lines * 4) + "\n", encoding="utf-8")
    out = call.result("task", "eval", "listops", "test.tsv", "-m", folder / "listops", "-m", folder / "lstm")
    accuracies, trees = (
        re.findall(start + r".*\|(model:\S+\|checkpoint:\w{8})(?:\|decoder:.*)?\|data:test\.tsv\|", out)
        for start in (r"accuracy\|task:listops", r"UF1\|conv:evalb")
    )
    assert [name.partition("|")[0] for name in accuracies] == ["model:ordered-memory", "model:lstm"]
    assert trees == accuracies[:1]
    document = call.json("task", "eval", "listops", "test.tsv", "-m", folder / "listops", "-m", folder / "lstm")
    memory, lstm = document["scores"]
    assert memory["groups"]["learned"][1] == memory["groups"]["1-10"][1] == 12
    assert memory["trees"]["sentences"] == 12
    assert "trees" not in lstm
    shorter = call.json("task", "eval", "listops", "test.tsv", "-m", folder / "lstm", "--max-length", 1)
    assert shorter["scores"][0]["groups"]["learned"][1] == 4


def test_eval_counts_examples_for_each_training_size(call: Caller, folder: Path) -> None:
    Path("test.tsv").write_text("1\t( ( ( [MIN ( ( ( [MAX 2 ) 9 ) ] ) ) 1 ) ] )\n7\t7\n", encoding="utf-8")
    settings = set_options(*TINY, "task.longest=6", "model.hidden_size=8")
    call.result("task", "train", "listops", "--model", "lstm", "-o", "short", *settings)
    command = ("task", "eval", "listops", "test.tsv", "--format", "csv", "-m", folder / "lstm", "-m")
    rows = [line for line in call.result(*command, "short").splitlines() if ",examples," in line]
    assert [row.partition(",examples,")[2] for row in rows] == ["2,2,2,", "2,1,2,1"]
    rows = [line for line in call.result(*command, folder / "listops").splitlines() if ",examples," in line]
    assert rows == [",examples,2,2,2"]


@pytest.mark.parametrize("name", ["gumbel-tree-lstm", "crvnn", "rl-spinn"])
def test_model_that_learns_trees_from_answers_is_scored_and_parses(call: Caller, name: str) -> None:
    lines = ["9\t( ( ( [MAX 2 ) 9 ) ] )", "1\t( ( ( [MIN ( ( ( [MAX 2 ) 9 ) ] ) ) 1 ) ] )", "7\t7"]
    Path("test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    call.result(
        "task", "train", "listops", "--model", name, "-o", "run", *set_options(*TINY, SHORT, "model.hidden_size=8")
    )
    (score,) = call.json("task", "eval", "listops", "test.tsv", "-m", "run")["scores"]
    assert (score["groups"]["learned"][1], score["trees"]["sentences"]) == (3, 3)
    trees = call.result("parse", "-m", "run", "in.txt").splitlines()
    assert [tree.count("(W") for tree in trees] == [9, 0, 1, 4]
    assert [tree.count("(X") for tree in trees] == [8, 0, 1, 3]
    Path("trees.jsonl").write_text(call.result("extract", "-m", "run", "in.txt"), encoding="utf-8")
    assert call.result("decode", "trees.jsonl").splitlines() == trees


def test_eval_generates_pairs_without_a_file(call: Caller, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("induce.tasks.accuracy.GENERATED", 60)
    out = call.json("task", "eval", "logic", "-m", folder / "logic")
    (score,) = out["scores"]
    assert score["groups"]["learned"][1] + score["groups"]["longer"][1] == 60
    assert score["trees"]["sentences"] == 120


def test_training_on_files_can_be_resumed(call: Caller) -> None:
    lines = ["9\t( ( ( [MAX 2 ) 9 ) ] )", "2\t( ( ( [MIN 2 ) 9 ) ] )"] * 30
    Path("train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["listops", "train.tsv", "-o", "run", *set_options(*TINY[1:], SHORT, *OM)]
    assert "no effect on examples from a FILE" in call.usage("task", "train", *arguments, "--set", TINY[0])
    code, _, err = call("task", "train", *arguments)
    assert code == 0, err
    assert "training on 57 examples, " in err
    assert "; best development accuracy " in err
    assert err.splitlines()[-1].startswith("next: synparse task eval listops -m run ")
    Path("small.tsv").write_text(lines[0] + "\n", encoding="utf-8")
    message = call.refusal("task", "train", "listops", "small.tsv", "--dev", "train.tsv", "-o", "small", *arguments[4:])
    assert message.endswith("; at least 20 are needed")
    call.result("train", "--resume", "-o", "run", "--set", "train.epochs=2")
    assert "accuracy" in (Path("run") / "log.jsonl").read_text(encoding="utf-8")
    stored = content_of(Path("run", RESUME))
    assert (stored["settings"]["task_name"], stored["facts"]["epoch"]) == ("listops", 3)


def test_incompatible_models_and_options_are_refused(call: Caller, folder: Path) -> None:
    problem = call.refusal("task", "eval", "logic", "-m", folder / "listops")
    assert problem == f"{folder / 'listops'}: this model has learned listops, not task 'logic'"
    problem = call.refusal("task", "eval", "logic", "-m", folder / "text")
    assert problem == f"{folder / 'text'}: this model has learned plain text, not task 'logic'"
    assert call.refusal("parse", "-m", folder / "lstm", "in.txt") == (
        "model 'lstm' gives no trees; score it with synparse task eval listops"
    )
    assert call.refusal("parse", "-m", folder / "text", "in.txt", "--decoder", "eisner", code=2) == (
        "model 'ordered-memory' gives stack; decoder 'eisner' needs heads (try 'shift-reduce')"
    )
    problem = "this 'lstm' was trained on the task listops, not on text; score it with synparse task eval listops"
    for options in ((), ("--per", "sentence")):
        assert call.refusal("perplexity", "in.txt", "-m", folder / "lstm", *options) == f"{folder / 'lstm'}: {problem}"
    assert "--gold" in call.usage("eval", "-m", folder / "text")
    assert "No such option '--encoding'" in call.usage("task", "train", "listops", "--encoding", "latin-1")
    problem = call.refusal("task", "train", "sums", code=2)
    assert problem == "there is no task 'sums'; known: craft, listops, logic, nli, similarity"


def test_first_slot_equals_that_of_the_released_program(folder: Path) -> None:
    from induce.parsing.load import load_parser
    from induce.structures import StackDecisions

    parser = load_parser(str(folder / "listops"))
    assert isinstance(parser.model.encoder, MemoryEncoder)
    readings = list(parser.predict([["[MAX", "1", "2", "]"], ["7"]]))
    assert all(reading.structure is StackDecisions and reading.row[0] == 5 for reading in readings)


def test_eval_reports_mean_and_deviation_of_a_pattern(call: Caller, folder: Path) -> None:
    """The mean of two links to one model is its accuracy."""
    Path("test.tsv").write_text("9\t( ( ( [MAX 2 ) 9 ) ] )\n7\t7\n", encoding="utf-8")
    for name in ("seed-1", "seed-2"):
        Path(name).symlink_to(folder / "lstm")
    document = call.json("task", "eval", "listops", "test.tsv", "-m", "seed-*")
    values = {score["model"]: score["value"] for score in document["scores"]}
    assert [score["system"] for score in document["scores"]] == ["seed-1", "seed-2"]
    assert document["groups"][0]["systems"] == "seed-*"
    assert document["groups"][0]["mean"] == values["seed-1"] == values["seed-2"]
    assert document["groups"][0]["sd"] == 0
    out = call.result(
        "task", "eval", "listops", "test.tsv", "-m", "seed-*", "-m", folder / "listops", "--plot", "a.svg"
    )
    plot = Path("a.svg").read_text("utf-8")
    assert all(f">{name}<" in plot for name in ("Accuracy on test.tsv", "1-10", "seed-*", f"{folder}/listops"))
    assert "this file is read" in call.refusal("task", "eval", "listops", "a.svg", "-m", "seed-1", "--plot", "a.svg")
    assert next(line for line in out.splitlines() if line.startswith("seed-*")).split()[1] == "2"
    assert "groups" not in call.json("task", "eval", "listops", "test.tsv", "-m", "seed-1")
