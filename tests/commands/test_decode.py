"""`synparse decode` of head distributions: CoNLL-U that the reader of `eval` accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import Caller
from tests.support.working_folder import write
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


def test_stack(call: Caller) -> None:
    write("s.jsonl", '{"stack": [5, 4, 4, 3]}\n{"stack": [1, 0, 2], "words": ["a", "b", "c"]}\n')
    trees = ["(X (X (W w0) (W w1)) (X (W w2) (W w3)))", "(X (X (W a) (W b)) (W c))"]
    assert call.result("decode", "s.jsonl").splitlines() == trees


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(X (W a))", "not a line of JSON (Expecting value"),
        ("[" * 100_000, "not a line of JSON"),
        ("[1, 2]", 'expected an object with "distances", "heads", '),
        ('{"words": ["a"]}', 'expected an object with "distances"'),
        ('{"distances": [1, "2"]}', 'expected an object with "distances"'),
        ('{"distances": [true]}', 'expected an object with "distances"'),
        ('{"distances": [1' + "0" * 400 + "]}", "a whole number that is too large"),
        ('{"distances": [1, NaN]}', "distance 2 of 2 is not a number (NaN)"),
        ('{"words": ["a", "b"], "distances": [1]}', "1 distances for 2 words; one per word is needed"),
        ('{"words": ["a", "b"], "indices": [-1, 0], "distances": [1, 2]}', '"indices" names word -1'),
        ('{"words": ["\\ud800"], "distances": [1]}', "word 1 holds '\\ud800'"),
        ('{"words": ["a\\u0000"], "distances": [1]}', "word 1 holds '\\x00'"),
        ('{"distances": [1], "decoder": "unbiast"}', "there is no decoder 'unbiast'; did you mean 'unbiased'?"),
        ('{"distances": [1], "decoder": "eisner"}', "decoder 'eisner' needs heads, and this line has distances (try '"),
        (
            '{"heads": [[1]], "decoder": "biased"}',
            "decoder 'biased' needs distances, and this line has heads (try 'chu",
        ),
        ('{"heads": [0, 1]}', 'expected an object with "heads", a list of lists of numbers'),
        ('{"heads": [[0, true], [1, 0]]}', 'expected an object with "heads", a list of lists of numbers'),
        ('{"heads": [[0, 1], [1]]}', "the rows of heads differ in length"),
        ('{"heads": [[0, 1, 0], [1, 0, 0]]}', "heads are 2 x 3 numbers; a square"),
        ('{"heads": [[0, 1], [NaN, 0]]}', "number 0 in row 1 of heads, nan, is not a probability"),
        ('{"heads": [[0, 1], [1' + "0" * 400 + ", 0]]}", '"heads" holds a whole number that is too large'),
        ('{"heights": [1, 2]}', 'expected an object with "heights", a list of pairs of numbers'),
        ('{"heights": [[1, 2, 3]]}', 'expected an object with "heights", a list of pairs of numbers'),
        ('{"heights": [[1, NaN]]}', "height 1 of 1 is not a number (NaN)"),
        ('{"heights": [[1, 2]], "words": []}', "1 heights for 0 words; one per word is needed"),
        ('{"stack": [1, 2.5]}', 'expected an object with "stack", a list of whole numbers'),
        ('{"stack": [1, -2]}', "slot -2: slots count from 0"),
        ('{"stack": [1, 2], "words": ["a"]}', "2 slots for 1 words; one per word is needed"),
        ('{"stack": [1, 2], "decoder": "biased"}', "decoder 'biased' needs distances, and this line has stack"),
        ('{"words": ["a"], "heads": [[0, 1], [1, 0]]}', "2 rows of heads for 1 words; one per word is needed"),
    ],
)
def test_lines_that_decode_cannot_read(call: Caller, line: str, message: str) -> None:
    write("d.jsonl", f'{{"distances": [1, 2]}}\n\n{line}\n')
    code, out, err = call("decode", "d.jsonl")
    assert (code, out) == (1, "(X (W w0) (W w1))\n\n")
    assert err.startswith("synparse: d.jsonl:3: ")
    assert message in err
    assert err.count("\n") == 1
