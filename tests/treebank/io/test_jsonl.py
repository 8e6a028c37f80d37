"""Trees from lines of JSON, with distances or spans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.io.jsonl import read_json
from treebank.io.read import InputOptions, read_sentences


def read_lines(path: Path, *lines: str) -> list[str]:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return [str(sentence.tree) for sentence in read_json(str(path))]


def test_json_lines(tmp_path: Path) -> None:
    assert read_lines(
        tmp_path / "a.jsonl",
        '{"distances": [9, 1, 2]}',
        '{"words": ["a", ",", "b"], "indices": [0, 2], "distances": [1, 2]}',
        '{"words": ["a", "b", "c"], "spans": [[1, 3]]}',
        '{"words": ["(", "b"], "spans": [[0, 1]], "labels": ["NP"], "tags": ["-LRB-", "B"]}',
        "",
    ) == [
        "(X (X (W w0) (W w1)) (W w2))",
        "(X (W a) (W ,) (W b))",
        "(X (W a) (X (W b) (W c)))",
        "(X (NP (-LRB- -LRB-)) (B b))",
        "",
    ]


def test_pairs_of_natural_language_inference_are_two_sentences(tmp_path: Path) -> None:
    pair = {"gold_label": "-", "sentence1": "Two men (old) ran.", "sentence2": "No one did."}
    parses = {"sentence1_binary_parse": "( ( Two men ) ( -LRB- ( old -RRB- ) ) ( ran . ) )"}
    path = tmp_path / "snli.jsonl"
    path.write_text(json.dumps(pair | parses) + "\n" + json.dumps(pair) + "\n", encoding="utf-8")
    raw, words = ("Two", "men", "(old)", "ran."), ("Two", "men", "-LRB-", "old", "-RRB-", "ran", ".")
    second = ("No", "one", "did.")
    assert [sentence.words for sentence in read_sentences([str(path)])] == [words, second, raw, second]
    split = read_sentences([str(path)], input_options=InputOptions(tokenize="english"))
    assert [sentence.words[-2:] for sentence in split] == [("ran", "."), ("did", ".")] * 2
    path.write_text(json.dumps({"sentence1": "a", "sentence2": 3}) + "\n", encoding="utf-8")
    with pytest.raises(TreebankError, match=r'snli\.jsonl:1: expected "words"'):
        list(read_sentences([str(path)]))


def test_traces_are_not_words(tmp_path: Path) -> None:
    line = '{"words": ["go", "*"], "spans": [[0, 2]], "labels": ["S"], "tags": ["VB", "-NONE-"]}'
    (tmp_path / "a.jsonl").write_text(line, encoding="utf-8")
    (result,) = read_json(str(tmp_path / "a.jsonl"))
    assert (result.words, result.tags, str(result.tree)) == (("go",), ("VB",), "(S (VB go) (-NONE- *))")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[", "not a line of JSON"),
        ("[" * 100_000, "not a line of JSON"),
        ("{}", r'expected "words" \(strings\), "spans"'),
        ("3", "expected an object"),
        ('{"distances": ["a"]}', 'expected an object with "spans"'),
        ('{"distances": [1, NaN, 2]}', "not a number"),
        ('{"distances": [1], "decoder": "biased"}', "the decoder 'biased'"),
        ('{"distances": [1], "indices": [0]}', '"indices" needs it'),
        ('{"words": ["a"], "distances": [1, 2]}', "2 distances for 1 words"),
        ('{"words": ["a"], "indices": [1], "distances": [1]}', '"indices" names word 1, but there are 1 words'),
        ('{"words": ["a"], "indices": [0, 0], "distances": [1]}', "ascending"),
        ('{"words": ["a b"], "spans": []}', "word 1 holds ' '"),
        ('{"words": [""], "spans": []}', "word 1 is empty"),
        ('{"words": "ab", "spans": []}', '"words" must be a list of strings'),
        ('{"spans": [[0, 1]]}', 'expected "words"'),
        ('{"words": ["a"], "spans": [[0, 2]]}', r"a span is \[0, 2\], but there are 1 words"),
        ('{"words": ["a"], "spans": [[1, 1]]}', "a span is"),
        ('{"words": ["a"], "spans": [[0, true]]}', "not a pair of whole numbers"),
        ('{"words": ["a", "b", "c"], "spans": [[0, 2], [1, 3]]}', "crosses"),
        ('{"words": ["a"], "spans": [[0, 1]], "labels": []}', "0 labels for 1 spans"),
        ('{"words": ["a"], "spans": [[0, 1]], "labels": ["a b"]}', "' ' cannot be part"),
        ('{"words": ["a"], "spans": [[0, 1]], "tags": ["A", "B"]}', "2 tags for 1 words"),
        ('{"words": ["a"], "arcs": [-1], "relations": []}', "0 relations for 1 words"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(TreebankError, match=rf"^.*bad\.jsonl:2: .*{problem}"):
        read_lines(tmp_path / "bad.jsonl", '{"distances": []}', line)
