"""A recipe at a tiny size: what is trained, stopped, resumed and chosen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copy, copytree, rmtree
from types import SimpleNamespace

import pytest

from induce.ensemble.ensemble_description import EnsembleDescription
from induce.parsing.load import load_parser
from induce.recipes import recipe_job, result, runner
from induce.recipes.recipe import Part, Recipe
from induce.recipes.recipe_job import RecipeJob
from induce.recipes.runner import train_recipe
from induce.recipes.schedule import Schedule
from induce.storage.checkpoint import Check
from induce.storage.locate import ENSEMBLE
from induce.storage.model_file import MODEL
from induce.training.events import Event, Finished, PartProgress
from induce.training.prepare import prepare_text
from induce.training.request import RunRequest
from tests.support.tiny import SETTINGS, assert_equal_weights, sentences
from treebank.base.errors import SynparseError, UsageError
from treebank.core.dependency import is_tree
from treebank.io.read import InputOptions

TINY = {
    name: (*(change for change in SETTINGS[name] if "epochs" not in change), "train.epochs=1")
    for name in ("onlstm", "prpn", "npcfg", "chart", "dmv", "biaffine")
}
ONLSTM = Part("onlstm", ("onlstm-small",), 1, votes=False, settings=TINY["onlstm"])
PRPN = Part("prpn", ("prpn-small",), 1, settings=TINY["prpn"])
GRAMMAR = Part("grammar", ("npcfg-small",), 1, count=2, teachers="onlstm", settings=TINY["npcfg"])
STUDENT = Part("student", ("chart-small",), 1, teachers="vote", settings=TINY["chart"])
RECIPE = Recipe("tiny", (ONLSTM, PRPN, GRAMMAR, STUDENT), minutes=10)
NAMES = ["onlstm-1", "prpn-1", "grammar-1", "grammar-2", "student-1"]
TEXT = [sentence.words for sentence in sentences(60)]


def request(run: Path, **options: object) -> RunRequest:
    text = run.parent / "text.txt"
    text.write_text("".join(" ".join(words) + "\n" for words in TEXT), encoding="utf-8")
    return RunRequest(run=str(run), text=(str(text),), device="cpu", **options)


def checks(events: Iterable[tuple[str, Event]]) -> set[str]:
    """Names of the runs that are trained."""
    return {name for name, event in events if isinstance(event, Check)}


def trees(run: Path) -> list[str]:
    return list(map(str, load_parser(run).parse(TEXT)))


def stored(run: Path) -> dict[str, object]:
    return json.loads((run / "plan.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _one_core() -> Iterator[None]:
    """Trainings one after another, which is faster for so little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "worker_count", lambda device: 1)
        yield


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Folder of a complete job, which tests only read, and the lines that it reports."""
    run, lines = tmp_path_factory.mktemp("complete") / "run", list[str]()
    events = list(train_recipe(request(run), RECIPE, report=lines.append))
    assert list(dict.fromkeys(name for name, _ in events if name)) == NAMES
    parts = [event for _, event in events if isinstance(event, PartProgress)]
    assert [(event.part, event.parts) for event in parts if event.share in (0.0, 0.2)][:1] == [(1, 4)]
    assert [event.share for event in parts] == sorted(event.share for event in parts)
    return run, lines


def test_result_is_an_ensemble_and_the_log_holds_the_decisions(
    tmp_path: Path, complete: tuple[Path, list[str]]
) -> None:
    run, lines = complete
    plan = stored(run)
    assert plan["done"] == NAMES
    assert any(line.startswith("branching direction: ") for line in lines)
    assert sum("are those of right branching" in line for line in plan["log"]) == 1
    ensemble = load_parser(run)
    members = [member.name for member in ensemble.description.members]
    assert members == ["parts/prpn-1", "parts/grammar-1", "parts/grammar-2", "parts/student-1"]
    vote = load_parser(run / "parts" / "vote")
    assert [member.name for member in vote.description.members] == ["../prpn-1", "../grammar-1", "../grammar-2"]
    student = load_parser(run / "parts" / "student-1")
    assert student.learned_from == f"parsed trees: {run / 'parts' / 'vote'} (teacher)"
    assert trees(copytree(run, tmp_path / "moved")) == trees(run)


@pytest.mark.parametrize("is_new", [False, True], ids=["before", "after"])
def test_killed_job_has_the_old_or_the_new_result(
    tmp_path: Path, complete: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """The best model so far is there until the ensemble is, and the ensemble is the result as soon as it is written."""
    run = copytree(complete[0], tmp_path / "run")
    ensemble = run / ENSEMBLE
    expected = trees(run if is_new else run / "parts" / "prpn-1")
    ensemble.unlink()
    copy(run / "parts" / "prpn-1" / MODEL, run / MODEL)

    unlink = Path.unlink

    def killed(path: object, *arguments: object, **options: object) -> None:
        if path == run / MODEL or not is_new:
            raise KeyboardInterrupt
        unlink(path, *arguments, **options)

    monkeypatch.setattr(*((Path, "unlink") if is_new else (EnsembleDescription, "write")), killed)
    job = RecipeJob.open(RunRequest(run=str(run), resume=True, device="cpu"), RECIPE, None)
    with pytest.raises(KeyboardInterrupt):
        result.write_result(job, finished=True)
    monkeypatch.undo()
    assert ensemble.exists() == is_new
    assert (run / MODEL).exists()
    assert trees(run) == expected
    result.write_result(job, finished=True)
    assert ensemble.exists()
    assert not (run / MODEL).exists()


@pytest.mark.parametrize(("limits", "name"), [((10_000, 0), "small"), ((20_000, 10_000), "smaller"), ((1, 0), "tiny")])
def test_small_text_is_learned_from_by_another_recipe(tmp_path: Path, limits: tuple[int, int], name: str) -> None:
    settings = json.dumps(SETTINGS["segment-edges"])
    part = '[[part]]\nname = "counts"\npresets = ["segment-edges-small"]\nminutes = 1\n' + f"settings = {settings}\n"
    small, smaller = tmp_path / "small.toml", tmp_path / "smaller.toml"
    next_recipe = f'small_text_words = {limits[1]}\nsmall_text_recipe = "{smaller}"\n' if limits[1] else ""
    small.write_text(f'name = "small"\nminutes = 5\n{next_recipe}{part}', encoding="utf-8")
    smaller.write_text(f'name = "smaller"\nminutes = 5\n{part}', encoding="utf-8")
    recipe = replace(RECIPE, parts=(PRPN,), small_text_words=limits[0], small_text_recipe=str(small))
    lines: list[str] = []
    stop = iter([False, False, False, False, False, True]) if name == "tiny" else iter(())
    for _ in train_recipe(request(tmp_path / "run"), recipe, report=lines.append, stop=lambda: next(stop, False)):
        pass
    plan = stored(tmp_path / "run")
    assert (plan["recipe"]["name"], plan["minutes"]) == (name, 10 if name == "tiny" else 5)
    assert f"recipe {name}" in plan["log"]


def test_students_end_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecipeJob, "minutes_left", 0.9)
    recipe = Recipe("short", (replace(PRPN, minutes=0.1), replace(STUDENT, count=2, minutes=5)), minutes=60)
    list(train_recipe(request(tmp_path / "run"), recipe, max_minutes=1))
    limits = [line.partition(": preset ") for line in stored(tmp_path / "run")["log"] if ": preset " in line]
    assert [(name, limit.rpartition(" up to ")[2]) for name, _, limit in limits] == [
        ("prpn-1", "24 seconds"),
        ("student-1", "27 seconds"),
        ("student-2", "27 seconds"),
    ]


def test_student_that_the_time_ended_is_reported_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, lines = tmp_path / "run", list[str]()
    student = replace(STUDENT, max_passes=30, words=10**6)
    recipe = Recipe("short", (PRPN, student), minutes=60, result="student")
    with monkeypatch.context() as patch:
        patch.setattr(Schedule, "limit", lambda schedule, run, *arguments: 0.001 if run.part == student else 1)
        patch.setattr(runner, "MIN_MINUTES", 0.001)
        list(train_recipe(request(run), recipe, max_minutes=60, report=lines.append))
    [warning] = [line for line in lines if "the time ended" in line]
    assert warning.startswith("warning: the time ended the training of student-1 in pass ")
    assert warning.endswith(" of 30; continue with --resume --max-minutes M")
    resumed = RunRequest(run=str(run), resume=True, device="cpu")
    assert checks(train_recipe(resumed)) == set()
    assert checks(train_recipe(resumed, max_minutes=1)) == {"student-1"}
    assert load_parser(run / "parts" / "student-1").facts.history[-1].epoch > 1


def test_parts_without_time_are_left_out_and_trained_by_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: tuple[Path, list[str]]
) -> None:
    run, lines = tmp_path / "run", list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(RecipeJob, "minutes_left", property(lambda job: 9.0 - 5 * len(job.plan.done)))
        list(train_recipe(request(run), RECIPE, max_minutes=10, report=lines.append))
    assert stored(run)["done"] == NAMES[:2]
    late = [line for line in lines if line.startswith("warning: no time is left for ")]
    assert [line.partition(";")[0].rpartition(" for ")[2] for line in late] == ["grammar-1, grammar-2", "student-1"]
    assert [member.name for member in load_parser(run).description.members] == ["parts/prpn-1"]
    later = checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu"), max_minutes=10))
    assert later == set(NAMES[2:])
    assert trees(run) == trees(complete[0])


def test_result_that_did_not_learn_from_a_vote_has_no_confidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing learns from the vote of all parts. Without time, there is no vote of the grammars, either."""
    second = replace(GRAMMAR, name="second", teachers="grammar", count=1)
    recipe = replace(RECIPE, parts=(replace(ONLSTM, votes=True), GRAMMAR, second), result="second")
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(RecipeJob, "minutes_left", property(lambda job: 4.0 - 5 * len(job.plan.done)))
        list(train_recipe(request(run), recipe, max_minutes=10))
    assert (stored(run)["done"], (run / "parts" / "grammar-vote").exists()) == (["onlstm-1"], False)
    assert load_parser(run).facts.confidence == ()
    list(train_recipe(RunRequest(run=str(run), resume=True, device="cpu"), max_minutes=10))
    assert (load_parser(run).facts.confidence, stored(run)["done"][-1]) == ((), "second-1")
    assert "grammar-vote" in load_parser(run / "parts" / "second-1").learned_from


