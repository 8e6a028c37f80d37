"""Detection of formats by content, refusal of content that cannot be read, and the table of formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.io.formats import FORMATS, TEXT, WRITERS, detect, format_by_suffix, suffix_of
from treebank.io.read import InputOptions, read_sentences

CONLLU = "# sent_id = 1\n1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n2\ton\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
KINDS = {
    "text": [
        "The cat sleeps .\n\nYes .\n",
        "( It was late . )\nYes\n",
        "( hello ) the cat sat\n",
        "( He said ( twice ) yes . )\n( She did not . ) Yes .\n",
        "(a) one thing , another\n(b) more\n",
        "# a hashtag\nYes\n",
        "{ this }\nno\n",
        "[ Applause ]\nYes\n",
        "yes, no\nwell, then\nso, what\n",
        "a\tb\tc\nd\te\tf\ng\th\ti\n",
        "<unk> says <unk>\n",
        "she wrote {'words': ['a']} in [\"b\"] .\n",
        "",
    ],
    "conllu": [CONLLU, "# newdoc id = x\n", "1-2\tim\t_\t_\t_\t_\t_\t_\t_\t_\n" + CONLLU],
    "brackets": [
        "(S (NP (DT The) (NN cat))\n  (VP (VBZ sleeps)))\n",
        "(X (W a) (W b))\n",
        "(X (X The old man) (X saw it))\n(X Yes)\n",
        "(a (b c))\n((a b) c)\n",
    ],
    "corpussearch": ["( (IP-MAT (NP (N a)) (ID 1)))\n"],
    "dp": ["The\tDT\t2\ncat\tNN\t3\nsleeps\tVB\t0\n"],
    "sinica": ["#1:1.[0] S(agent:NP(Head:Nab:爸爸)|Head:VE11:問)#。\n"],
    "jsonl": [
        '{"words": ["a"]}\n',
        '{"text": "It rained."}\n',
        '{"line": 1, "words": ["' + '", "'.join(map(str, range(20_000))) + '"], "spans": []}\n',
    ],
}
REFUSED = {
    "<!DOCTYPE html>\n<html>\n": "HTML or XML",
    "id,text\n1,It rained\n2,We stayed in\n": "a table of 2 columns between commas",
    "1\tIt rained\n2\tWe stayed\n3\tYes we did\n": "a table of 2 columns between tabs",
    '[\n {"words": ["a"]}\n]\n': "JSON over several lines",
    '{"id": 3, "body": "x"}\n': "(but id, body)",
    "%PDF-1.7\n": "a PDF file",
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_format_is_detected_by_content(tmp_path: Path, kind: str, text: str) -> None:
    path = tmp_path / "in.txt"
    path.write_text(text)
    assert detect(path).name == kind


@pytest.mark.parametrize("text", REFUSED)
def test_unreadable_content_is_refused_with_a_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(text.encode())
    with pytest.raises(TreebankError) as caught:
        list(read_sentences([path]))
    assert REFUSED[text] in str(caught.value)
    if not text.startswith("%PDF"):
        assert list(read_sentences([path], input_options=InputOptions(form="text")))


def test_suffix_looks_through_a_compression() -> None:
    assert suffix_of("a.MRG.gz") == ".mrg"
    assert suffix_of("dir.mrg/a") == ""
    assert format_by_suffix("a.conll.xz") is FORMATS["conllx"]
    assert format_by_suffix("a.txt") is None


def test_each_suffix_and_writer_has_one_format() -> None:
    suffixes = [suffix for entry in FORMATS.values() for suffix in entry.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert list(WRITERS) == ["text", "brackets", "spans", "distances", "path-lengths", "conllu", "negra", "tiger"]


def test_missing_file_is_left_to_the_reader(tmp_path: Path) -> None:
    assert detect(tmp_path / "absent") is TEXT
