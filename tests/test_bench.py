"""Benchmark programs: their imports, comparison of timings with noise, and tables."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import choice, gpu, languages, pairs, similarity, tables, trees
from bench.all import table as machine_table
from bench.compare import verdict
from bench.figures import FULL, QUICK, ROOT, TOOLS, benchmarks, numbers
from bench.machine import processor, slug

BENCH = sorted((ROOT / "bench").glob("*.py"))


@pytest.mark.parametrize("path", BENCH, ids=lambda path: path.name)
def test_benchmark_imports_no_tests_except_support_code(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names = [name for name in names if not name.startswith("tests.support")]
        assert not [name for name in names if name.split(".")[0] in ("tests", "conftest")]


def test_quick_and_full_options_name_existing_benchmarks() -> None:
    assert set(QUICK) == set(FULL) <= set(benchmarks())
    assert {*benchmarks(), *TOOLS} == {path.stem for path in BENCH}


def test_numbers_of_nested_results_have_paths() -> None:
    result = {"machine": "x", "train small": {"words/s": 3, "same": True}, "rows": [{"ms": 0.5}]}
    assert dict(numbers(result)) == {"train small / words/s": 3.0, "rows / 0 / ms": 0.5}
    sized = [{"grammar": "full", "length": count, "words a second": 2.5 * count} for count in (10, 20)]
    assert dict(numbers(sized)) == {
        "grammar full, length 10 / words a second": 25.0,
        "grammar full, length 20 / words a second": 50.0,
    }


@pytest.mark.parametrize(
    ("old", "new", "slower"),
    [
        ([100.0, 101.0, 102.0], [99.5, 100.0, 101.0], False),  # within 3 %
        ([100.0, 101.0, 102.0], [90.0, 91.0, 92.0], True),
        ([100.0, 60.0, 70.0], [90.0, 80.0, 85.0], False),  # the repetitions of one tree differ more
        ([50.0, 50.0, 50.0], [80.0, 80.0, 80.0], False),
    ],
)
def test_slowdown_is_distinguished_from_noise(old: list[float], new: list[float], slower: bool) -> None:
    ratio, noise, is_slower = verdict(old, new)
    assert ratio == pytest.approx(max(new) / max(old))
    assert 0 <= noise < 1
    assert is_slower is slower


def test_table_has_one_column_per_machine(tmp_path: Path) -> None:
    facts = '"features": ["avx2"], "cores": 2, "threads": 2, "load": 0.1, "torch": "2", "python": "3"'
    for name, figures in (("One", '{"a": 1, "b": 2}'), ("Two", '{"b": 3.5}')):
        text = f'{{"machine": {{"processor": "{name}", {facts}}}, "figures": {figures}}}'
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    text = machine_table(tmp_path)
    assert "|  | One | Two |" in text
    assert "| a | 1 |  |" in text
    assert "| b | 2 | 3.5 |" in text


def test_cpu_has_a_name() -> None:
    name, features = processor()
    assert name
    assert all(isinstance(feature, str) for feature in features)
    assert slug("Intel(R) Xeon(R) CPU @ 2.50GHz") == "intel-xeon-cpu"


def test_table_of_trees_has_means_over_seeds_by_minutes() -> None:
    base = {"kind": "right", "seed": 0, "minutes": 0.0, "UF1": 37.0}
    values = {(1, 5.0): 40.0, (2, 5.0): 44.0, (1, 20.0): 50.0}
    rows = [base, *({"kind": "prpn", "seed": s, "minutes": m, "UF1": value} for (s, m), value in values.items())]
    assert trees.table(rows).splitlines()[0] == "| UF1 | 5 min | 20 min |"
    assert trees.table(rows).splitlines()[2:] == ["| right | 37.0 | 37.0 |", "| prpn | 42.0 ± 2.8 (44.0) | 50.0 |"]


def test_gpu_benchmark_runs_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [
        "model.embedding_size=16",
        "model.hidden_size=24",
        "model.layers=1",
        "loader.batch_size=8",
        "parse.layer=1",
    ]
    figures = gpu.measured("onlstm-small", "cpu", small, steps=2, count=60)
    assert figures["percent of equal trees"] == 100.0
    assert figures["largest difference of losses"] == 0.0
    assert all(value > 0 for name, value in figures.items() if "words a second" in name or "times" in name)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="PyTorch finds no GPU here: nothing was measured"):
        gpu.main()


def test_table_of_languages_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only seeds without scores and other settings are trained."""
    calls: list[str] = []
    udgn: list[str] = []

    def synparse(arguments: Sequence[str]) -> tuple[str, float]:
        calls.append(arguments[0])
        if arguments[0] == "train" and "3" in arguments:
            raise SystemExit("stopped")
        if arguments[0] == "train":
            udgn[:] = [argument for argument in arguments if argument == "udgn"]
        values = {"next": 30.0, "previous": 20.0, ("udgn" if udgn else "dmv"): 40.0 + len(calls)}
        values |= {"ensemble": 50.0} if any(argument.endswith("-vote") for argument in arguments) else {}
        scores = [{"system": name, "metric": m, "value": v} for name, v in values.items() for m in ("UAS", "UUAS")]
        return json.dumps({"scores": scores}), 1.0

    gold = tmp_path / "own.conllu"
    gold.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    monkeypatch.setattr(languages, "synparse", synparse)
    monkeypatch.setattr(languages, "LANGUAGES", (languages.Language("Own", "own.conllu", ("own.conllu",)),))
    monkeypatch.setattr(languages, "RESULTS", tmp_path / "results" / "languages.json")

    def run(*options: str) -> int:
        calls.clear()
        monkeypatch.setattr("sys.argv", ["languages.py", "--data", str(tmp_path), *options])
        languages.main()
        return calls.count("train")

    with pytest.raises(SystemExit, match="stopped"):
        run("--seeds", "3")
    assert run("--seeds", "2") == 0
    captured = capsys.readouterr()
    assert captured.out.split("\n")[2] == "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 43.0 ± 1.4 / 43.0 ± 1.4 | 1 |"
    assert "scores are stored already" in captured.err
    assert run("--seeds", "1", "--student", "biaffine") == 2
    assert "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 44.0 / 44.0 | 50.0 / 50.0 | 2 |" in capsys.readouterr().out
    assert run("--seeds", "2") == 0
    capsys.readouterr()
    assert run("--seeds", "1", "--comparators") == 2
    rows = capsys.readouterr().out.splitlines()
    assert rows[-3] == "| data | next | previous | dmv | plain DMV | UDGN, 11 minutes | seconds |"
    assert rows[-1].endswith("| 43.0 ± 1.4 / 43.0 ± 1.4 | 42.0 / 42.0 | 44.0 / 44.0 | 1 |")