def test_stopped_job_has_the_model_of_its_last_stage(tmp_path: Path) -> None:
    """The grammar learns from the part before it, and is trained after the part that follows it in the recipe."""
    recipe = replace(RECIPE, parts=(ONLSTM, replace(GRAMMAR, count=1), PRPN, STUDENT))
    run, done = tmp_path / "run", set[str]()
    for name, event in train_recipe(request(run), recipe, stop=lambda: "grammar-1" in done):
        if isinstance(event, Finished):
            done.add(name)
    assert done == {"onlstm-1", "prpn-1", "grammar-1"}
    assert load_parser(run).name == "npcfg"


def test_without_a_limit_neither_speed_nor_interruption_change_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is a thousand times as fast stands for a busy machine."""
    grammar, student = replace(GRAMMAR, max_passes=2), replace(STUDENT, count=2, max_passes=9, words=2000)
    recipe = replace(RECIPE, parts=(ONLSTM, grammar, student), minutes=1)
    quiet, busy, lines, done = tmp_path / "quiet", tmp_path / "busy", list[str](), set[str]()
    list(train_recipe(request(quiet), recipe))
    monkeypatch.setattr(recipe_job, "time", SimpleNamespace(monotonic=lambda: 1000 * time.monotonic()))
    for name, event in train_recipe(request(busy), recipe, report=lines.append, stop=lambda: "student-1" in done):
        if isinstance(event, Finished):
            done.add(name)
    assert "student-2" not in stored(busy)["done"]
    list(train_recipe(RunRequest(run=str(busy), resume=True, device="cpu"), report=lines.append))
    assert stored(busy)["seconds"] > 60 * recipe.minutes
    for name in ("done", "shares", "planned"):
        assert stored(busy)[name] == stored(quiet)[name], name
    for name in stored(quiet)["done"]:
        assert_equal_weights(busy / "parts" / name, quiet / "parts" / name)
    assert not [line for line in lines if "time" in line]


def test_parsing_for_students_ends_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    left = property(lambda job: 5.0 - 5 * any(line.startswith("student-1: the text") for line in job.plan.log))
    monkeypatch.setattr(RecipeJob, "minutes_left", left)
    recipe = replace(RECIPE, parts=(PRPN, STUDENT), result="student")
    list(train_recipe(request(tmp_path / "run"), recipe, max_minutes=10, report=lines.append))
    assert trees(tmp_path / "run") == trees(tmp_path / "run" / "parts" / "prpn-1")


def test_recipes_that_name_each_other_for_small_texts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    settings = f'small_text_words = 9_000\nsmall_text_recipe = "{file}"\n'
    part = '[[part]]\nname = "counts"\npresets = ["segment-edges-small"]\nminutes = 1\n'
    file.write_text(f'name = "own"\nminutes = 5\n{settings}{part}', encoding="utf-8")
    with pytest.raises(SynparseError, match="recipe 'own': small_text_words must be less than 9,000"):
        list(train_recipe(request(tmp_path / "run"), str(file)))


def test_likeliest_member_of_a_part_can_be_the_result(tmp_path: Path) -> None:
    recipe = replace(RECIPE, parts=(PRPN, replace(STUDENT, count=2)), result="student")
    run = tmp_path / "run"
    scores: dict[str, float] = {}
    for name, event in train_recipe(request(run), recipe):
        if isinstance(event, Check) and name.startswith("student"):
            scores[name] = min(event.development_perplexity, scores.get(name, event.development_perplexity))
    assert sorted(scores) == ["student-1", "student-2"]
    best = min(scores, key=scores.__getitem__)
    assert trees(run) == trees(run / "parts" / best)
    parser = load_parser(run)
    assert parser.facts.recipe == replace(
        parser.facts.recipe, name="tiny", seed=1, models=("prpn-1", "student-1", "student-2"), finished=True
    )
    assert parser.learned_from == "parsed trees: recipe tiny (teacher)"
    agreements = [confidence for _, confidence in parser.confidence]
    assert agreements == sorted(agreements)
    assert 0 <= agreements[0] <= agreements[-1] <= 1
    values = {value for tree in parser.parse_confident(TEXT) for value in tree.confidences if value is not None}
    assert values <= {0.0, 1.0} or len(values) > 2
    assert checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu"))) == set()


@pytest.mark.parametrize(("limit", "direction"), [(100.1, None), (0.0, "right")])
def test_trees_close_to_right_branching_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float, direction: str | None
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(result, "TRIVIAL_PERCENT", limit)
    text = tmp_path / "short.txt"
    text.write_text("a dog\n\n" * 250 + "".join(" ".join(words) + "\n" for words in TEXT), encoding="utf-8")
    requested = replace(request(tmp_path / "run"), text=(str(text),))
    list(train_recipe(requested, Recipe("two", (ONLSTM, PRPN), minutes=10), report=lines.append))
    warnings = [line for line in lines if "hardly differ from" in line]
    assert len(warnings) == (direction is not None)


@pytest.mark.parametrize("stopped_in", ["onlstm-1", "grammar-1", "student-1"])
def test_interrupted_job_is_resumed_with_the_same_trees(
    tmp_path: Path, complete: tuple[Path, list[str]], stopped_in: str
) -> None:
    events: list[str] = []
    run = tmp_path / "run"
    for name, _ in train_recipe(request(run), RECIPE, stop=lambda: stopped_in in events):
        events.append(name)
    assert not (run / "ensemble.json").exists()
    done = NAMES[: NAMES.index(stopped_in)]
    assert stored(run).get("done", []) == done
    assert (run / "model.safetensors").exists() == bool(done)
    if done:
        assert load_parser(run).facts.recipe.models == tuple(done)
        assert not load_parser(run).facts.recipe.finished
    later = checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu")))
    assert later == set(NAMES) - set(done)
    assert trees(run) == trees(complete[0])


def test_trainings_of_one_teacher_that_read_other_sentences_are_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trainings at a time, whose teacher parses all sentences for one of them, and short ones for the other."""
    monkeypatch.setattr(runner, "worker_count", lambda device: 2)
    chart, grammar = (
        Part(name, (f"{preset}-small",), 1, teachers="onlstm", settings=(*TINY[preset][:-1], "train.epochs=30", *more))
        for name, preset, more in (("chart", "chart", ()), ("grammar", "npcfg", ("loader.longest=5",)))
    )
    begun, run = set[str](), tmp_path / "run"
    for name, event in train_recipe(
        request(run), Recipe("two", (ONLSTM, chart, grammar), minutes=10), stop=lambda: len(begun) == 2
    ):
        if name != "onlstm-1" and isinstance(event, Check):
            begun.add(name)
    assert stored(run)["done"] == ["onlstm-1"]
    assert checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu"))) == begun
    assert {*stored(run)["done"]} == {"onlstm-1", "chart-1", "grammar-1"}


