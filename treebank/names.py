"""Gold treebanks by name or by path.

``sample`` is the built-in corpus. ``wsj``, ``wsj40`` and ``wsj10`` are the Wall Street Journal part of the Penn
Treebank and its sentences of up to 40 and 10 words; a full copy is used if the caller or ``$SYNPARSE_PTB`` names one,
else the 5 % sample that nltk distributes, and then the treebank's note says so. All else is a file, folder or glob.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace

from treebank.errors import SynparseError, TreebankError, nearest
from treebank.formats import read_sentences
from treebank.formats.blocks import root_offsets
from treebank.formats.bracketed import parse_trees, read_bracketed
from treebank.sentence import Place, Sentence, Treebank

# name -> the treebank that it is cut from, and the greatest number of words
NAMES: dict[str, tuple[str, int | None]] = {
    "sample": ("sample", None),
    "wsj": ("wsj", None),
    "wsj40": ("wsj", 40),
    "wsj10": ("wsj", 10),
}
SAMPLE_NOTE = "5 % sample"  # beside every score on nltk's part of the Penn Treebank
LAST_SAMPLE_FILE = 199  # nltk's part is wsj_0001 to wsj_0199
_FILE = re.compile(r"wsj_(\d{4})\.mrg(\.gz)?", re.IGNORECASE)

HELP = (
    "for the full Penn Treebank give --ptb DIR or set SYNPARSE_PTB; for nltk's 5 % sample run "
    "`python -m nltk.downloader treebank`, or set NLTK_DATA to a folder that holds corpora/treebank.zip"
)


def load_gold(name_or_path: str, *, ptb: str | None = None, max_length: int | None = None) -> Treebank:
    """The treebank of that name, or the trees of a file, folder or glob.

    ``ptb`` is the folder of a full Penn Treebank. With a bound, given or part of the name, only sentences of at least
    one and at most that many words are kept, words counted as the default convention does.
    Raises SynparseError that says how to get what is missing.
    """
    gold = load_whole(name_or_path, ptb=ptb)
    bound = bound_of(name_or_path, max_length)
    if bound is None:
        return gold
    from treebank.metrics.evaluation import shorter

    return shorter(gold, bound)


def bound_of(name_or_path: str, max_length: int | None = None) -> int | None:
    """The greatest number of words of a sentence, by the name or by ``max_length``, whichever is less."""
    _, bound = NAMES.get(name_or_path, (name_or_path, None))
    return min((limit for limit in (bound, max_length) if limit is not None), default=None)


def load_whole(name_or_path: str, *, ptb: str | None = None) -> Treebank:
    """The treebank without any bound on length: ``wsj10`` gives all sentences, under the name ``wsj10``."""
    source, _ = NAMES.get(name_or_path, (name_or_path, None))
    if source == "sample":
        from treebank.sample import sample_treebank

        return Treebank(name_or_path, sample_treebank("test").sentences)
    if source == "wsj":
        return replace(_wall_street_journal(ptb), name=name_or_path)
    if source != "-" and not os.path.lexists(os.path.expanduser(source)) and not glob.has_magic(source):
        raise SynparseError(f"no treebank {source!r}: neither a file nor a name; {nearest(source, NAMES)}")
    sentences = list(read_sentences([source], trees=True))
    if not sentences:
        raise TreebankError(source, 0, "there is no tree in it")
    return Treebank(name_or_path, sentences)


def digest(gold: Treebank) -> str:
    """SHA-256 of the gold trees, one line each; the same for the same trees, however the file is laid out."""
    trees = "".join(f"{sentence.tree}\n" for sentence in gold.sentences)
    return hashlib.sha256(trees.encode("utf-8", "surrogatepass")).hexdigest()


def _wall_street_journal(ptb: str | None) -> Treebank:
    """All trees of the full treebank in ``ptb`` or $SYNPARSE_PTB, else of nltk's sample."""
    folder = ptb or os.environ.get("SYNPARSE_PTB")
    if not folder:
        return _nltk_sample()
    files = penn_files(os.path.expanduser(folder))
    if not files:
        raise SynparseError(f"{folder}: no file of the Wall Street Journal (such as 00/wsj_0001.mrg) in it; {HELP}")
    sentences = [sentence for path in files.values() for sentence in read_bracketed(path)]
    return Treebank("wsj", sentences, note=SAMPLE_NOTE if max(files) <= LAST_SAMPLE_FILE else "")


def penn_files(folder: str) -> dict[int, str]:
    """The ``wsj_NNNN.mrg`` files anywhere below ``folder``, in any case, by number in ascending order."""
    found: dict[int, str] = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if match := _FILE.fullmatch(name):
                found.setdefault(int(match[1]), os.path.join(place, name))
    return dict(sorted(found.items()))


def _nltk_sample() -> Treebank:
    """The part of the treebank that nltk distributes, zipped or unpacked, read without importing nltk."""
    for folder in nltk_folders():
        unpacked = os.path.join(folder, "corpora", "treebank", "combined")
        if files := penn_files(unpacked):
            sentences = [sentence for path in files.values() for sentence in read_bracketed(path)]
            return Treebank("wsj", sentences, note=SAMPLE_NOTE)
        archive = os.path.join(folder, "corpora", "treebank.zip")
        if os.path.isfile(archive):
            return Treebank("wsj", list(_read_zip(archive)), note=SAMPLE_NOTE)
    raise SynparseError(f"no Wall Street Journal treebank on this machine; {HELP}")


def nltk_folders() -> list[str]:
    """Where nltk looks for its data, in its order: $NLTK_DATA, the home folder, Python's own, the system's."""
    folders = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    folders.append(os.path.expanduser("~/nltk_data"))
    folders += [os.path.join(sys.prefix, inner) for inner in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    folders += [f"/usr/{inner}/nltk_data" for inner in ("share", "local/share", "lib", "local/lib")]
    return folders


def _read_zip(archive: str) -> Iterator[Sentence]:
    """The sentences of all ``wsj_NNNN.mrg`` files of a zip archive, in order."""
    try:
        with zipfile.ZipFile(archive) as handle:
            members = sorted(name for name in handle.namelist() if _FILE.fullmatch(os.path.basename(name)))
            for member in members:
                yield from _read_text(f"{archive}/{member}", handle.read(member).decode())
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise TreebankError(archive, 0, f"damaged archive ({error}); download it again") from None


def _read_text(path: str, text: str) -> Iterator[Sentence]:
    """The sentences of one file's text; ``path`` is for places and errors."""
    line, before = 1, 0
    try:
        for tree, offset in zip(parse_trees(text), root_offsets(text), strict=False):
            line, before = line + text.count("\n", before, offset), offset
            plain = tree.without_traces()
            yield Sentence(plain.words, plain.tags, tree, place=Place(path, line))
    except ValueError as error:
        raise TreebankError(path, 0, str(error)) from None
