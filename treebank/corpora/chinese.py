"""The parts of the Chinese Treebank by name: articles of release 5, ``chtb_001.fid`` to ``chtb_1151.fid``.

``ctb-train`` is articles 1 to 270 and 440 to 1151, ``ctb-dev`` 301 to 325, ``ctb-test`` 271 to 300, the split that most
work on parsing takes. The files are looked for anywhere below ``$SYNPARSE_CTB``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from treebank.base.errors import SynparseError
from treebank.core.sentence import Treebank
from treebank.io.bracketed import read_bracketed
from treebank.io.lines import OnBad
from treebank.io.source import Source

FOLDER = "SYNPARSE_CTB"  # the environment variable that names the folder
ARTICLES: dict[str, Sequence[int]] = {
    "ctb-train": [*range(1, 271), *range(440, 1152)],
    "ctb-dev": range(301, 326),
    "ctb-test": range(271, 301),
}
BRACKETED = "bracketed"  # the folder of the trees, beside others of the same articles
_FILE = re.compile(r"chtb_(\d{3,4})\.(fid|mz|nw)", re.IGNORECASE)
_MARKUP = re.compile("^<.*$", re.MULTILINE)


def load_chinese(name: str, *, on_bad: OnBad | None = None) -> Treebank:
    """The part called ``name``; its note says how many articles it has here (some numbers were never used).

    Raises SynparseError where the variable is not set or no article of the part is there.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        raise SynparseError(f"{name}: where is the Chinese Treebank (LDC2005T01)? Set {FOLDER} to its folder")
    files = chinese_files(os.path.expanduser(folder))
    wanted = [files[number] for number in ARTICLES[name] if number in files]
    if not wanted:
        raise SynparseError(f"{folder}: there is no article of {name} in it (files such as chtb_0301.fid)")
    sentences = [
        sentence
        for path in wanted
        for sentence in read_bracketed(_in_its_encoding(path), on_bad=on_bad, rewrite=without_markup)
    ]
    return Treebank(name, sentences, note=f"{len(wanted)} articles")


def chinese_files(folder: str) -> dict[int, str]:
    """The files of trees anywhere below ``folder``, by the number of the article."""
    found: dict[int, str] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [BRACKETED] if BRACKETED in folders else sorted(folders)
        for name in sorted(names):
            if match := _FILE.fullmatch(name):
                found.setdefault(int(match[1]), os.path.join(place, name))
    return found


def without_markup(text: str) -> str:
    """``text`` with empty lines for those of SGML, such as ``<S ID=12>``."""
    return _MARKUP.sub("", text)


def _in_its_encoding(path: str) -> Source:
    """``path``, as one of GB18030 (which GB2312 is a part of) where it is not UTF-8."""
    try:
        with open(path, encoding="utf-8") as handle:
            handle.read()
    except UnicodeDecodeError:
        return Source(path, "gb18030")
    return Source(path)