def test_recipe_of_heads_is_resumed_and_gives_heads(tmp_path: Path) -> None:
    """A job that is stopped in its second grammar, and continues from the plan."""
    grammars = [
        Part(em, ("dmv-{style}",), 1, settings=(*(x for x in TINY["dmv"] if "epochs" not in x), f"model.em={em}"))
        for em in ("soft", "viterbi")
    ]
    settings = (*TINY["biaffine"], "parse.head_style={style}")
    student = Part("student", ("biaffine-small",), 1, teachers="vote", settings=settings)
    recipe = Recipe("heads", (*grammars, student), minutes=10, styles=("content", "function")).in_style("function")
    run, events = tmp_path / "run", list[str]()
    for name, _ in train_recipe(request(run), recipe, stop=lambda: "viterbi-1" in events):
        events.append(name)
    assert not (run / "ensemble.json").exists()
    later = checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu")))
    assert later == {"viterbi-1", "student-1"}
    parser = load_parser(run)
    assert [member.name for member in parser.description.members] == [
        "parts/soft-1",
        "parts/viterbi-1",
        "parts/student-1",
    ]
    assert parser.output == "heads"
    for folder in (run, run / "parts" / "soft-1", run / "parts" / "student-1"):
        assert load_parser(folder).decoded.endswith("|head-style:function")
    assert all(is_tree(heads) for _, heads in parser.parse_heads(TEXT[:5]))


