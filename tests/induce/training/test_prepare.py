"""From settings and texts to a run's folder: what cannot work is refused before anything is read or written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from induce.parsing.load import load_parser
from induce.settings.presets import load_preset, resolve
from induce.storage import checkpoint
from induce.storage.checkpoint import RunFacts
from induce.tasks.examples import Examples
from induce.tasks.listops import ListOps
from induce.training import prepare
from induce.training.prepare import check_enough, prepare_run
from induce.training.request import RunRequest, continued
from tests.support.calls import Caller
from tests.support.tiny import SETTINGS, sentences
from treebank.base.errors import SynparseError

TINY = SETTINGS["onlstm"]


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text."""
    Path("text.txt").write_text("\n".join(" ".join(item.words) for item in sentences(60)) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"settings": ["parse.decoder=eisner"]}, "model 'onlstm' gives distances; decoder 'eisner' needs heads"),
        ({"settings": ["parse.priors=brackets:1"]}, "prior 'brackets:1' needs span_scores; this model gives distances"),
        (
            {"model": "transformer", "settings": ["parse.priors=brackets:1"]},
            "prior 'brackets:1' needs span_scores; this model gives distances and impact",
        ),
        (
            {"dev": ["text.txt"], "settings": ["data.development_share=0.1"]},
            "setting 'data.development_share=0.1' has no effect with --dev; leave out one of them",
        ),
        (
            {"text": [], "settings": ["data.development_share=0.1"]},
            "setting 'data.development_share=0.1' has no effect without TEXT",
        ),
        (
            {"text": [], "model": "onlstm-syd", "trees": "sample", "settings": ["data.development_share=0.1"]},
            "setting 'data.development_share=0.1' has no effect without TEXT",
        ),
        (
            {"model": "ndmv", "teachers": ["x"], "settings": ["model.start_length=5"]},
            "setting 'model.start_length=5' has no effect with --teacher",
        ),
        ({"settings": ["loader.name=masked"]}, "model 'onlstm' reads stream or sentences, not masked"),
        ({"settings": ["model.hidden_size=33"]}, "settings of model 'onlstm': hidden_size = 33 is not a multiple"),
        ({"settings": ["model.embedding_size=0"]}, "setting model.embedding_size = 0 must lie between 1 and"),
        ({"model": "udgn", "settings": ["parse.decoder=biased"]}, "model 'udgn' gives heads; decoder 'biased' needs"),
        ({"trees": "sample"}, "model 'onlstm' learns from plain text alone; --trees is for onlstm-syd and prpn-syd"),
        ({"dev": ["nowhere.txt"]}, "nowhere.txt"),
    ],
)
def test_refused_before_a_text_is_read(options: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("the text was read")

    monkeypatch.setattr(prepare, "read_text", read)
    with pytest.raises(SynparseError) as messages:
        prepare_run(RunRequest(**{"run": "new/run", "text": ["text.txt"], **options}))
    assert problem in str(messages.value)
    assert not Path("new").exists()


@pytest.mark.parametrize("options", ["--model dmv --set optimizer.name=adam", "--set optimizer.name=none"])
def test_setting_that_does_not_fit_the_model_is_an_error_of_usage(call: Caller, options: str) -> None:
    assert "needs" in call.usage("train", "text.txt", *options.split())


def test_vocabulary_of_a_preset_is_relative_to_its_folder(call: Caller) -> None:
    Path("presets").mkdir()
    Path("presets/words.txt").write_text("the\ndog\n", "utf-8")
    Path("presets/mine.toml").write_text('extends = "onlstm-small"\ndata.vocabulary = "words.txt"\n', "utf-8")
    config = load_preset("presets/mine.toml")
    assert config.data.vocabulary == str(Path("presets/words.txt"))


def test_missing_teacher_of_a_resumed_run_is_reported_with_a_remedy() -> None:
    teacher = Path("teacher.mrg")
    teacher.write_text("(S (X the) (X dog))\n", "utf-8")
    facts = RunFacts(texts=("text.txt",), teachers=("teacher.mrg", "seminfo"))
    stored = SimpleNamespace(facts=facts, config=resolve(model="npcfg"))
    request = RunRequest(run="run", resume=True)
    assert continued(stored, request)[1].teachers == facts.teachers  # type: ignore[arg-type]
    teacher.unlink()
    with pytest.raises(SynparseError, match=r"teacher.mrg: does not exist; .* or give --teacher again"):
        continued(stored, request)  # type: ignore[arg-type]


def test_empty_standard_input_is_reported_with_a_remedy() -> None:
    with pytest.raises(SynparseError, match=r"^standard input: 0 words .*; pipe the text in, also with --resume$"):
        check_enough(resolve(model="onlstm"), Examples(ListOps(), []), ("-",))


def test_user_preset(call: Caller) -> None:
    Path("mine.toml").write_text(
        'source = "me"\n[model]\nname = "onlstm"\nembedding_size = 16\nhidden_size = 24\nchunk_size = 4\n'
        "[data]\nminimum_count = 1\n[train]\nepochs = 1\n[parse]\nlayer = 2\n",
        "utf-8",
    )
    call.result("train", "text.txt", "--preset", "mine.toml", "-o", "run")
    config = checkpoint.read(Path("run/model.safetensors")).config
    assert (config.preset, config.source, config.model["hidden_size"], config.model["layers"]) == (
        "mine.toml",
        "me",
        24,
        3,
    )
    for text, problem in (
        ("[model]\nname = 'onlstm'\nhiden_size = 3\n", "mine.toml: setting 'hiden_size': [model] has no setting"),
        ("[model]\nname = 'onlstn'\n", "mine.toml: there is no model 'onlstn'; did you mean 'onlstm'?"),
        ("[modle]\n", "mine.toml: there is no table [modle]; did you mean 'model'?"),
        ("[model]\n", "mine.toml: name a model"),
        ("[model\n", "mine.toml: not valid TOML"),
        ("a" + ".a" * 60_000 + " = 1", "mine.toml: more than 16,384 bytes"),
        ("[model]\nname = 3", "mine.toml: write the name in [model] as a text"),
        ('[model]\nname = "onlstm"\n[optimizer]\nname = ["x"]', "mine.toml: write the name in [optimizer]"),
        ('[model]\nname = "onlstm"\n[task]\nname = {a = 1}', "mine.toml: write the name in [task]"),
        ('[model]\nname = "onlstm"\n[on-sample]\nx = 1', "mine.toml: setting 'x=1': write it as table.key=value"),
    ):
        Path("mine.toml").write_text(text, "utf-8")
        assert problem in call.refusal("train", "text.txt", "--preset", "mine.toml", "-o", "other")  # the file is bad
    assert "nowhere.toml: there is no such file" in call.refusal("train", "text.txt", "--preset", "nowhere.toml")


def test_file_left_incomplete_by_a_kill_does_not_prevent_a_resume() -> None:
    Path("run").mkdir()
    Path("run", "resume.safetensors.0a1b2c.part").touch()
    settings = [*TINY, "train.epochs=1"]
    list(prepare_run(RunRequest(run="run", text=["text.txt"], settings=settings, resume=True)).train())
    assert checkpoint.read(Path("run/model.safetensors")).facts.step > 0
    assert not list(Path("run").glob("*.part"))


def test_generated_sample_is_announced() -> None:
    notes: list[str] = []
    prepare_run(RunRequest(run="sample", settings=SETTINGS["onlstm"]), notes.append)
    assert "which a grammar generated" in notes[0]


def test_a_run_whose_preset_has_another_name_now_is_read() -> None:
    trainer = prepare_run(RunRequest(run="run", text=["text.txt"], model="prpn", settings=SETTINGS["prpn"]))
    list(trainer.train())
    saved = checkpoint.read(Path("run/model.safetensors"))
    config = replace(saved.config, preset="prpn-as-it-was-called")
    files = checkpoint.pack(checkpoint.build_model(saved), config, saved.vocabulary, saved.facts)
    checkpoint.save(Path("renamed/model.safetensors"), files)
    assert load_parser("renamed").checkpoint.config.model["gate"] == "hard"


def test_a_corpus_in_shards_gives_the_same_trees(call: Caller) -> None:
    """Anything before a sentence: tags of the Penn Treebank, other tags, none."""
    penn = "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))"
    other = "(S (NP (Art The) (Noun dog)) (VP (Verb saw) (NP (Art a) (Noun cat))) (Punct .))"
    settings = [*TINY, "train.epochs=1", "data.normalization=ptb"]
    list(prepare_run(RunRequest(run="run", text=["text.txt"], settings=settings)).train())
    Path("whole.mrg").write_text("\n".join([*[penn] * 20, *[other] * 20]) + "\n", "utf-8")
    Path("shard.mrg").write_text("\n".join([other] * 20) + "\n", "utf-8")
    whole = call.result("parse", "whole.mrg", "-m", "run").splitlines()
    assert whole[20:] == call.result("parse", "shard.mrg", "-m", "run").splitlines()
