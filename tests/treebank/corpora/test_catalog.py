"""Gold treebanks by name: where they are looked for, how they are cut, and what is said when they are missing."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.corpora import catalog
from treebank.corpora.catalog import (
    NLTK_NOTE,
    TREEBANKS,
    bound_of,
    digest,
    load_gold,
    load_whole,
    nltk_folders,
    numbered_files,
    survey,
)
from treebank.io.bracketed import read_bracketed
from treebank.io.source import Source

SHORT = "( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home))) (. .)) )\n"
LONG = "(S\n  (NP " + " ".join(f"(NN w{i})" for i in range(12)) + ")\n  (VP (VBD slept)) (. .))\n"
DOTS = "(S (. .) (. .))\n"
ROWS = "1\ta\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No treebank of the machine that runs the tests is found."""
    monkeypatch.delenv("SYNPARSE_PTB", raising=False)
    monkeypatch.delenv("SYNPARSE_CTB", raising=False)
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folders = nltk_folders()
    monkeypatch.setattr(catalog, "nltk_folders", lambda: [folder for folder in nltk_folders() if folder not in folders])


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("layout", ["00/wsj_{:04}.mrg", "WSJ/00/WSJ_{:04}.MRG", "wsj_{:04}.mrg", "a/b/wsj_{:04}.mrg"])
def test_layouts_of_the_full_treebank(tmp_path: Path, layout: str) -> None:
    for number, text in ((2300, LONG), (1, SHORT + LONG)):
        write(tmp_path / layout.format(number), text)
    write(tmp_path / "readme.mrg", "not a tree")
    gold = load_gold("wsj", ptb=str(tmp_path))
    assert [len(sentence.words) for sentence in gold.sentences] == [3, 14, 14]
    assert (gold.name, gold.note) == ("wsj", "3 of 49,208 sentences")
    assert gold.sentences[1].location.line == 2
    assert [len(sentence.words) for sentence in load_gold("wsj23", ptb=str(tmp_path)).sentences] == [14]


def penn(folder: Path) -> str:
    """A made-up Penn Treebank: a short and a long sentence in the first file of every section, and one more in 23."""
    for section in range(25):
        write(folder / f"{section:02}" / f"wsj_{section:02}01.mrg", SHORT + LONG + SHORT * (section == 23))
    return str(folder)


def test_names_are_sections_and_lengths(tmp_path: Path) -> None:
    folder = penn(tmp_path)
    counts = {"wsj": 51, "wsj40": 51, "wsj10": 26, "wsj-train": 40, "wsj22": 2, "wsj23": 3, "wsj23-10": 2}
    counts |= {"wsj-udgn-train": 42, "wsj-udgn-dev": 4, "wsj-udgn-test": 5}
    numbers = {"wsj": 25, "wsj40": 25, "wsj10": 25, "wsj-train": 20, "wsj-udgn-train": 21}
    numbers |= {"wsj-udgn-dev": 2, "wsj-udgn-test": 2}
    for name, count in counts.items():
        gold = load_gold(name, ptb=folder)
        assert (gold.name, len(gold)) == (name, count)
        sections = {int(Path(sentence.location.path).name[4:6]) for sentence in gold.sentences}
        assert len(sections) == numbers.get(name, 1)
    assert load_gold("wsj22", ptb=folder).note == "2 of 1,700 sentences"
    assert load_whole("wsj23-10", ptb=folder).note == "cut from 3 of 2,416 sentences"


def test_note_is_empty_for_known_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = penn(tmp_path)
    for name, count in {"wsj": 51, "wsj10": 26, "wsj23": 3, "wsj23-10": 1}.items():
        monkeypatch.setitem(TREEBANKS.entries, name, replace(TREEBANKS.get(name), sentences=count))
    assert [load_gold(name, ptb=folder).note for name in ("wsj", "wsj40", "wsj10", "wsj23")] == [""] * 4
    assert load_gold("wsj23-10", ptb=folder).note == "2 of 1 sentences"