def test_deleted_part_is_trained_again(tmp_path: Path, complete: tuple[Path, list[str]]) -> None:
    run = copytree(complete[0], tmp_path / "run")
    rmtree(run / "parts" / "grammar-1")
    rmtree(run / "parts" / "onlstm-1")
    again = checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu")))
    assert again == {"onlstm-1", "grammar-1"}
    assert trees(run) == trees(complete[0])


@pytest.mark.parametrize("option", ["overwrite", "resume"])
def test_two_jobs_cannot_use_a_folder_at_once(tmp_path: Path, option: str) -> None:
    first = train_recipe(request(tmp_path / "run"), RECIPE)
    next(first)
    before = stored(tmp_path / "run")
    with pytest.raises(SynparseError, match="another training is writing to this folder"):
        next(train_recipe(request(tmp_path / "run", **{option: True}), RECIPE))
    assert stored(tmp_path / "run") == before
    first.close()
    assert next(train_recipe(request(tmp_path / "run", **{option: True}), RECIPE))


def test_job_can_be_stopped_while_a_text_is_parsed(tmp_path: Path) -> None:
    def is_parsing() -> bool:
        plan = tmp_path / "run" / "plan.json"
        return plan.exists() and any(line.startswith("student-1: the text") for line in stored(tmp_path / "run")["log"])

    for name, _ in train_recipe(request(tmp_path / "run"), RECIPE, stop=is_parsing):
        assert not name.startswith("student")
    assert is_parsing()
    assert not (tmp_path / "run" / "parts" / "student-1").exists()


