"""Unusual words, numbers and training states do not truncate text, print escape sequences or raise tracebacks."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.output import open_output
from tests.support.calls import TINY, Caller
from tests.support.file_faults import limited_memory
from tests.support.model_files import MODEL, RESUME, content_of, rewrite

pytestmark = pytest.mark.usefixtures("working_folder")


def test_two_calls_that_write_one_file() -> None:
    with open_output("trees.txt") as later:
        later("later")
        with open_output("trees.txt") as first:
            first("first")
            later("still later")
        assert Path("trees.txt").read_text() == "first\n"
    assert Path("trees.txt").read_text() == "later\nstill later\n"


def test_the_end_mark_as_a_word_of_the_text(call: Caller, model: Path) -> None:
    """An end-of-sentence token in the text does not end a sentence and is an unknown word."""
    Path("marks.txt").write_text("the <eos> dog\n<eos>\n")
    Path("words.txt").write_text("the qqq dog\nqqq\n")
    marks, words = (
        call.result("perplexity", "--per", "sentence", "-m", model, name) for name in ("marks.txt", "words.txt")
    )
    assert marks == words
    assert [line.split("\t")[1:] for line in marks.splitlines()] == [["3", "1"], ["1", "1"]]
    assert call.result("parse", "-m", model, "marks.txt").count("<eos>") == 2
    facts = [trained_on(call, f"the {word} dog saw a cat\n{word} a man saw\n" * 20) for word in ("<eos>", "qqq")]
    assert facts[0] == facts[1]


def trained_on(call: Caller, text: str) -> dict[str, int]:
    """Number of words in the training text."""
    Path("text.txt").write_text(text)
    few = ["--set", "data.minimum_count=1", "--set", "train.epochs=1"]
    call.result("train", "text.txt", "-o", "run", "--overwrite", *TINY, *few)
    training = content_of(Path("run", MODEL))["facts"]["training"]
    return {name: training[name] for name in ("sentences", "words")}


def test_a_model_larger_than_all_memory(call: Caller, trained: Path) -> None:
    huge = ["--set", "model.hidden_size=1000000", "--set", "model.chunk_size=4"]
    with limited_memory(1 << 28):
        assert "memory" in call.refusal("train", trained / "text.txt", "-o", "run", *huge)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("position", value) for value in (7, None, [], {"step": "x"}, {"epoch": None}, {"history": 3}, {"step": -1})),
        *(("position", value) for value in ({"history": [3]}, {"history": [{}]}, {"seconds": math.nan})),
        *(("optimizer", value) for value in (None, [], {}, {"state": 1, "param_groups": 2})),
        *(("position", {"finished": "x"}), ("random", None), ("random", "x"), ("random", {}), ("random", {"torch": 1})),
        *(("state", value) for value in (1, [1], [[torch.zeros(1)]])),
    ],
)
def test_a_state_of_other_types(call: Caller, copy: Path, name: str, value: Any) -> None:
    def changed(state: dict[str, Any]) -> dict[str, Any]:
        merged = isinstance(value, dict) and value and name == "position"
        return {**state, name: {**state[name], **value} if merged else value}

    rewrite(copy / RESUME, state=changed)
    assert "cannot be resumed" in call.refusal("train", "--resume", "-o", copy, "--set", "train.epochs=9")


class Touch:
    """An object whose pickle creates the file "executed" when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("executed"),)


@pytest.mark.parametrize("name", [MODEL, RESUME])
def test_code_in_the_files_of_a_model_is_not_run(call: Caller, copy: Path, name: str) -> None:
    path = copy / name
    torch.save({"optimizer": Touch(), "random": {}}, path)
    torch.load(io.BytesIO(path.read_bytes()), weights_only=False)
    Path("executed").unlink()  # the file is dangerous
    Path("in.txt").write_text("the dog saw a cat\n")
    call.refusal("parse", "-m", path, "in.txt")
    assert (call("train", "--resume", "-o", copy, "--set", "train.epochs=9")[0] != 0) == (name == RESUME)
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    "command",
    [
        *(("extract",), ("extract", "--what", "vectors"), ("extract", "--what", "vectors", "-o", "vectors.npz")),
        *(("parse",), ("perplexity", "--format", "json"), ("perplexity", "--per", "word")),
    ],
    ids=" ".join,
)
def test_finite_weights_whose_output_is_nan_are_reported(call: Caller, copy: Path, command: tuple[str, ...]) -> None:
    rewrite(copy / MODEL, weights=lambda tensors: {n: (v * 1e38).clamp(-3e38, 3e38) for n, v in tensors.items()})
    Path("in.txt").write_text("the dog saw a cat\n")
    assert "is not a number" in call.refusal(*command, "in.txt", "-m", copy)


def test_escape_sequences_in_a_model(call: Caller, copy: Path) -> None:
    """A downloaded model cannot send escape sequences to the terminal."""

    def change(content: dict[str, Any]) -> None:
        content["settings"]["preset"] = "\x1b[2Jmine\x07"
        content["facts"]["texts"] = ["\x1b]0;title\x07.txt"]
        content["synparse"] = "\x1b[31m1"
        content["settings"]["source"] = "\ud800"  # half a character

    rewrite(copy / MODEL, content=change)
    code, out, err = call("info", "-m", copy)
    assert code in (0, 1)
    assert not {"\x1b", "\x07"} & {*out, *err}
