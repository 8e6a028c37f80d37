"""The check of output paths against the paths that a call reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import SynparseError
from treebank.io.output_path import check_output


def test_output_that_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("Yes\n")
    (tmp_path / "link.txt").symlink_to(path)
    (tmp_path / "hard.txt").hardlink_to(path)
    for output in (path, tmp_path / "link.txt", tmp_path / "hard.txt"):
        for reads in ([tmp_path], [path], ["-", tmp_path / "other.txt", path]):
            with pytest.raises(SynparseError, match="this file is read, so it cannot be written"):
                check_output(str(output), reads)


def test_new_file_and_standard_output_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("Yes\n")
    check_output(str(tmp_path / "out.txt"), [tmp_path])
    check_output("-", ["-"])
    check_output(None, [tmp_path])