def test_job_is_not_resumed_with_a_changed_text(tmp_path: Path) -> None:
    requested = replace(request(tmp_path / "run"), dev=(str(tmp_path / "dev.txt"),))
    (tmp_path / "dev.txt").write_text("the dog saw a cat\n" * 5, encoding="utf-8")
    list(train_recipe(requested, RECIPE, stop=lambda: True))
    again = RunRequest(run=requested.run, resume=True, device="cpu")
    (tmp_path / "dev.txt").write_text("a cat saw the dog\n" * 5, encoding="utf-8")
    with pytest.raises(SynparseError, match="the development text is not the one that this run began with"):
        list(train_recipe(again, stop=lambda: True))
    Path(str(requested.text[0])).write_text("the dog saw a cat\n" * 60, encoding="utf-8")
    with pytest.raises(SynparseError, match="the training text is not the one that this run began with"):
        list(train_recipe(again, stop=lambda: True))


def test_job_is_not_resumed_with_a_changed_preset(tmp_path: Path) -> None:
    preset = tmp_path / "mine.toml"
    preset.write_text('extends = "prpn-small"\n', encoding="utf-8")
    recipe = replace(RECIPE, parts=(replace(PRPN, presets=(str(preset),)), STUDENT))
    run, begun = tmp_path / "run", set[str]()
    for name, _ in train_recipe(request(run), recipe, stop=lambda: bool(begun)):
        if name:
            begun.add(name)
    preset.write_text('extends = "prpn-small"\nmodel.slots = 3\n', encoding="utf-8")
    with pytest.raises(SynparseError, match="the presets of this job have changed; restore them"):
        list(train_recipe(RunRequest(run=str(run), resume=True, device="cpu")))
    preset.write_text('extends = "prpn-small"\n', encoding="utf-8")
    assert checks(train_recipe(RunRequest(run=str(run), resume=True, device="cpu"))) == {"prpn-1", "student-1"}


