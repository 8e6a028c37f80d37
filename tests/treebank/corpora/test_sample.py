"""The built-in corpus never changes."""

from __future__ import annotations

import hashlib

import pytest

from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence
from treebank.corpora.sample import sample_treebank
from treebank.corpora.sample.__main__ import main

# sha256 of the lines "tree <tab> heads", made by `digest` below when the corpus was fixed. The corpus must never
# change: scores and models of different versions are compared on it.
DIGESTS = {
    "test": "d14eb0574e7c771264663a853c11dd4d7bf2c93120beee02fe6c7a0bbc84d01f",
    "dev": "7e204c19727ba04d005973f93a49ded1ea764a6b1b6af9adfddce72451b24cbd",
    "train": "b5006d080df7b921140e7824375b0395471b5c9d2ce8f925805fb02642b4b461",
}


def sentences(part: str) -> list[Sentence]:
    return list(sample_treebank(part).sentences)


def gold(sentence: Sentence) -> str:
    return str(sentence.tree)


def digest(part: str) -> str:
    lines = (f"{gold(s)}\t{' '.join(map(str, s.heads))}\n" for s in sentences(part))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(("part", "count"), [("train", 20_000), ("dev", 1_000), ("test", 1_000)])
def test_parts_have_their_size_and_never_change(part: str, count: int) -> None:
    treebank = sample_treebank(part)
    assert len(treebank) == count
    assert treebank.sentences[-1].location == Location(f"sample-{part}", count)
    assert digest(part) == DIGESTS[part]
    assert all(s.tree and (s.tree.words, s.tree.tags) == (s.words, s.tags) for s in treebank.sentences)


def test_unknown_part_is_an_error() -> None:
    with pytest.raises(SynparseError, match="did you mean 'train'"):
        sample_treebank("training")


def test_reading_a_part_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test"]) == 0
    assert capsys.readouterr().out.splitlines() == [" ".join(s.words) for s in sentences("test")]
    assert main(["test", "--trees"]) == 0
    assert capsys.readouterr().out.splitlines() == [gold(s) for s in sentences("test")]
