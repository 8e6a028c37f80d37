"""Benchmark programs: their imports, comparison of timings with noise, and tables."""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

from bench.common import ROOT, Usage, best_seconds, stored, synparse
from bench.experiments import (
    best,
    directions,
    edge_weights,
    languages,
    models,
    rounds,
    strengths,
    supervised_parsers,
    tables,
)
from bench.report import markdown, numbers, processor, slug, with_interval
from bench.speed.__main__ import BENCHMARKS, compare, goodness, machine_table, verdict
from induce.recipes.recipe import read_recipe
from induce.storage.model_file import RESUME
from tests.support.files import write
from treebank.core.dependency import phrase_tree
from treebank.core.sentence import Sentence

BENCH = sorted((ROOT / "bench").rglob("*.py"))


@pytest.mark.parametrize("path", BENCH, ids=lambda path: str(path.relative_to(ROOT)))
def test_benchmark_imports_no_tests_except_support_code(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names = [name for name in names if not name.startswith("tests.support")]
        assert not [name for name in names if name.split(".")[0] in ("tests", "conftest")]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_of_speed_has_a_function_that_measures(name: str) -> None:
    tree = ast.parse((ROOT / "bench" / "speed" / f"{name}.py").read_text(encoding="utf-8"))
    assert "measure" in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_chart_benchmark_returns_figures_by_number_of_words() -> None:
    names = [name for name, _ in numbers(import_module("bench.speed.chart").measure(quick=True))]
    assert names[:2] == ["words 10 / by width (ms)", "words 10 / by span (ms)"]


def test_best_round_of_each_run_is_measured_after_a_warm_up() -> None:
    calls: list[str] = []
    ticks = iter([0, 5, 5, 7, 7, 8, 8, 12])
    runs = {name: partial(calls.append, name) for name in "ab"}
    assert best_seconds(runs, 2, clock=lambda: next(ticks)) == {"a": 1, "b": 2}
    assert "".join(calls) == "ababab"


def test_stored_result_is_not_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert stored(path, lambda: [1]) == stored(path, lambda: [2]) == [1]


def test_markdown_table_aligns_numbers_to_the_right() -> None:
    assert markdown(["", "a"], [["b", "1"]]).splitlines() == ["|  | a |", "| --- | ---: |", "| b | 1 |"]


def test_numbers_of_nested_results_have_paths() -> None:
    result = {"train small": {"words/s": 3, "same": True}, "seconds": 0.5}
    assert dict(numbers(result)) == {"train small / words/s": 3.0, "train small / same": 1.0, "seconds": 0.5}


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
    ratio, noise, is_worse = verdict(old, new)
    assert ratio == pytest.approx(max(new) / max(old))
    assert 0 <= noise < 1
    assert is_worse is slower


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


def test_best_is_trained_once_for_each_limit_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = iter([50.0, 44.0])
    monkeypatch.setattr(best, "train", lambda *_: {"trivial": 40.0, "result": next(scores), "CPU minutes": 1.0})
    options = ["best", "--text", "text.txt", "--gold", "own.mrg", "--seeds", "1", "2", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", options)
    for _ in range(2):
        best.main()
        table = capsys.readouterr().out.splitlines()[-2:]
        assert [row.strip("| ").split(" | ") for row in table] == [
            ["text.txt", "0", str(seed), "40.0", *[""] * 7, uf1, "1.0"] for seed, uf1 in ((1, "50.0"), (2, "44.0"))
        ]


def test_table_of_languages_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only seeds without scores and other settings are trained."""
    calls: list[str] = []

    def synparse(arguments: Sequence[str]) -> tuple[str, float]:
        calls.append(arguments[0])
        if arguments[0] == "train" and "3" in arguments:
            raise SystemExit("stopped")
        models = [part.partition("=")[0] for flag, part in pairwise(arguments) if flag == "-m"]
        assert models in ([], ["dmv"], ["dmv", "student", "vote"])  # names that are the same for all seeds
        values = {"next": 30.0, "previous": 20.0, "dmv": 40.0 + len(calls)}
        values |= {"ensemble": 50.0} if any(argument.endswith("-vote") for argument in arguments) else {}
        scores = [{"system": name, "metric": m, "value": v} for name, v in values.items() for m in ("UAS", "UUAS")]
        return json.dumps({"scores": scores}), 1.0

    gold = tmp_path / "own.conllu"
    gold.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    monkeypatch.setattr(languages, "synparse", synparse)
    monkeypatch.setattr(languages, "LANGUAGES", (languages.Language("Own", "own.conllu", ("own.conllu",)),))

    def run(*options: str) -> int:
        calls.clear()
        monkeypatch.setattr(
            "sys.argv", ["languages", "--data", str(tmp_path), "--out", str(tmp_path / "out"), *options]
        )
        languages.main()
        return calls.count("train")

    with pytest.raises(SystemExit, match="stopped"):
        run("--seeds", "3")
    assert run("--seeds", "2") == 0
    assert (
        capsys.readouterr().out.split("\n")[2]
        == "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 43.0 ± 1.4 / 43.0 ± 1.4 | 1 |"
    )
    assert run("--seeds", "1", "--student", "biaffine") == 2
    assert "| Own own | 30.0 / 30.0 | 20.0 / 20.0 | 44.0 / 44.0 | 50.0 / 50.0 | 2 |" in capsys.readouterr().out


def test_table_of_pairs_has_a_row_per_phenomenon() -> None:
    half = {"value": 50.0, "interval": [9.5, 90.5], "pairs": 2}
    score = {"system": "lstm", "phenomena": {"a": half}, "overall": half, "unknown_percent": 100}
    assert tables.pairs_table("own", [score]).splitlines()[0::2] == [
        "| own | pairs | lstm |",
        "| a | 2 | 50.0 [9.5, 90.5] |",
        "| % of pairs with an unknown word |  | 100.0 |",
    ]


def test_correlations_have_intervals() -> None:
    groups = {Path(path).name: {"spearman": {"value": 0.5, "interval": [0.4, 0.6]}} for path in tables.RATED_TESTS}
    assert tables.correlations(groups) == ["50.0 [40.0, 60.0]"] * 2


def test_directions_are_resumed_and_report_recipes_and_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[str] = []

    def synparse(arguments: Sequence[str], **options: bool) -> tuple[str, float]:
        if arguments[0] == "train":
            trained.append(arguments[-1])
            return "", 60.0
        names = [arguments[k + 1] for k, argument in enumerate(arguments) if argument in ("--baseline", "-m")]
        return json.dumps({"scores": [{"system": name, "value": 20.0} for name in names]}), 1.0

    (tmp_path / "own.mrg").write_text("(S (A a) (B (C b) (D c)))\n" * 30, encoding="utf-8")
    monkeypatch.setattr(directions, "synparse", synparse)
    monkeypatch.setattr(directions, "CORPORA", {"Own": directions.Corpus("own.mrg")})
    options = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--only", "Own", "--recipes", "npcfg"]
    for seeds in ("1", "2"):
        monkeypatch.setattr("sys.argv", ["directions", *options, "--seeds", seeds])
        directions.main()
    assert [Path(run).name for run in trained] == ["npcfg-1", "npcfg-2"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5].startswith("| Own | 20.0 | 20.0 | 20.0 | 20.0 | 20.0 | 1.0 | ")
    assert lines[-1].startswith("| Own | 0.00 | ")


def test_rounds_train_each_run_once_and_score_the_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: dict[str, list[str]] = {}

    def synparse(arguments: Sequence[str], **options: bool) -> tuple[str, float]:
        if arguments[0] in ("train", "combine"):
            run = Path(arguments[arguments.index("-o") + 1])
            run.mkdir(parents=True, exist_ok=True)
            assert arguments[0] == "combine" or run.name not in calls
            calls[run.name] = list(arguments)
        names = [arguments[k + 1] for k, argument in enumerate(arguments) if argument in ("--baseline", "-m")]
        assert all(Path(name).exists() for name in names)
        return json.dumps({"scores": [{"system": name, "value": 20.0} for name in names]}), 1.0

    monkeypatch.chdir(tmp_path)
    for module in (rounds, directions):
        monkeypatch.setattr(module, "synparse", synparse)
    out = Path("out")
    monkeypatch.setattr("sys.argv", ["rounds", "text.txt", "--gold", "own.mrg", "--out", str(out)])
    for _ in range(2):
        rounds.main()
    second = calls["second-onlstm-2"]
    teachers = [second[k + 1] for k, part in enumerate(second) if part == "--teacher"]
    assert teachers == [str(out / "first-onlstm-2"), str(out / "first-free-2")]
    assert "--teacher" not in calls["first-free-1"]
    members = [Path(member).name for member in calls["vote-segment-edges-0.1"][1:-3]]
    assert [name.partition("@")[0] for name in members] == [
        f"{part}-{seed}" for part in ("first-segment-edges", "first-free", "second-segment-edges") for seed in (1, 2)
    ]
    assert all("segment-edges:0.1+" in name.partition("@priors=")[2] for name in members)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:5] == [
        "| onlstm | 20.0 | 20.0 | 20.0 |",
        "| segment-edges | 20.0 | 20.0 | 20.0 |",
        "| free |  | 20.0 |  |",
    ]
    assert lines[-1] == "| segment-edges | 20.0 | 20.0 | 20.0 | 20.0 |"


def test_every_model_is_trained_once_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Teachers come first, an interrupted training is resumed, and only missing runs are trained."""
    calls: list[list[str]] = []
    failing = ["chart-1"]

    def synparse(arguments: Sequence[str], **options: bool) -> tuple[str, float]:
        if arguments[0] == "train":
            run = Path(arguments[arguments.index("-o") + 1])
            run.mkdir(parents=True, exist_ok=True)
            (run / RESUME).touch()
            calls.append([run.name, *arguments])
            if run.name in failing:
                raise SystemExit(f"stopped: {failing.pop()}")
        names = [arguments[k + 1] for k, argument in enumerate(arguments) if argument in ("--baseline", "-m")]
        if arguments[0] == "analyze":
            names = [f"baseline:{name}" if name in models.BASELINES else name for name in names]
        ordered = [(first, second) for k, first in enumerate(names) for second in names[k + 1 :]]
        agreement = [{"first": first, "second": second, "value": 50.0} for first, second in ordered]
        scores = [{"system": name, "value": 20.0 + len(Path(name).name)} for name in names]
        return json.dumps({"scores": scores, "pairs": agreement}), 1.0

    (tmp_path / "own.mrg").write_text("(S (A a) (B (C b) (D c)))\n" * 30, encoding="utf-8")
    for module in (models, directions):
        monkeypatch.setattr(module, "synparse", synparse)
    monkeypatch.setattr(models, "seconds_of", lambda run: 30.0)
    monkeypatch.setattr(models, "CORPORA", {"CRAFT": directions.Corpus("own.mrg")})
    options = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--minutes", "1", "--cores", "1"]
    monkeypatch.setattr("sys.argv", ["models", *options, "--seeds", "2", "--only", "chart", "dmv"])
    with pytest.raises(SystemExit, match="stopped: chart-1"):
        models.main()
    models.main()
    capsys.readouterr()
    models.main()
    names = [name for name, *_ in calls]
    assert names[:5] == ["dmv-1", "npcfg-1", "dmv-2", "npcfg-2", "chart-1"]
    assert sorted(names[5:]) == ["chart-1", "chart-2"]  # chart-2 may begin before the failure of chart-1 is noticed
    again = calls[names.index("chart-1", 5)]
    assert again[again.index("--max-minutes") + 1] == "0.5"
    assert "--resume" in again
    assert calls[4][calls[4].index("--teacher") + 1] == str(tmp_path / "out" / "runs" / "npcfg-1")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| model | UF1 | minutes | others | own | right | left |"
    assert lines[2] == "| dmv | 47.0 | 0.5 | 50.0 | 50.0 | 50.0 | 50.0 |"  # the name ends with a decoder
    assert [line.split(" | ")[0] for line in lines[3:5]] == ["| npcfg", "| chart"]


def test_trees_of_all_models_can_be_compared() -> None:
    named = {name: models.tree_decoder(name) for name in ("npcfg", "dmv", "lstm", "biaffine")}
    assert named == {"npcfg": "", "dmv": "heads-to-tree", "lstm": None, "biaffine": "heads-to-tree"}
    first, second = models.stages(["chart", "biaffine", "prpn-syd"])
    assert (first, second) == (["npcfg", "dmv"], ["chart", "biaffine", "prpn-syd"])


def test_brackets_of_heads_need_arcs_that_do_not_cross() -> None:
    sentence = Sentence(("a", "b", "c"), heads=(1, -1, 1))
    assert str(phrase_tree(sentence)) == "(X (W a) (W b) (W c))"
    assert phrase_tree(Sentence(tuple("abcde"), heads=(4, 4, 0, 1, -1))) is None
    assert phrase_tree(Sentence(tuple("abcd"), heads=(2, 3, -1, 2))) is None  # one span contains the other
    assert phrase_tree(Sentence(tuple("abc"), heads=(2, -1, -1))) is None  # a root inside another phrase
    assert phrase_tree(Sentence(tuple("abc"), heads=(1, 0, -1))) is None  # a circle
    assert phrase_tree(Sentence(tuple("abc"))) is None
    chain = phrase_tree(Sentence(("a",) * 20_000, heads=(-1, *range(19_999))))
    assert chain is not None
    assert len(chain.spans) == 19_999


def test_table_cells_have_intervals() -> None:
    assert with_interval({"value": 97.25, "interval": [96.0, 98.04]}) == "97.2 [96.0, 98.0]"
    assert tables.correlated({"value": -0.5, "low": -0.9, "high": 0.1}) == "-0.50 [-0.90, 0.10]"


def test_coordinate_ascent_finds_the_maximum_on_its_grid() -> None:
    maximum = {"end": 0.6, "begin": 0.2, "length": 0.5, "pair": 0.75, "limit": 1.5, "cohesion": 0.3}
    weights = edge_weights.ascend(lambda weights: -sum(abs(weights[name] - maximum[name]) for name in maximum))
    assert weights == pytest.approx(maximum)


def test_weights_are_tuned_with_the_branching_of_the_text(tmp_path: Path) -> None:
    text = write(tmp_path, "a b c d\n" * 40, "text.txt")
    gold = Path(write(tmp_path, "(S (W a) (X (W b) (X (W c) (W d))))\n"))
    scores = {}
    for side in ("right", "left"):
        run = tmp_path / side
        synparse(["train", text, "--model", "segment-edges", "--branching", side, "-o", str(run)])
        scores[side] = edge_weights.TuningTreebank.read(run, gold).uf1({"begin": 0.0, "length": 0.0})
    assert scores == {"right": 100, "left": 0}


def test_sentence_f1_without_spans_is_one() -> None:
    assert edge_weights.f1({(0, 2), (2, 4)}, {(0, 2), (1, 4), (0, 3)}) == pytest.approx(0.4)
    assert edge_weights.f1(set(), set()) == 1
    assert edge_weights.f1({(0, 2)}, {(1, 3)}) == edge_weights.f1(set(), {(1, 3)}) == 0


def test_parsers_are_measured_alternately(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, int, str]] = []

    def run(self: supervised_parsers.System, text: Path, cores: int) -> Usage:
        calls.append((self.command[0], cores, text.name))
        return Usage(1.0 if text.name == "first.txt" else 1.0 + 2.0 / cores, 1.0, 100.0)

    (tmp_path / "model").write_bytes(bytes(1_500_000))
    names = ("a", "b")
    fakes = {name: supervised_parsers.System([name], tmp_path / "model", {}) for name in names}
    treebank = tmp_path / "ud" / "UD_English-EWT" / "en_ewt-ud-train.conllu.gz"
    treebank.parent.mkdir(parents=True)
    words = "".join(f"{k}\tw{k}\t_\tX\tX\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, 11))
    treebank.write_bytes(gzip.compress(f"{words}\n{words}\n".encode()))
    monkeypatch.setattr(supervised_parsers, "systems", lambda *_: fakes)
    monkeypatch.setattr(supervised_parsers.System, "run", run)
    monkeypatch.setattr("sys.argv", ["supervised_parsers", "--data", str(tmp_path), "--out", str(tmp_path / "out")])
    supervised_parsers.main()
    one_round = [(name, cores, file) for name in names for cores in (1, 2) for file in ("first.txt", "text.txt")]
    assert calls == one_round * supervised_parsers.ROUNDS
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [f"| {name} | 10 | 20 | 1.0 s | 100 MB | 1.5 MB |" for name in names]


def test_parser_that_fails_ends_the_measurement(tmp_path: Path) -> None:
    system = supervised_parsers.System([sys.executable, "-c", "import sys; sys.exit('{text}' != 'x')"], tmp_path, {})
    assert system.run(Path("x"), 1).memory > 1
    with pytest.raises(SystemExit, match="ended with 1"):
        system.run(Path("y"), 1)


def test_recipe_of_grammars_is_read_again(tmp_path: Path) -> None:
    strengths.write_recipe(tmp_path / "grammars.toml", ("segment-edges", "first", "second"))
    recipe = read_recipe(str(tmp_path / "grammars.toml"))
    assert [part.name for part in recipe.parts] == ["segment-edges", "first", "second"]
    assert (recipe.result, recipe.costs) == ("vote", read_recipe("best").costs)


@pytest.mark.parametrize("name", ["words/s", "words a second", "by width (ms)", "seconds", "peak MB", "load s"])
def test_every_speed_time_and_memory_is_compared(name: str) -> None:
    assert goodness(name, 2.0) == (2.0 if "words" in name else 0.5)
    assert goodness("share of the floor", 2.0) is None


def test_comparison_without_figures_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.speed.__main__.run", lambda *arguments, **options: {"ratio": 1.0})
    monkeypatch.setattr("bench.speed.__main__.checked_out", lambda revision: nullcontext(ROOT))
    with pytest.raises(SystemExit, match="nothing was measured in both main and the working tree"):
        compare("main", ["pcfg"])
