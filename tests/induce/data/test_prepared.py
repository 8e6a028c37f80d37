"""A corpus on disk has the same content as a corpus in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import induce.data.prepared
from induce.data.corpus import read_corpora
from induce.data.prepared import PreparedCorpus, prepare
from treebank.base.errors import SynparseError
from treebank.corpora.sample import sample_treebank

SENTENCES = sample_treebank("dev").sentences


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Folder of a corpus that is written and read in small parts."""
    monkeypatch.setattr(induce.data.prepared, "FLUSH", 100)
    monkeypatch.setattr(induce.data.prepared, "CHUNK", 7)
    return str(tmp_path / "corpus")


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("token", ["word", "character"])
def test_corpus_on_disk_equals_the_corpus_in_memory(folder: str, token: str, share: float) -> None:
    facts = prepare(SENTENCES, folder, token=token)
    parts = PreparedCorpus.read(folder).split(share)
    texts = read_corpora(SENTENCES, "words", token=token, development_share=share)
    assert facts.words == sum(text.words for text in texts)
    vocabulary = texts[0].vocabulary(300, 2)
    assert parts[0].vocabulary(300, 2).words == vocabulary.words
    for part, text in zip(parts, texts, strict=True):
        assert (part.words, part.sentences) == (text.words, text.sentences)
        assert part.word_counts() == text.word_counts()
        if text.words:
            prepared, corpus = part.encode(vocabulary), text.encode(vocabulary)
            for name in ("ids", "offsets", "breaks", "distances"):
                assert np.array_equal(getattr(prepared, name), getattr(corpus, name))
            assert prepared.breaks.any() == (token == "word")
    assert parts[0].sha256 != parts[1].sha256


def test_failed_preparation_leaves_no_folder(folder: str) -> None:
    def broken() -> Any:
        yield from SENTENCES
        raise SynparseError("a.txt:9: broken")

    with pytest.raises(SynparseError, match="broken"):
        prepare(broken(), folder)
    assert list(Path(folder).parent.iterdir()) == []
    with pytest.raises(SynparseError, match="no words are left after normalization"):
        prepare([], folder)
    prepare(SENTENCES, folder)
    with pytest.raises(SynparseError, match="already exists"):
        prepare(SENTENCES, folder)


def test_preparation_on_a_full_disk_leaves_no_folder(folder: str) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            prepare(SENTENCES, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(Path(folder).parent.iterdir()) == []


def test_folders_of_the_user_are_not_overwritten(folder: str) -> None:
    existing, target = Path(f"{folder}.part"), Path(folder)
    existing.mkdir()
    (existing / "a").write_text("existing")

    def sentences_and_a_folder() -> Any:
        yield from SENTENCES[:9]
        target.mkdir()

    with pytest.raises(SynparseError, match="was made by another program meanwhile"):
        prepare(sentences_and_a_folder(), folder)
    target.rmdir()
    prepare(SENTENCES[:9], folder)
    assert PreparedCorpus.read(folder).facts.sentences == 9
    assert (existing / "a").read_text() == "existing"
    assert sorted(path.name for path in target.parent.iterdir()) == ["corpus", "corpus.part"]


def test_damaged_file_is_reported(folder: str) -> None:
    prepare(SENTENCES, folder)
    path = Path(folder) / "ids.i32"
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.write_bytes(content)
    with pytest.raises(SynparseError, match=r"ids\.i32: this file is not what was written; copy"):
        PreparedCorpus.read(folder)


def test_other_normalization_is_refused(folder: str) -> None:
    prepare(SENTENCES, folder, normalization="words")
    problem = (
        "was prepared with data.normalization = 'words', and this run has 'cased'; prepare it with --set data.norm"
    )
    with pytest.raises(SynparseError, match=problem):
        PreparedCorpus.read(folder).check(normalization="cased", token="word", tokenization="")
