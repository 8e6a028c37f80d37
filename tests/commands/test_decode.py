"""`synparse decode` of head distributions: CoNLL-U that the reader of `eval` accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.core.sentence import ROOT
from treebank.io.conllu import read_conllu

pytestmark = pytest.mark.usefixtures("working_folder")

MUTUAL = [[0.0, 0.9, 0.1], [0.8, 0.0, 0.2], [0.3, 0.6, 0.0]]  # words 0 and 1 choose each other
ROOTED = [[0.7, 0.2, 0.1], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1]]  # the diagonal says which word is the root
CROSSING = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0, 0.0, 1.0, 0.0]]  # 2 heads 0 and 3, 3 heads 1


def decoded(call: Caller, *lines: object, options: tuple[str, ...] = ()) -> list[tuple[int, ...]]:
    """The heads that ``decode`` assigns to these lines, read from its output."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    Path("h.jsonl").write_text(text, encoding="utf-8")
    Path("out.conllu").write_text(call.result("decode", "h.jsonl", *options), encoding="utf-8")
    return [sentence.heads for sentence in read_conllu("out.conllu")]


def test_the_columns(call: Caller) -> None:
    Path("h.jsonl").write_text(json.dumps({"words": ["a", "b", "c"], "heads": MUTUAL}) + "\n\n", encoding="utf-8")
    rest = "_\t_"
    assert call.result("decode", "h.jsonl", "--decoder", "chu-liu-edmonds") == (
        "# sent_id = 1\n# text = a b c\n"
        f"1\ta\t_\t_\t_\t_\t2\tdep\t{rest}\n2\tb\t_\t_\t_\t_\t0\troot\t{rest}\n3\tc\t_\t_\t_\t_\t2\tdep\t{rest}\n\n\n"
    )


def test_each_decoder(call: Caller) -> None:
    line = {"heads": MUTUAL}
    assert decoded(call, line) == decoded(call, line, options=("--decoder", "eisner")) == [(1, ROOT, 1)]
    assert decoded(call, line, options=("--decoder", "argmax")) == [(1, 0, 1)]
    for name in ("chu-liu-edmonds:root=counted", "eisner:root=counted", "argmax"):
        assert decoded(call, {"heads": ROOTED}, options=("--decoder", name)) == [(ROOT, 0, 1)]
    any_root = {"heads": [[0.9, 0.5], [0.4, 0.1]]}  # the first word is the likelier root, and heads the other less well
    assert decoded(call, any_root) == [(1, ROOT)]  # the published rule: any root is free
    assert decoded(call, any_root, options=("--decoder", "chu-liu-edmonds:counted")) == [(ROOT, 0)]
    crossing = {"heads": CROSSING}
    assert decoded(call, crossing) == [(2, 3, ROOT, 2)]
    projective = decoded(call, crossing, options=("--decoder", "eisner"))[0]
    assert projective != (2, 3, ROOT, 2)


def test_heights(call: Caller) -> None:
    assert decoded(call, {"heights": [[9, 1], [0, 3], [2, 2], [1, 2]]}) == [(1, ROOT, 1, 2)]


def test_the_line_may_name_its_decoder(call: Caller) -> None:
    line = {"heads": MUTUAL, "decoder": "argmax"}
    assert decoded(call, line) == [(1, 0, 1)]
    assert decoded(call, line, options=("--decoder", "eisner")) == [(1, ROOT, 1)]


def test_words_that_the_model_does_not_read(call: Caller) -> None:
    words = ["(", "a", ",", "b", "c", "."]
    assert decoded(call, {"words": words, "indices": [1, 3, 4], "heads": MUTUAL}) == [(3, 3, 3, ROOT, 3, 3)]


def test_trees_and_heads_in_one_file(call: Caller) -> None:
    Path("h.jsonl").write_text('{"distances": [0, 1]}\n{"heads": [[1]]}\n', encoding="utf-8")
    assert call.result("decode", "h.jsonl") == (
        "(X (W w0) (W w1))\n# sent_id = 2\n# text = w0\n1\tw0\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )


def test_a_long_sentence(call: Caller) -> None:
    count = 300
    rows = [[1.0 if j == i + 1 else 0.0 for j in range(count)] for i in range(count)]
    assert decoded(call, {"heads": rows}) == [(*range(1, count), ROOT)]