def test_job_is_resumed_with_a_moved_text(tmp_path: Path) -> None:
    requested = request(tmp_path / "run")
    list(train_recipe(requested, RECIPE, stop=lambda: True))
    moved = Path(str(requested.text[0])).rename(tmp_path / "moved.txt")
    again = RunRequest(run=requested.run, resume=True, device="cpu")
    with pytest.raises(SynparseError, match="no such file or folder; the run keeps paths as they were given"):
        list(train_recipe(again, stop=lambda: True))
    list(train_recipe(replace(again, text=(str(moved),)), stop=lambda: True))


def test_job_is_not_resumed_with_other_options(tmp_path: Path) -> None:
    small = replace(RECIPE, name="small")
    names_small = replace(RECIPE, small_text_words=9_000, small_text_recipe=str(tmp_path / "small.toml"))
    settings = json.dumps(SETTINGS["segment-edges"])
    part = f'[[part]]\nname = "counts"\npresets = ["segment-edges-small"]\nminutes = 1\nsettings = {settings}\n'
    (tmp_path / "small.toml").write_text(f'name = "small"\nminutes = 5\n{part}', encoding="utf-8")
    requested = request(tmp_path / "run")
    list(train_recipe(requested, names_small, stop=lambda: True))
    resumed = replace(requested, resume=True)
    for recipe in (names_small, str(tmp_path / "small.toml"), None):
        list(train_recipe(resumed, recipe, stop=lambda: True))
    for changes, recipe, problem in (
        ({"dev": ("dev.txt",)}, None, "--dev cannot change on --resume: the run keeps none"),
        ({"input_options": InputOptions(tokenize="english")}, None, "--tokenizer cannot change"),
        ({}, small, "--recipe or its style cannot change on --resume: the run keeps small"),
    ):
        with pytest.raises(UsageError, match=problem):
            list(train_recipe(replace(resumed, **changes), recipe, stop=lambda: True))


def test_failed_call_leaves_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes("caf\xe9 noir\n".encode("latin-1") * 20)
    with pytest.raises(SynparseError, match="UTF-8"):
        list(train_recipe(RunRequest(run=str(tmp_path / "run"), text=(str(text),)), RECIPE))
    assert not (tmp_path / "run").exists()


