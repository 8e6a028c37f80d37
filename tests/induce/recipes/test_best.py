"""Several models and their vote, at a tiny size: what is trained, stopped, resumed and chosen."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from types import SimpleNamespace

import numpy as np
import pytest

from induce.data.fragments import longest_of_pass, words_learned
from induce.decoding import branching_direction as edges
from induce.parsing.load import load_parser
from induce.recipes import best, best_plan
from induce.recipes.best import train_best
from induce.recipes.best_plan import GRAMMAR_WORDS, Part, Plan, name_of, series
from induce.settings import resolve
from induce.training.events import Check
from induce.training.request import RunRequest
from tests.support.tiny import SETTINGS, sentences
from treebank.base.errors import SynparseError

TINY = {
    name: tuple(part for part in SETTINGS[name] if "epochs" not in part)
    for name in ("onlstm", "prpn", "npcfg", "chart")
}
PARTS = (
    Part("onlstm", "onlstm-small", 1, votes=False, settings=(*TINY["onlstm"], "train.epochs=1")),
    Part("prpn", "prpn-small", 1, settings=(*TINY["prpn"], "train.epochs=1")),
    Part(
        "focused-1",
        "npcfg-small",
        1,
        seed=1,
        focus=("onlstm:biased", "onlstm:unbiased"),
        settings=(*TINY["npcfg"], "train.epochs=1"),
    ),
    Part("focused-2", "npcfg-small", 1, seed=2, focus=("focused-1",), settings=(*TINY["npcfg"], "train.epochs=1")),
)
PUPILS = tuple(replace(pupil, settings=(*TINY["chart"], "train.epochs=1")) for pupil in best_plan.PUPILS[:2])
TEXT = [sentence.words for sentence in sentences(60)]


def request(run: Path, **options: object) -> RunRequest:
    text = run.parent / "text.txt"
    text.write_text("".join(" ".join(words) + "\n" for words in TEXT), encoding="utf-8")
    return RunRequest(run=str(run), text=(str(text),), device="cpu", **options)  # type: ignore[arg-type]


def trees(run: Path) -> list[str]:
    return list(map(str, load_parser(run).parse(TEXT)))


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another, which is faster for so little."""
    monkeypatch.setattr(best, "cores", lambda: 1)


def test_the_result_is_one_run_and_the_log_says_why(tmp_path: Path) -> None:
    told: list[str] = []
    names = [
        name for name, event in train_best(request(tmp_path / "run"), parts=PARTS, pupils=PUPILS, tell=told.append)
    ]
    assert list(dict.fromkeys(names)) == ["onlstm", "prpn", "focused-1", "focused-2", "pupil-1", "pupil-2"]
    plan = json.loads((tmp_path / "run" / "plan.json").read_text(encoding="utf-8"))
    assert plan["done"] == ["onlstm", "prpn", "focused-1", "focused-2", "pupil-1", "pupil-2"]
    assert set(plan["log"]) <= set(told)
    assert plan["branching"] in ("right", "left", "neither")
    assert any(line.startswith(f"branching: {plan['branching']}, strength ") for line in plan["log"])
    ensemble = load_parser(tmp_path / "run")
    members = [member.name for member in ensemble.description.members]  # type: ignore[union-attr]
    grammars = ["prpn", "focused-1", "focused-2"]
    assert members == [f"parts/{name}" for name in (*grammars, "pupil-1", "pupil-2")]
    assert "(focus)" in ensemble.learned_from
    assert f"the vote of 5 members is the run {tmp_path / 'run'}" in plan["log"]
    vote = load_parser(tmp_path / "run" / "parts" / "vote")
    assert [member.name for member in vote.description.members] == [f"../{name}" for name in grammars]  # type: ignore[union-attr]
    for name in ("pupil-1", "pupil-2"):
        pupil = load_parser(tmp_path / "run" / "parts" / name)
        assert pupil.learned_from == f"parsed trees: {tmp_path / 'run' / 'parts' / 'vote'} (focus)"
        assert pupil.name == "chart"
    of_vote = Plan.open(tmp_path / "run", request(tmp_path / "run", resume=True), None, print)
    (other,) = best._tasks([replace(best_plan.PUPILS[0], name="other")], of_vote, 1.0, lambda: False, print)
    assert "train.epochs=30" in other.request.settings  # a small text is gone through more often than the preset's four
    before = trees(tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "moved")
    assert trees(tmp_path / "moved") == before


