"""What files hold is told by their content; what cannot be read is refused with a remedy."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import pytest

from tests.support.reference import SHARED
from treebank.base.errors import SynparseError, TreebankError
from treebank.io.detect import content
from treebank.io.formats import InputOptions, check_output, expand, read_sentences
from treebank.io.lines import encodings_that_fit

CONLLU = "# sent_id = 1\n1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n2\ton\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
KINDS = {
    "text": [
        "The cat sleeps .\n\nYes .\n",
        "( It was late . )\nYes\n",
        "(a) one thing , another\n(b) more\n",
        "# a hashtag\nYes\n",
        "{ this }\nno\n",
        "[ Applause ]\nYes\n",
        "yes, no\nwell, then\nso, what\n",
        "a\tb\tc\nd\te\tf\ng\th\ti\n",
        "<unk> says <unk>\n",
        "",
    ],
    "conllu": [CONLLU, "# newdoc id = x\n", "1-2\tim\t_\t_\t_\t_\t_\t_\t_\t_\n" + CONLLU],
    "brackets": [
        "(S (NP (DT The) (NN cat))\n  (VP (VBZ sleeps)))\n",
        "( (IP-MAT (NP (N a)) (ID 1)))\n",
        "(X (W a) (W b))\n",
    ],
    "dp": ["The\tDT\t2\ncat\tNN\t3\nsleeps\tVB\t0\n"],
    "sinica": ["#1:1.[0] S(agent:NP(Head:Nab:爸爸)|Head:VE11:問)#。\n"],
    "jsonl": ['{"words": ["a"]}\n', '{"text": "It rained."}\n'],
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
def test_content(kind: str, text: str) -> None:
    assert content(text).kind == kind
    assert not content(text).problem


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(text.encode())
    with pytest.raises(TreebankError) as caught:
        list(read_sentences([path]))
    assert REFUSED[text] in str(caught.value)
    if not text.startswith("%PDF"):
        assert list(read_sentences([path], input_options=InputOptions(form="text")))


def test_a_treebank_under_another_suffix(tmp_path: Path) -> None:
    told: list[str] = []
    options = InputOptions(tell=told.append)
    for name, text in (("a.txt", CONLLU), ("b.txt", "(S (NN Go) (RP on))\n"), ("c.txt", '{"words": ["Go", "on"]}\n')):
        path = tmp_path / name
        path.write_text(text)
        assert [one.words for one in read_sentences([path], input_options=options)] == [("Go", "on")]
    assert [text.split(": ")[1].split(",")[0] for text in told] == [
        "this is no text but conllu",
        "this is no text but brackets",
        "this is no text but jsonl",
    ]


def test_a_folder_of_a_treebank() -> None:
    folder = SHARED / "data/ud/UD_Tamil-TTB"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    told: list[str] = []
    sentences = list(read_sentences([folder], input_options=InputOptions(tell=told.append)))
    assert len(sentences) == 600
    assert told == [
        f"{folder}: reading 3 files (ta_ttb-ud-dev.conllu, ta_ttb-ud-test.conllu, ta_ttb-ud-train.conllu), "
        "leaving out 2 files (LICENSE.txt, README.md)"
    ]


def test_a_folder_of_text(tmp_path: Path) -> None:
    for name in ("README", "LICENSE.txt", "notes.md", "a.txt", "b", "picture.png"):
        (tmp_path / name).write_text("Yes\n")
    assert [Path(path).name for path in expand([tmp_path])] == ["a.txt", "b"]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.bz2", bz2.compress),
        ("a.xz", lzma.compress),
        ("a.gz", gzip.compress),
        ("misnamed.txt", gzip.compress),
    ],
)
def test_compressed_files(tmp_path: Path, name: str, pack: object) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b"It rained .\nYes\n"))  # type: ignore[operator]
    assert [one.words for one in read_sentences([path])] == [("It", "rained", "."), ("Yes",)]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TreebankError, match="compressed file"):
        list(read_sentences([path]))


def test_zip_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "It rained .\n")
    assert [one.words for one in read_sentences([path])] == [("It", "rained", ".")]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.txt", "Yes\n")
    with pytest.raises(TreebankError, match="holds 2 files; unpack it"):
        list(read_sentences([path]))


def test_zstandard(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.zst"
    path.write_bytes(zstandard.compress(b"It rained .\n" * 1000))
    assert len(list(read_sentences([path]))) == 1000


def test_other_encodings(tmp_path: Path) -> None:
    text = "Größe und Käse kosten 5 € .\nDas ist für die Straße .\n" * 20
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode("iso-8859-15"))
    with pytest.raises(TreebankError, match=r"as iso-8859-15.* it can be read: give --encoding iso-8859-15"):
        list(read_sentences([path]))
    sentences = list(read_sentences([path], input_options=InputOptions(encoding="iso-8859-15")))
    assert "\n".join(" ".join(one.words) for one in sentences) + "\n" == text
    assert sentences[3].place == (str(path), 4)
    assert encodings_that_fit("Это русский текст. Он написан давно. ".encode("cp1251") * 9) == ["cp1251"]
    with pytest.raises(SynparseError, match="there is no encoding 'latin-99'"):
        InputOptions(encoding="latin-99")


def test_an_output_that_is_an_input(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("Yes\n")
    (tmp_path / "link.txt").symlink_to(path)
    for output in (path, tmp_path / "link.txt"):
        with pytest.raises(SynparseError, match="this file is read, so it cannot be written"):
            check_output(str(output), [tmp_path])
    with pytest.raises(SynparseError, match="there is no folder"):
        check_output(str(tmp_path / "no" / "out.txt"), [path])
    check_output(str(tmp_path / "out.txt"), [path])
    check_output("-", ["-"])