def test_known_sizes_add_up() -> None:
    others = {"00": 1_921, "01": 1_993, "24": 1_346}
    sizes = [TREEBANKS.get(name).sentences or 0 for name in ("wsj-train", "wsj22", "wsj23")]
    assert sum(others.values()) + sum(sizes) == TREEBANKS.get("wsj").sentences


@pytest.mark.parametrize("name", ["wsj-train", "wsj22", "wsj23", "wsj23-10"])
def test_missing_section_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    full = write(tmp_path / "full" / "wsj_0001.mrg", SHORT).parent
    write(full / "wsj_2401.mrg", SHORT)
    with pytest.raises(SynparseError, match=rf"^{name} is sections? .*the Penn Treebank does not contain"):
        load_gold(name, ptb=str(full))
    write(tmp_path / "corpora" / "treebank" / "combined" / "wsj_0001.mrg", SHORT)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    with pytest.raises(SynparseError, match=rf"^{name} is .*5 % sample \(sections 00 and 01\) does not .*--ptb DIR"):
        load_gold(name)


def test_survey_reads_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = penn(tmp_path)
    names = [name for name in ("sample", *TREEBANKS) if not name.startswith("ctb")]
    alone = {name: load_gold(name, ptb=folder) for name in names}
    paths: list[str] = []

    def read(source: Source, **options: Any) -> Iterator[Sentence]:
        paths.append(source.path)
        return read_bracketed(source)

    monkeypatch.setattr(catalog, "read_bracketed", read)
    assert dict(survey(folder)) == alone
    assert len(paths) == len(set(paths)) == 25


@pytest.mark.parametrize("zipped", [True, False])
def test_nltks_sample_zipped_and_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    inner = {
        "treebank/combined/wsj_0001.mrg": "\n" + SHORT,
        "treebank/combined/wsj_0002.mrg": SHORT + "\n" + LONG + DOTS,
    }
    corpora = tmp_path / "corpora"
    corpora.mkdir()
    if zipped:
        with zipfile.ZipFile(corpora / "treebank.zip", "w") as archive:
            for name, text in inner.items():
                archive.writestr(name, text)
    else:
        for name, text in inner.items():
            write(corpora / name, text)
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'nothing'}:{tmp_path}")
    gold = load_gold("wsj10")
    assert (gold.name, gold.note, len(gold)) == ("wsj10", NLTK_NOTE, 2)
    files = [sentence.location for sentence in load_whole("wsj10").sentences]
    assert [position.line for position in files] == [2, 1, 3, 6]
    assert files[0].path.endswith("treebank/combined/wsj_0001.mrg")
    assert gold.sentences[0].words == ("go", "home", ".")


def test_damaged_name_in_an_archive_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "corpora" / "treebank.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for number in (1, 2):
            archive.writestr(f"treebank/combined/wsj_000{number}.mrg", SHORT)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    whole = path.read_bytes()
    assert load_gold("wsj").sentences
    last = whole.rindex(b"wsj_0002")
    path.write_bytes(whole[:last] + b"g" + whole[last + 1 :])
    with pytest.raises(SynparseError, match="damaged archive"):
        load_gold("wsj")


@pytest.mark.parametrize(
    ("name", "ptb", "problem"),
    [
        ("wsj", None, r"--ptb DIR .* nltk.downloader treebank.* NLTK_DATA"),
        ("wsj10", None, r"--ptb DIR .* nltk.downloader treebank.* NLTK_DATA"),
        ("wsj", ".", "no file of the Wall Street Journal part"),
        ("wsj100", None, "did you mean 'wsj10'"),
        ("empty.mrg", None, "no sentence in this file has a tree or heads"),
    ],
)
def test_missing_data_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ptb: str | None, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("empty.mrg"), "\n")
    with pytest.raises(SynparseError, match=problem):
        load_gold(name, ptb=ptb)


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    write(tmp_path / "a.mrg", SHORT)
    write(tmp_path / "b" / "c.ptb", LONG + SHORT)
    assert len(load_gold(str(tmp_path / "a.mrg"))) == 1
    assert len(load_gold(str(tmp_path))) == 3
    assert len(load_gold(str(tmp_path / "*" / "*.ptb"))) == 2
    assert len(load_gold(str(tmp_path), max_length=10)) == 2