@pytest.mark.parametrize("stopped_in", ["onlstm", "prpn", "focused-1", "pupil-1", "pupil-2"])
def test_stopped_and_resumed_it_ends_with_the_same_trees(tmp_path: Path, stopped_in: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for _ in train_best(request(tmp_path / "a" / "run"), parts=PARTS, pupils=PUPILS):
        pass
    seen: list[str] = []
    for name, _ in train_best(
        request(tmp_path / "b" / "run"), parts=PARTS, pupils=PUPILS, stop=lambda: stopped_in in seen
    ):
        seen.append(name)
    assert seen[-1] == stopped_in
    assert (tmp_path / "b" / "run" / "parts" / "vote" / "ensemble.json").exists() == ("pupil" in stopped_in)
    assert not (tmp_path / "b" / "run" / "ensemble.json").exists()
    done = json.loads((tmp_path / "b" / "run" / "plan.json").read_text(encoding="utf-8"))["done"]
    names = [part.name for part in (*PARTS, *PUPILS)]
    assert done == names[: names.index(stopped_in)]
    again = RunRequest(run=str(tmp_path / "b" / "run"), resume=True, device="cpu")
    later = {name for name, _ in train_best(again, parts=PARTS, pupils=PUPILS)}
    assert later == set(names) - set(done)
    assert trees(tmp_path / "b" / "run") == trees(tmp_path / "a" / "run")


def test_it_can_be_stopped_while_a_text_is_parsed(tmp_path: Path) -> None:
    """Before the pupils begin, none of which has a run then."""
    told: list[str] = []

    def is_parsing() -> bool:
        return any(line.startswith("pupil-1: parsing the text") for line in told)

    for name, _ in train_best(request(tmp_path / "run"), parts=PARTS, pupils=PUPILS, tell=told.append, stop=is_parsing):
        assert not name.startswith("pupil")
    assert is_parsing()
    parts = {path.name for path in (tmp_path / "run" / "parts").iterdir()}
    assert parts == {"onlstm", "prpn", "focused-1", "focused-2", "vote"}
    again = RunRequest(run=str(tmp_path / "run"), resume=True, device="cpu")
    assert {name for name, _ in train_best(again, parts=PARTS, pupils=PUPILS)} == {"pupil-1", "pupil-2"}
    assert len(load_parser(tmp_path / "run").description.members) == 5  # type: ignore[union-attr]


def test_another_series_has_other_seeds(tmp_path: Path) -> None:
    seeds = {}
    for seed in (None, 1, 2):
        run = tmp_path / str(seed)
        asked = request(run, seed=seed)
        plan = Plan.open(run, asked, None, print)
        plan.ranks["first"] = ["first-3", "first-1"]
        plan.write()
        seeds[seed] = [plan.request_of(part).seed for part in series(1)]
        again = Plan.open(run, replace(asked, seed=None, resume=True), None, print)
        assert [again.request_of(part).seed for part in series(1)] == seeds[seed]
    assert seeds[None] == seeds[1] == [part.seed for part in series(1)]
    assert not set(seeds[1]) & set(seeds[2])
    with pytest.raises(SynparseError, match="began with --seed 2, which cannot change on --resume"):
        Plan.open(tmp_path / "2", request(tmp_path / "2", seed=3, resume=True), None, print)


def test_the_rivals_with_the_lowest_perplexity_teach(tmp_path: Path) -> None:
    """Three rivals with other seeds and other numbers of passes; what a resumed plan reads is what was decided."""
    trained = ((1, 1), (2, 3), (3, 2))
    changes = {seed: (*TINY["npcfg"], f"train.epochs={epochs}") for seed, epochs in trained}
    rivals = [
        replace(PARTS[2], name=f"rival-{seed}", focus=(), seed=seed, settings=changes[seed], votes=False)
        for seed in changes
    ]
    pupils = [replace(PARTS[2], name=f"of-{place}", focus=(f"rival/{place}",)) for place in (1, 3)]
    told: list[str] = []
    found: dict[str, float] = {}
    for name, event in train_best(
        request(tmp_path / "run"), parts=(PARTS[0], *rivals, *pupils), pupils=PUPILS, tell=told.append
    ):
        if isinstance(event, Check):
            found[name] = min(event.development_perplexity, found.get(name, event.development_perplexity))
    order = sorted((one.name for one in rivals), key=found.__getitem__)
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run", resume=True), None, print)
    assert plan.ranks == {"rival": order}
    scores = ", ".join(f"{name} {found[name]:.1f}" for name in order)
    assert f"perplexity of the development text: {scores}; the lowest teach" in told
    for pupil, teacher in zip(pupils, (order[0], order[2]), strict=True):
        learned_from = load_parser(tmp_path / "run" / "parts" / pupil.name).learned_from
        assert learned_from == f"parsed trees: {tmp_path / 'run' / 'parts' / teacher} (focus)"
    plan.ranks["rival"] = order[::-1]
    plan.rank("rival", order, "the lowest teach", told.append)  # decided once
    assert plan.ranks["rival"] == order[::-1]


def test_the_likeliest_of_each_kind_vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "VOTERS", 1)
    found: dict[str, float] = {}
    told: list[str] = []
    for name, event in train_best(request(tmp_path / "run"), parts=PARTS, pupils=PUPILS, tell=told.append):
        if isinstance(event, Check):
            found[name] = min(event.development_perplexity, found.get(name, event.development_perplexity))
    better, worse = sorted(("focused-1", "focused-2"), key=found.__getitem__)
    members = [member.name for member in load_parser(tmp_path / "run").description.members]  # type: ignore[union-attr]
    assert members == ["parts/prpn", f"parts/{better}", "parts/pupil-1", "parts/pupil-2"]
    scores = f"{better} {found[better]:.1f}, {worse} {found[worse]:.1f}"
    assert f"perplexity of the development text: {scores}; the 1 lowest vote" in told


