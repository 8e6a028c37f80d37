"""Benchmark programs: their imports, comparison of timings with noise, and tables."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from bench import choice, gpu, languages, pairs, pretraining, similarity, skills, tables, trees
from bench.all import BEGIN, END, write_page
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
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):  # a second run changes nothing
        write_page(page, tmp_path)
        text = page.read_text(encoding="utf-8")
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "old" not in text
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
    """Only seeds without scores and other settings are trained. The table is written between its two marks."""
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

    gold, page, other = tmp_path / "own.conllu", tmp_path / "dmv.md", tmp_path / "biaffine.md"
    gold.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    page.write_text("before\n<!-- bench/languages.py -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    other.write_text("<!-- bench/languages.py -->\n<!-- end -->\n", encoding="utf-8")
    monkeypatch.setattr(languages, "synparse", synparse)
    monkeypatch.setattr(languages, "LANGUAGES", (languages.Language("Own", "own.conllu", ("own.conllu",)),))
    monkeypatch.setattr(languages, "RESULTS", tmp_path / "results" / "languages.json")
    monkeypatch.setattr(languages, "PAGES", tmp_path)

    def run(*options: str) -> int:
        calls.clear()
        monkeypatch.setattr("sys.argv", ["languages.py", "--data", str(tmp_path), *options])
        languages.main()
        return calls.count("train")

    with pytest.raises(SystemExit, match="stopped"):
        run("--seeds", "3")
    assert run("--seeds", "2", "--docs") == 0
    rows = page.read_text(encoding="utf-8").split("<!-- bench/languages.py -->\n")[1].split("\n")
    assert rows[2] == "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 43.0 ± 1.4 / 43.0 ± 1.4 | 1 |"
    assert page.read_text(encoding="utf-8").endswith("<!-- end -->\nafter\n")
    assert run("--seeds", "1", "--pupil", "biaffine", "--docs") == 2
    assert "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 44.0 / 44.0 | 50.0 / 50.0 | 2 |" in other.read_text(
        encoding="utf-8"
    )
    assert run("--seeds", "2") == 0
    assert run("--seeds", "1", "--comparators", "--docs") == 2
    rows = page.read_text(encoding="utf-8").split("<!-- bench/languages.py -->\n")[1].split("\n")
    assert rows[0] == "| data | next | previous | dmv | plain DMV | UDGN, 11 minutes | seconds |"
    assert rows[2].endswith("| 43.0 ± 1.4 / 43.0 ± 1.4 | 42.0 / 42.0 | 44.0 / 44.0 | 1 |")
    assert run("--seeds", "1", "--comparators") == 0
    assert run("--seeds", "2", "--fresh") == 2
    assert run("--seeds", "1", "--set", "model.members=3") == 1
    assert "scores are stored already" in capsys.readouterr().err


def test_free_text_is_split_into_sentences(tmp_path: Path) -> None:
    texts = [
        "Atlanta's vote was `` fair '' .\n",
        "It isn't. We saw 12.\n",
        " = A heading = \n\n The <unk> year @-@ end . \n",
    ]
    for name, text in zip(pretraining.TEXTS, texts, strict=True):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert pretraining.text(tmp_path, tmp_path).read_text(encoding="utf-8").splitlines() == [
        *("Atlanta 's vote was `` fair '' .", "It is n't .", "We saw 12 .", "The <unk> year-end ."),
    ]


def test_report_of_training_runs(tmp_path: Path) -> None:
    (tmp_path / "lstm").mkdir()
    (tmp_path / "lstm.seconds.json").write_text("90.0\n", encoding="utf-8")
    events = [{"event": "progress", "epoch": epoch, "share": 0.25, "perplexity": 593.6} for epoch in (1, 2)]
    events.append({"event": "finished", "epoch": 2})
    (tmp_path / "lstm" / "log.jsonl").write_text("\n".join(map(json.dumps, events)) + "\n", encoding="utf-8")
    assert pretraining.describe(["lstm"], tmp_path).endswith("| `lstm` | 1.5 | 1.25 | 594 |")


def test_the_tables_of_skills(tmp_path: Path) -> None:
    """Means over seeds and single tasks. Missing results are left out."""
    todo = list(skills.jobs(2, 5))
    assert len({job.name for job in todo}) == len(todo)
    done = [job for job in todo if job.name in ("S1-ocn-1", "S1-ocn-2", "ADC-scratch-1")]
    assert done[-1].call == (
        "task",
        "transfer",
        "--from-scratch",
        "--sketch",
        "ADC",
        "--set",
        "train.epochs=20",
    )
    for index, job in enumerate(done, 1):
        values = {"actions": 10.0 * index, "success AC": 20.0, "success CD": 40.0}
        entry = {"values": values, "options": {"A": [1.0, 2.4]}}
        (tmp_path / f"{job.name}.scores.json").write_text(json.dumps({"scores": [entry]}), encoding="utf-8")
        (tmp_path / f"{job.name}.seconds.json").write_text(json.dumps([60.0 * index, index < 3]), encoding="utf-8")
        (tmp_path / job.name).mkdir()
        (tmp_path / job.name / "log.jsonl").write_text('{"actions": 2500000}\n', encoding="utf-8")
    text = skills.tables(done, tmp_path)
    assert "| `ocn`, AC CD DA | 2 | 1.5 | 15.0 ± 7.1 | | | | | | 30.0 | |" in text.replace("  ", " ")
    assert "| `ocn`, seed 2 | 1, 2 |" in text
    assert "| ADC | single actions | 1 | 3.0 (1 cut off) | 2.50 |" in text


def test_table_of_pairs_has_a_row_per_phenomenon() -> None:
    half = {"value": 50.0, "interval": [9.5, 90.5], "pairs": 2}
    score = {"system": "lstm", "phenomena": {"a": half}, "groups": {"short": half}, "overall": half, "mean": 50.0}
    score |= {"known": None, "own_tree": {"connected": half, "apart": None}, "unknown_percent": 100, "tied_percent": 0}
    lines = pairs.table([score], "own").splitlines()
    assert lines[0] == "| own | pairs | lstm |"
    assert "| a | 2 | 50.0 [10, 90] |" in lines
    assert "| own tree connects verb and subject | | 50.0 [10, 90] of 2 |" in lines
    assert "| without an unknown word | |  |" in lines


@pytest.mark.parametrize("program", [pairs, similarity, tables, choice])
def test_pages_have_marks_for_their_tables(program: ModuleType) -> None:
    name = f"bench/{Path(str(program.__file__)).name}"
    page = languages.with_table(program.PAGE, "the table", name)
    assert f"<!-- {name} -->\nthe table\n<!-- end -->" in page


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