def test_bounds_of_names() -> None:
    assert [bound_of(name) for name in ("wsj", "wsj40", "wsj10", "x.mrg")] == [None, 40, 10, None]
    assert (bound_of("wsj40", 10), bound_of("wsj10", 40), bound_of("x.mrg", 5)) == (10, 10, 5)


def test_digest_is_that_of_words_labels_and_heads_whatever_the_layout(tmp_path: Path) -> None:
    first = load_gold(str(write(tmp_path / "one.mrg", LONG)))
    other = load_gold(str(write(tmp_path / "other.mrg", " ".join(LONG.split()))))
    third = load_gold(str(write(tmp_path / "third.mrg", SHORT)))
    assert digest(first) == digest(other) != digest(third)
    texts = {"a.mrg": SHORT.replace("NP", "XP"), "a.conllu": ROWS, "b.conllu": ROWS.replace("\t2\t", "\t1\t")}
    others = [digest(load_gold(str(write(tmp_path / name, text)))) for name, text in texts.items()]
    assert len({digest(third), *others}) == 4


def test_duplicate_file_number_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "a" / "wsj_0001.mrg", SHORT)
    write(tmp_path / "b" / "WSJ_0001.MRG", SHORT)
    assert list(numbered_files(str(tmp_path), r"wsj_(\d{4})\.mrg").paths) == [1]


CHINESE = """<DOC>
<DOCID> 1 </DOCID>
<BODY>
<S ID=1>
( (IP (NP-SBJ (NN 上海)) (VP (VV 开放)) (PU 。)) )
</S>
<S ID=2>
( (IP (NP-SBJ (-NONE- *pro*))
      (VP (VV 来))) )
</S>
</BODY>
</DOC>
"""


def test_parts_of_the_chinese_treebank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SynparseError, match="set SYNPARSE_CTB to its folder"):
        load_gold("ctb-dev")
    monkeypatch.setenv("SYNPARSE_CTB", str(tmp_path))
    with pytest.raises(SynparseError, match=r"no file of the Chinese Treebank .* in it"):
        load_gold("ctb-dev")
    for number in (1, 270, 271, 300, 301, 325, 326, 439, 440, 1151):
        path = write(tmp_path / "data" / "bracketed" / f"chtb_{number:03}.fid", CHINESE)
        path.write_text(CHINESE, encoding="gb18030" if number % 2 else "utf-8")
    write(tmp_path / "data" / "raw" / "chtb_301.fid", "<S ID=1>\n上海开放。\n</S>\n")
    numbers = {"ctb-train": [1, 270, 440, 1151], "ctb-dev": [301, 325], "ctb-test": [271, 300]}
    for name, expected in numbers.items():
        gold = load_gold(name)
        files = dict.fromkeys(Path(sentence.location.path).name for sentence in gold.sentences)
        assert list(files) == [f"chtb_{number:03}.fid" for number in expected]
        assert (len(gold), gold.note) == (2 * len(expected), f"{len(expected)} files")
        assert [sentence.words for sentence in gold.sentences[:2]] == [("上海", "开放", "。"), ("来",)]
        assert [sentence.location.line for sentence in gold.sentences[:2]] == [5, 8]
    assert [len(load_gold("ctb-dev", max_length=1)), len(load_gold("ctb-dev", max_length=2))] == [2, 4]
    assert {name: len(gold) for name, gold in survey() if not isinstance(gold, SynparseError)} == {
        "sample": 1000,
        "ctb-train": 8,
        "ctb-dev": 4,
        "ctb-test": 4,
    }