@pytest.mark.parametrize(("minutes", "count"), [(1, 1), (150, 1), (155, 2), (235, 3), (310, 4), (1000, 4)])
def test_there_are_as_many_series_as_there_is_time_for(tmp_path: Path, minutes: float, count: int) -> None:
    """At the speed that minutes are counted with, a series has 92 minutes of a core at least, and
    .6 of the time is for training."""
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), minutes, print)
    plan.speed = GRAMMAR_WORDS
    told: list[str] = []
    assert plan.choose_series(2, told.append) == series(count)
    assert told == [f"{count} series of models"]
    again = Plan.open(tmp_path / "run", request(tmp_path / "run", resume=True), 1.0, print)
    assert again.choose_series(2, print) == series(count)  # whatever minutes there are now


def test_the_speed_of_grammars_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), 10.0, print)
    grammar, other = Part("npcfg", "npcfg-small", 6), Part("onlstm", "onlstm-small", 10)
    assert (plan.minutes_of(grammar), plan.minutes_of(other)) == (6, 10)
    monkeypatch.setattr(best, "MEASURING", 1.0)
    told: list[str] = []
    best._measure(plan, 2, lambda: False, told.append)
    assert plan.speed > 0
    assert told == [f"a grammar learns from {plan.speed:,.0f} words a second here"]
    assert plan.minutes_of(grammar) == pytest.approx(6 * GRAMMAR_WORDS / plan.speed)
    assert plan.minutes_of(other) == 10
    again = Plan.open(tmp_path / "run", request(tmp_path / "run", resume=True), None, print)
    assert (again.speed, again.log) == (plan.speed, told)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    ("minutes", "words", "count", "shares"),
    [
        (5, 100_000, 1, (0.6, 0.3)),
        (5, 40_000, 1, (1, 1)),
        (5, 75_000, 1, (0.8, 0.4)),
        (10, 100_000, 1, (1, 0.7)),
        (30, 300_000, 2, (0.6, 0.6)),
        (5, 10**9, 1, (0.001, 0.001)),
        (5, 0, 1, (1, 1)),
    ],
)
def test_of_a_long_text_as_much_is_learned_from_as_can_be_parsed_in_time(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    minutes: float,
    words: int,
    count: int,
    shares: tuple[float, float],
) -> None:
    """On two cores, .4 of the minutes of which are left by training, where a grammar learns from 4,000 words a second:
    in what 5 minutes leave it would learn from 960,000 words, or a series be taught 120,000, or 60,000 be voted on."""
    monkeypatch.setattr(best_plan, "TEACHING", 8)
    monkeypatch.setattr(best_plan, "VOTING", 16)
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), minutes, print)
    plan.speed, plan.words, plan.series = 4000, words, count
    told = list[str]()
    plan.choose_shares(0, 2, told.append)
    assert (plan.text_share, plan.vote_share) == shares
    assert len(told) == (shares[1] < 1)
    pupil, part = best_plan.PUPILS[0], series(1)[0]
    for asked, share in zip((part, pupil), shares, strict=True):
        assert plan.request_of(asked).settings == ((f"data.text_share={share:g}",) if share < 1 else ())
    again = Plan.open(tmp_path / "run", request(tmp_path / "run", resume=True), None, print)
    assert (again.text_share, again.vote_share, again.words) == (*shares, words)


