"""Every treebank of the data folder is read: as many sentences and words as are known, and each broken one is named."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support.reference import SHARED
from treebank.base.errors import TreebankError
from treebank.io.read import read_sentences

DATA = SHARED / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no treebanks in {DATA}")

# Sentences and words as the README of the data gives them. It counts the words of CRAFT at U+2009 and U+200A, too.
TREES = {
    "craft/const/craft-dev.ptb": (2_780, 67_652),
    "craft/const/craft-train.ptb.gz": (18_951, 493_380),
    "gum/const/gum-dev.ptb": (1_233, 23_545),
    "gum/const/gum-test.ptb": (1_248, 23_276),
    "gum/const/gum-test2.ptb": (1_243, 16_145),
    "gum/const/gum-train.ptb.gz": (8_720, 151_480),
    "gum/original_sample/GUM_academic_art.ptb": (28, 752),
    "gum_gold_const/gum72-gold.ptb": (299, 5_088),
    "const_other/icepahc": (755, 9_477),
    "const_other/keyaki": (417, 7_888),
}
HEADS = {
    "craft/dep/craft-dev.conllu": (1_091, 28_008),
    "craft/dep/craft-train.conllu.gz": (1_298, 31_819),
    "gum/dep/gum-dev.conllu": (1_233, 23_545),
    "gum/dep/gum-test.conllu": (1_248, 23_276),
    "gum/dep/gum-test2.conllu": (1_243, 16_145),
    "gum/dep/gum-train.conllu.gz": (8_720, 151_480),
    "gum/original_sample/GUM_academic_art.conllu": (28, 752),
    "gum_gold_const/gum72-gold.conllu": (299, 5_088),
    "ud/UD_Chinese-PUD/zh_pud-ud-test.conllu": (1_000, 21_415),
    "ud/UD_English-EWT/en_ewt-ud-dev.conllu": (2_001, 25_147),
    "ud/UD_English-EWT/en_ewt-ud-test.conllu": (2_077, 25_094),
    "ud/UD_English-EWT/en_ewt-ud-train.conllu.gz": (12_544, 204_577),
    "ud/UD_English-PUD/en_pud-ud-test.conllu": (1_000, 21_180),
    "ud/UD_Finnish-PUD/fi_pud-ud-test.conllu": (1_000, 15_813),
    "ud/UD_German-PUD/de_pud-ud-test.conllu": (1_000, 21_332),
    "ud/UD_Japanese-PUD/ja_pud-ud-test.conllu": (1_000, 26_707),
    "ud/UD_Tamil-TTB/ta_ttb-ud-dev.conllu": (80, 1_263),
    "ud/UD_Tamil-TTB/ta_ttb-ud-test.conllu": (120, 1_989),
    "ud/UD_Tamil-TTB/ta_ttb-ud-train.conllu": (400, 6_329),
    "ud/UD_Turkish-IMST/tr_imst-ud-dev.conllu": (1_100, 10_542),
    "ud/UD_Turkish-IMST/tr_imst-ud-test.conllu": (1_100, 10_032),
    "ud/UD_Turkish-IMST/tr_imst-ud-train.conllu.gz": (3_435, 37_522),
    "ud/UD_Vietnamese-VTB/vi_vtb-ud-dev.conllu": (1_123, 26_162),
    "ud/UD_Vietnamese-VTB/vi_vtb-ud-test.conllu": (800, 11_692),
    "ud/UD_Vietnamese-VTB/vi_vtb-ud-train.conllu": (1_400, 20_215),
}
# name of the archive -> its files, their encoding, sentences, words, broken sentences
ARCHIVES = {
    "dependency_treebank": ("dependency_treebank/*.dp", "utf-8", 3_914, 94_084, 0),
    "sinica_treebank": ("sinica_treebank/parsed", "utf-8", 10_000, 91_634, 0),
    "cess_esp": ("cess_esp/*.tbf", "iso-8859-15", 6_013, 188_680, 3),
    "floresta": ("floresta/Floresta_7.4.ptb", "iso-8859-15", 9_237, 212_049, 132),
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name: str) -> None:
    count = words = 0
    for sentence in read_sentences([DATA / name], trees=True):
        assert sentence.tree is not None
        assert len(sentence.tags) == len(sentence.words) > 0
        count += 1
        words += len(sentence.words)
    assert (count, words) == TREES[name]


@pytest.mark.parametrize("name", HEADS)
def test_heads(name: str) -> None:
    count = words = 0
    for sentence in read_sentences([DATA / name]):
        assert len(sentence.heads) == len(sentence.tags) == len(sentence.universal_tags) == len(sentence.words) > 0
        count += 1
        words += len(sentence.words)
    assert (count, words) == HEADS[name]


def test_all_treebanks_of_the_folder_are_tested() -> None:
    treebanks = [path for path in DATA.rglob("*") if {".ptb", ".psd", ".conllu"} & set(path.suffixes)]
    known = [DATA / name for name in (*TREES, *HEADS)]
    assert [path for path in treebanks if path not in known and path.parent not in known] == []


def unpacked(name: str, folder: Path) -> list[Path]:
    """The files of one archive of nltk, in UTF-8."""
    pattern, encoding, *_ = ARCHIVES[name]
    files = []
    with zipfile.ZipFile(DATA / f"nltk_data/corpora/{name}.zip") as archive:
        for member in sorted(archive.namelist()):
            if Path(member).match(pattern):
                files.append(folder / Path(member).name)
                files[-1].write_bytes(archive.read(member).decode(encoding).encode())
    return files


@pytest.mark.parametrize("name", [name for name in ARCHIVES if name != "floresta"])
def test_archives_of_nltk(name: str, tmp_path: Path) -> None:
    errors: list[TreebankError] = []
    sentences = list(read_sentences(unpacked(name, tmp_path), trees=True, on_bad=errors.append))
    assert (len(sentences), sum(len(sentence.words) for sentence in sentences), len(errors)) == ARCHIVES[name][2:]
    assert len({(error.path, error.line) for error in errors}) == len(errors)
    assert all("\n" not in str(error) for error in errors)


def test_each_sentence_of_floresta_is_read_or_reported(tmp_path: Path) -> None:
    (path,) = unpacked("floresta", tmp_path)
    headers = [
        i for i, line in enumerate(path.read_text("utf-8").split("\n"), 1) if line[:1] == "#" and line[1:2].isdigit()
    ]
    errors: list[TreebankError] = []
    sentences = list(read_sentences([path], on_bad=errors.append))
    assert (len(sentences), sum(len(sentence.words) for sentence in sentences), len(errors)) == ARCHIVES["floresta"][2:]
    lines = [sentence.location.line for sentence in sentences]
    starts = sorted(lines + [error.line for error in errors])
    assert len(headers) == len(starts) == 9_369
    for header, start, following in zip(headers, starts, [*headers[1:], 1 << 30], strict=True):
        assert header < start < following
    with pytest.raises(TreebankError) as caught:
        list(read_sentences([path]))
    assert str(caught.value).startswith(f"{path}:794: this tree is never closed (the next one starts at line 795)")
