"""A model of characters on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import run
from tests.cli.helpers import TINY, Caller, toy_text
from tests.induce.tiny import SETTINGS


@pytest.fixture(scope="module")
def spelling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``text.txt`` and a model of its characters in ``run``; tests only read it."""
    folder = tmp_path_factory.mktemp("spelling")
    (folder / "text.txt").write_text(toy_text(40), encoding="utf-8")
    assert run(["train", str(folder / "text.txt"), "-o", str(folder / "run"), *TINY, *LETTERS]) == 0
    return folder


LETTERS = ["--set", "data.token=character", "--set", "data.normalization=raw", "--set", "train.epochs=1"]


def test_training_tells_bits_per_character(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(40), encoding="utf-8")
    code, out, err = call("train", tmp_path / "text.txt", "-o", tmp_path / "run", *TINY, *LETTERS)
    assert (code, out) == (0, "")
    health, note, start, _, check, *rest = err.splitlines()
    assert "; Latin 100%" in health
    assert "are too little for useful trees; give more text" in note
    assert "sentences, " in start
    assert " characters (0.0% unknown)" in start
    (logged,) = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").open() if '"check"' in line]
    assert f"{logged['development_perplexity']:.2f} ({logged['development_bits']:.3f} bits per character)" in check
    assert f"{logged['development_bits']:.3f} bits per character (epoch 1)" in rest[0]


def test_a_tree_has_a_leaf_for_each_character_and_shows_spaces(call: Caller, spelling: Path, tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("A (b\n\n\u00e9\n", encoding="utf-8")
    tree, empty, one = call.result("parse", tmp_path / "input.txt", "-m", spelling / "run").split("\n")[:3]
    assert tree.count("(W ") == 4
    assert "(W \u2423)" in tree
    assert "(W -LRB-)" in tree
    assert (empty, one) == ("", "(X (W \u00e9))")
    spans = call.result("parse", tmp_path / "input.txt", "-m", spelling / "run", "--format", "jsonl")
    assert json.loads(spans.splitlines()[0])["words"] == ["A", "\u2423", "(", "b"]


def test_extract_and_decode_give_what_parse_gives(call: Caller, spelling: Path, tmp_path: Path) -> None:
    parsed = call.result("parse", spelling / "text.txt", "-m", spelling / "run")
    call.result("extract", spelling / "text.txt", "-m", spelling / "run", "-o", tmp_path / "numbers.jsonl")
    assert call.result("decode", tmp_path / "numbers.jsonl") == parsed
    first = json.loads((tmp_path / "numbers.jsonl").open(encoding="utf-8").readline())
    assert "".join(first["words"]).replace("\u2423", " ") + "\n" == (spelling / "text.txt").open().readline()
    assert len(first["distances"]) == len(first["words"])


def test_what_is_wrong_with_the_first_line_is_told(call: Caller, spelling: Path, tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_bytes(b"\xff\n")
    assert "input.txt:1: " in call.refusal("parse", tmp_path / "input.txt", "-m", spelling / "run")


def test_heads_are_of_characters(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(40), encoding="utf-8")
    sizes = [part for setting in SETTINGS["udgn"] for part in ("--set", setting)]
    call.result("train", tmp_path / "text.txt", "-o", tmp_path / "run", "--model", "udgn", *sizes, *LETTERS)
    (tmp_path / "input.txt").write_text("a dog\n", encoding="utf-8")
    out = call.result("parse", tmp_path / "input.txt", "-m", tmp_path / "run")
    assert [line.split("\t")[1] for line in out.splitlines() if "\t" in line] == ["a", "\u2423", *"dog"]
    refusal = call.refusal("eval", "--gold", "sample", "-m", tmp_path / "run", "--convention", "udgn")
    assert "are over characters" in refusal


def test_info_says_the_unit(call: Caller, spelling: Path) -> None:
    out = call.result("info", spelling / "run")
    assert "data.token=character" in out
    assert " characters)\n" in out
    assert out.count(" characters\n") == 1  # of the vocabulary
    assert " bits per character (best so far)\n" in out


def test_trees_over_characters_are_not_scored_against_words(call: Caller, spelling: Path) -> None:
    assert call.refusal("eval", "--gold", "sample", "-m", spelling / "run") == (
        f"{spelling / 'run'}: the trees of this model are over characters, and those of the treebank over words; "
        "to score trees, train with data.token=word"
    )


def test_a_run_of_characters_is_resumed(call: Caller, spelling: Path, tmp_path: Path) -> None:
    arguments = ("train", spelling / "text.txt", "-o", tmp_path / "run")
    call.result(*arguments, *TINY, *LETTERS)
    code, _, err = call(*arguments, "--resume", "--set", "train.epochs=2")
    assert code == 0
    assert err.startswith("going on at step ")
    assert err.count(" bits per character)") == 1
    assert "only train.epochs and train.learning_rate can change" in call.usage(
        *arguments, "--resume", "--set", "data.token=word"
    )