def test_nothing_measured_is_kept_where_one_stops(tmp_path: Path) -> None:
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), 10.0, print)
    best._measure(plan, 1, lambda: True, print)
    assert (plan.speed, plan.log) == (0.0, [])


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    list(train_best(request(tmp_path / "run"), parts=PARTS, pupils=PUPILS))
    again = list(
        train_best(RunRequest(run=str(tmp_path / "run"), resume=True, device="cpu"), parts=PARTS, pupils=PUPILS)
    )
    assert [event for _, event in again if isinstance(event, Check)] == []


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SynparseError, match="several times"):
        list(train_best(RunRequest(run=str(tmp_path / "run"), text=("-",)), parts=PARTS, pupils=PUPILS))
    (tmp_path / "mine" / "best").mkdir(parents=True)
    (tmp_path / "mine" / "best" / "checkpoint.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SynparseError, match="this folder holds a trained model"):
        list(train_best(request(tmp_path / "mine", overwrite=True), parts=PARTS, pupils=PUPILS))
    (tmp_path / "bad").mkdir()
    for text, problem in (("{}", "a plan of another version, without '"), ("[", "not the plan of a run")):
        (tmp_path / "bad" / "plan.json").write_text(text, encoding="utf-8")
        with pytest.raises(SynparseError, match=problem):
            list(train_best(request(tmp_path / "bad", resume=True), parts=PARTS, pupils=PUPILS))


def test_grammars_get_as_many_passes_as_there_is_time_for(tmp_path: Path) -> None:
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), 10.0, print)
    words = sum(len(words) - 1 for words in TEXT)  # the full stop does not count; none is longer than the first limit
    minutes = 5 * words / GRAMMAR_WORDS / 60  # of five passes
    (task,) = best._tasks([Part("npcfg", "npcfg-small", minutes)], plan, 1.0, lambda: False, print)
    assert task.request.settings == ("train.epochs=5", "train.longer=4")
    assert task.max_minutes == pytest.approx(2 * minutes)