def test_vote_of_a_part_teaches_and_all_vote(tmp_path: Path) -> None:
    first = replace(GRAMMAR, name="first", teachers="prpn", with_teacher=1, votes=False)
    second = replace(GRAMMAR, teachers="first")
    recipe = replace(RECIPE, parts=(replace(PRPN, weight=2.0), first, second), vote_priors=("initial-spans:1",))
    run = tmp_path / "run"
    list(train_recipe(request(run), recipe))
    parts = run / "parts"
    assert [load_parser(parts / f"first-{k}").learned_from.count("prpn-1") for k in (1, 2)] == [1, 0]
    teacher = parts / "first-vote"
    for name in ("grammar-1", "grammar-2"):
        assert load_parser(parts / name).learned_from == f"parsed trees: {teacher} (teacher)"
    description = load_parser(teacher).description
    assert [member.path for member in description.members] == ["../first-1", "../first-2"]
    members = [(member.path, member.weight) for member in load_parser(run).description.members]
    assert members == [("parts/prpn-1", 2), ("parts/grammar-1", 1), ("parts/grammar-2", 1)]
    assert description.priors == load_parser(run).description.priors == ("initial-spans:1",)
    list(train_recipe(replace(request(run), overwrite=True), replace(recipe, parts=(PRPN,))))
    assert not teacher.exists()


def test_unsuitable_folders_and_inputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SynparseError, match="several times"):
        list(train_recipe(RunRequest(run=str(tmp_path / "run"), text=("-",)), RECIPE))
    corpus = tmp_path / "corpus"
    prepare_text(request(tmp_path / "run").text, str(corpus))
    with pytest.raises(SynparseError, match="corpus: a recipe parses its text, which is not in a prepared corpus"):
        list(train_recipe(RunRequest(run=str(tmp_path / "run"), text=(str(corpus),)), RECIPE))
    assert not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").touch()
    with pytest.raises(SynparseError, match="there is a model already"):
        list(train_recipe(request(tmp_path / "mine"), RECIPE))


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        (Part("npcfg", ("npcfg-small",), 5.0, max_passes=16), ("train.epochs=5", "loader.longer=4")),
        (Part("onlstm", ("onlstm-small",), 1, max_passes=3000, words=100_000), None),
        (Part("onlstm", ("onlstm-small",), 1, max_passes=2, words=100_000), ("train.epochs=2",)),
    ],
)
def test_models_get_as_many_passes_as_there_is_time_or_words_for(
    tmp_path: Path, part: Part, settings: tuple[str, ...] | None
) -> None:
    words = sum(len(words) - 1 for words in TEXT)  # the full stop does not count; none is longer than the first limit
    minutes = part.minutes * words / RECIPE.costs.words_per_second / 60
    recipe = replace(RECIPE, parts=(replace(part, minutes=minutes),))
    job = RecipeJob.open(request(tmp_path / "run"), recipe, 10.0)
    (tmp_path / "run").mkdir()
    schedule = Schedule(replace(recipe, costs=replace(recipe.costs, max_stretch=1.0)), 10.0, 1)
    training, _ = runner._training(recipe.runs[0], job, schedule, 10.0, None)
    assert training.request.settings == (settings or (f"train.epochs={100_000 // training.data.training.words}",))
    assert training.max_minutes == pytest.approx(minutes if part.words else 2 * minutes, abs=0.01)


def test_words_are_not_counted_by_a_part_that_needs_a_teacher(tmp_path: Path) -> None:
    parts = (replace(ONLSTM, name="first"), replace(STUDENT, name="chart", teachers="first", max_passes=2))
    job = RecipeJob.open(request(tmp_path / "run"), replace(RECIPE, parts=parts), 10.0)
    (tmp_path / "run").mkdir()
    assert runner._read_text(job, lambda: False).training.words > len(TEXT)


def test_members_vote_and_teach_with_the_estimated_strength(tmp_path: Path) -> None:
    settings = (*TINY["npcfg"], "parse.priors=segment-edges:1,brackets:1")
    edges = Part("segment-edges", ("segment-edges-small",), 1, votes=False)
    first = Part("first", ("npcfg-small",), 1, count=2, teachers="segment-edges", with_teacher=1, settings=settings)
    second = Part("second", ("npcfg-small",), 1, teachers="first", settings=settings)
    recipe = Recipe("tiny", (edges, first, second), minutes=10, estimated_prior="segment-edges")
    list(train_recipe(request(tmp_path / "run"), recipe))
    priors = f"segment-edges:{stored(tmp_path / 'run')['strength']:g}+brackets:1"
    for folder, count in (("", 3), ("parts/first-vote", 2)):
        ensemble = json.loads((tmp_path / "run" / folder / "ensemble.json").read_text(encoding="utf-8"))
        assert [member["priors"] for member in ensemble["members"]] == [priors] * count