def test_table_of_pairs_has_a_row_per_phenomenon() -> None:
    half = {"value": 50.0, "interval": [9.5, 90.5], "pairs": 2}
    score = {"system": "lstm", "phenomena": {"a": half}, "groups": {"short": half}, "overall": half, "mean": 50.0}
    score |= {"known": None, "own_tree": {"connected": half, "apart": None}, "unknown_percent": 100, "tied_percent": 0}
    lines = pairs.table([score], "own").splitlines()
    assert lines[0] == "| own | pairs | lstm |"
    assert "| a | 2 | 50.0 [10, 90] |" in lines
    assert "| own tree connects verb and subject | | 50.0 [10, 90] of 2 |" in lines
    assert "| without an unknown word | |  |" in lines


def test_a_row_of_similarity() -> None:
    score = {kind: {"value": 0.5, "interval": [0.4, 0.6]} for kind in ("spearman", "pearson")}
    row = similarity.row(
        "x", {Path(path).name: score for path in similarity.TESTS.values()}, {"UAS": 30.0, "UUAS": 40.0}
    )
    assert row == "| x | " + "50.0 [40.0, 60.0] | " * 4 + "30.0 / 40.0 |"


def test_correlations_of_choice_need_four_runs_of_a_type() -> None:
    runs = [choice.Measured(f"r{k}", kind, 40.0 + k, {"all": 2.0 * k}) for k, kind in enumerate("aaaabbb")]
    table = choice.correlations([*runs, choice.Measured("r7", "b", 99.0, {"all": 0.0})])
    assert set(table) == {"all"}
    assert table["all"]["a"].startswith("1.00")
    assert table["all"]["a"].endswith(", 4")
    assert table["all"]["b"].endswith(", 4")
    assert not table["all"]["b"].startswith("1.00")
    assert table["all"]["all"].endswith(", 8")
    written = choice.tables({"gold": runs}, {measured.run: measured.run.upper() for measured in runs}).splitlines()
    assert "| R5 | `b` | 45.0 |  |  | 10.0 |  |  |  |" in written


def test_table_cells_have_intervals() -> None:
    assert tables.ranged({"value": 97.25, "interval": [96.0, 98.04]}) == "97.2 [96.0, 98.0]"
    assert tables.correlated({"value": -0.5, "low": -0.9, "high": 0.1}) == "-0.50 [-0.90, 0.10]"
    assert tables.table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"