@pytest.mark.parametrize(("minutes", "passes", "longer"), [(0.01, 2, 14), (1, 4, 5), (2, 9, 2), (100, 16, 2)])
def test_the_longest_sentences_come_before_the_end(minutes: float, passes: int, longer: int) -> None:
    """Of a hundred sentences of each length up to 30, of which those of more than 26 are never learned from."""
    lengths = np.repeat(np.arange(1, 31), 100)
    train = resolve(preset="npcfg-small").train
    schedule = best._schedule(train, lengths, 1e5 * minutes, 16)
    assert (schedule.epochs, schedule.longer) == (passes, longer)
    assert longest_of_pass(schedule, passes) == 26
    assert passes == 2 or words_learned(lengths, schedule) <= 1e5 * minutes


def test_teachers_are_trained_before_their_pupils() -> None:
    stages = [[part.name for part in stage] for stage in best._stages(series(1))]
    assert stages[0] == ["onlstm-1", "onlstm-2"]
    names = [name.split("-")[0] for stage in stages[1:] for name in stage]
    assert names == ["first"] * 6 + ["second"] * 6


@pytest.mark.parametrize("count", [1, 3])
def test_every_teacher_of_a_series_has_three_pupils(count: int) -> None:
    parts = series(count)
    pupils = Counter(name_of(teacher) for part in parts for teacher in part.focus if ":" in teacher)
    assert pupils == {f"onlstm-{k}": 6 for k in range(1, 2 * count + 1)}  # three, each with trees of two decoders
    pupils = Counter(teacher for part in parts for teacher in part.focus if ":" not in teacher)
    assert pupils == {f"first/{place}": 3 for place in range(1, 2 * count + 1)}
    assert Counter(part.preset for part in parts if part.votes) == {
        "npcfg-small": 3 * count,
        "simple-pcfg-small": 3 * count,
    }


def test_grammars_with_a_teacher_parse_with_priors(tmp_path: Path) -> None:
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), 10.0, print)
    assert (
        plan.request_of(PARTS[2])
        .settings[0]
        .startswith("parse.priors=prefix-symbols:2,function-words:0.5,branching:0.1,")
    )
    assert plan.request_of(PARTS[0]).settings == PARTS[0].settings


def test_weak_evidence_for_a_direction_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges.Edges, "in_facts", lambda facts: edges.Edges(28.0, 21.0, 1000))
    monkeypatch.setattr("induce.parsing.load.read_trained", lambda run: SimpleNamespace(facts={}))
    plan = Plan.open(tmp_path / "run", request(tmp_path / "run"), 10.0, print)
    lines: list[str] = []
    plan.choose_branching(PARTS[0], lines.append)
    assert plan.branching == "right"
    assert lines[-1].startswith("warning: weak evidence for the branching direction (+7 points, standard error 1.9)")


@pytest.mark.parametrize(("words", "side"), [("the b{0} c{0} d{0}", "right"), ("b{0} c{0} d{0} the", "left")])
def test_the_side_comes_from_the_edges_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, side: str
) -> None:
    monkeypatch.setattr(edges, "FREQUENT_WORDS", 1)
    text = tmp_path / "text.txt"
    text.write_text("".join(words.format(letter) + "\n" for letter in ascii_lowercase), encoding="utf-8")
    asked = RunRequest(run=str(tmp_path / "run"), text=(str(text),), device="cpu")
    told = list[str]()
    plan = Plan.open(tmp_path / "run", asked, 10.0, told.append)
    for _ in best._train(PARTS[:1], plan, 1.0, 1, lambda: False, told.append):
        pass
    plan.choose_branching(PARTS[0], told.append)
    assert plan.branching == side
    assert told[-1].startswith(f"branching: {side}, strength 1.00 (sentences with a frequent word at an edge: ")
