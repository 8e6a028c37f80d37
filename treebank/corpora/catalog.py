"""Gold treebanks by name or by path.

``sample`` is the built-in corpus. ``wsj`` is the Wall Street Journal part of the Penn Treebank, ``wsj-train`` its
sections 02 to 21, ``wsj22`` and ``wsj23`` one section each; ``wsj40``, ``wsj10`` and ``wsj23-10`` are their sentences
of up to 40 and 10 words. A full copy is used if the caller or ``$SYNPARSE_PTB`` names one; does it not hold the known
number of sentences, the treebank's note says so. Else the 5 % sample that nltk distributes is used (sections 00 and
01), and the note says that. ``ctb-train``, ``ctb-dev`` and ``ctb-test`` are parts of the Chinese Treebank
(`treebank.corpora.chinese`). All else is a file, folder or glob.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace

from treebank.base.errors import SynparseError, TreebankError, UnknownNameError, nearest
from treebank.base.garbage import no_collections
from treebank.core.brackets import root_offsets
from treebank.core.sentence import Place, Sentence, Treebank
from treebank.core.tags import count_words, short_enough
from treebank.corpora.chinese import ARTICLES, load_chinese
from treebank.corpora.chinese import FOLDER as CHINESE
from treebank.io.bracketed import parse_trees, read_bracketed
from treebank.io.lines import OnBad
from treebank.io.read import read_sentences

# name -> the treebank that it is cut from, and the greatest number of words
NAMES: dict[str, tuple[str, int | None]] = {
    "sample": ("sample", None),
    "wsj": ("wsj", None),
    "wsj40": ("wsj", 40),
    "wsj10": ("wsj", 10),
    "wsj-train": ("wsj-train", None),
    "wsj22": ("wsj22", None),
    "wsj23": ("wsj23", None),
    "wsj23-10": ("wsj23", 10),
}
# the sections of the Wall Street Journal: the first two digits of a file's number
SECTIONS = {"wsj": range(25), "wsj-train": range(2, 22), "wsj22": range(22, 23), "wsj23": range(23, 24)}
# sentences, as the literature gives them
COUNTS = {"wsj": 49_208, "wsj10": 7_422, "wsj-train": 39_832, "wsj22": 1_700, "wsj23": 2_416, "wsj23-10": 398}
LARGEST_MEMBER = 1 << 26  # bytes of one file in nltk's archive
SAMPLE_NOTE = "5 % sample"  # beside every score on nltk's part of the Penn Treebank
LAST_SAMPLE_FILE = 199  # nltk's part is wsj_0001 to wsj_0199
_FILE = re.compile(r"wsj_(\d{4})\.mrg(\.gz)?", re.IGNORECASE)

HELP_FULL = "for the full Penn Treebank give --ptb DIR or set SYNPARSE_PTB"
HELP = (
    f"{HELP_FULL}; for nltk's 5 % sample run "
    "`python -m nltk.downloader treebank`, or set NLTK_DATA to a folder that holds corpora/treebank.zip"
)


def load_gold(
    name_or_path: str, *, ptb: str | None = None, max_length: int | None = None, on_bad: OnBad | None = None
) -> Treebank:
    """The treebank of that name, or the trees of a file, folder or glob.

    ``ptb`` is the folder of a full Penn Treebank. With a bound, given or part of the name, only sentences of at least
    one and at most that many words are kept, words counted as the default convention does. ``on_bad`` is told of each
    broken sentence of a file, which is left out; without it the first one raises.
    Raises SynparseError that says how to get what is missing.
    """
    return up_to(load_whole(name_or_path, ptb=ptb, on_bad=on_bad), bound_of(name_or_path, max_length))


def bound_of(name_or_path: str, max_length: int | None = None) -> int | None:
    """The greatest number of words of a sentence, by the name or by ``max_length``, whichever is less."""
    _, bound = NAMES.get(name_or_path, (name_or_path, None))
    return min((limit for limit in (bound, max_length) if limit is not None), default=None)


def load_whole(name_or_path: str, *, ptb: str | None = None, on_bad: OnBad | None = None) -> Treebank:
    """The treebank without any bound on length: ``wsj10`` gives all sentences, under the name ``wsj10``."""
    source, _ = NAMES.get(name_or_path, (name_or_path, None))
    if source == "sample":
        from treebank.corpora.sample import sample_treebank

        return Treebank(name_or_path, sample_treebank("test").sentences)
    if source in SECTIONS:
        return _named(name_or_path, _wall_street_journal(ptb, SECTIONS[source], on_bad))
    if source in ARTICLES:
        return load_chinese(source, on_bad=on_bad)
    check_known(source)
    with no_collections():
        sentences = list(read_sentences([source], trees=True, on_bad=on_bad))
    if on_bad:
        sentences = [sentence for sentence in sentences if _has_gold(sentence, on_bad)]
    if not sentences:
        raise TreebankError(source, 0, "there is no sentence with a tree or heads in it")
    return Treebank(name_or_path, sentences)


def check_known(source: str) -> None:
    """Raises UnknownNameError for what is neither the name of a treebank nor that of a file, a pattern or stdin."""
    if is_name(source) or source == "-" or os.path.lexists(os.path.expanduser(source)) or glob.has_magic(source):
        return
    kind = SynparseError if os.path.splitext(source)[1] or os.sep in source else UnknownNameError
    raise kind(f"no treebank {source!r}: neither a file nor a name; {nearest(source, (*NAMES, *ARTICLES))}")


def is_name(source: str) -> bool:
    """Whether this is the name of a treebank."""
    return source in NAMES or source in ARTICLES


def _has_gold(sentence: Sentence, on_bad: OnBad) -> bool:
    """Whether there is a tree or heads; if not, ``on_bad`` is told."""
    if sentence.tree is None and not sentence.heads:
        on_bad(TreebankError(*sentence.place, "this sentence has neither a tree nor heads"))
        return False
    return True


def digest(gold: Treebank) -> str:
    """SHA-256 of the gold trees, or words and heads, one line a sentence, however the file is laid out."""
    lines = (
        f"{sentence.tree}\n" if sentence.tree else " ".join([*sentence.words, *map(str, sentence.heads), "\n"])
        for sentence in gold.sentences
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def survey(ptb: str | None = None) -> Iterator[tuple[str, Treebank | SynparseError]]:
    """Each name with its treebank, or with what is missing; the Wall Street Journal is read once for all."""
    whole: Treebank | SynparseError
    try:
        whole = _wall_street_journal(ptb, SECTIONS["wsj"])
    except SynparseError as error:
        whole = error
    for name in ARTICLES if os.environ.get(CHINESE) else ():
        try:
            yield name, load_chinese(name)
        except SynparseError as error:
            yield name, error
    for name, (source, bound) in NAMES.items():
        try:
            if source not in SECTIONS:
                yield name, load_gold(name)
            elif isinstance(whole, SynparseError):
                yield name, whole
            else:
                yield name, up_to(_named(name, whole), bound)
        except SynparseError as error:
            yield name, error


def shorter(gold: Treebank, max_length: int) -> Treebank:
    """The sentences of ``gold`` with 1 to ``max_length`` words, counted as the default convention does."""
    counted = zip(gold.sentences, count_words(gold), strict=True)
    return replace(gold, sentences=[one for one, length in counted if short_enough(length, max_length)])


def up_to(gold: Treebank, bound: int | None) -> Treebank:
    """The sentences of at least one and at most ``bound`` words; all of them without a bound."""
    return gold if bound is None else shorter(gold, bound)


def _named(name: str, found: Treebank) -> Treebank:
    """The sections of ``found`` that belong to ``name``; a note says if there are more or fewer sentences than known.

    Raises SynparseError if there are none.
    """
    source, bound = NAMES[name]
    sections = SECTIONS[source]
    sentences = [sentence for sentence in found.sentences if _section(sentence.place.path) in sections]
    gold = replace(found, name=name, sentences=sentences)
    if not sentences:
        wanted = (
            f"section {sections[0]:02}" if len(sections) == 1 else f"sections {sections[0]:02} to {sections[-1]:02}"
        )
        where = f"nltk's {SAMPLE_NOTE} (sections 00 and 01)" if found.note else "the Penn Treebank that was given"
        raise SynparseError(f"{name} is {wanted}, and {where} holds no file of it; {HELP_FULL}")
    if found.note:
        return gold
    if len(gold) != COUNTS[source]:
        cut = "" if bound is None else "cut from "
        return replace(gold, note=f"{cut}{len(gold):,} of {COUNTS[source]:,} sentences")
    if name in COUNTS and (count := len(up_to(gold, bound))) != COUNTS[name]:
        return replace(gold, note=f"{count:,} of {COUNTS[name]:,} sentences")
    return gold


def _wall_street_journal(ptb: str | None, sections: range, on_bad: OnBad | None = None) -> Treebank:
    """These sections of the full treebank in ``ptb`` or $SYNPARSE_PTB; of nltk's sample if there is none."""
    folder = ptb or os.environ.get("SYNPARSE_PTB")
    if not folder:
        return _nltk_sample(sections, on_bad)
    files = penn_files(os.path.expanduser(folder))
    if not files:
        raise SynparseError(f"{folder}: no file of the Wall Street Journal (such as 00/wsj_0001.mrg) in it; {HELP}")
    return _read_files(files, sections, on_bad)


def _read_files(files: dict[int, str], sections: range, on_bad: OnBad | None) -> Treebank:
    """The sentences of those files that belong to the sections, in order; marked if all files are nltk's."""
    wanted = [path for number, path in files.items() if number // 100 in sections]
    sentences = [sentence for path in wanted for sentence in read_bracketed(path, on_bad=on_bad)]
    return Treebank("wsj", sentences, note=SAMPLE_NOTE if max(files) <= LAST_SAMPLE_FILE else "")


def _section(path: str) -> int:
    """The section of a ``wsj_NNNN.mrg`` file."""
    match = _FILE.fullmatch(os.path.basename(path))
    return int(match[1]) // 100 if match else -1


def penn_files(folder: str) -> dict[int, str]:
    """The ``wsj_NNNN.mrg`` files anywhere below ``folder``, in any case, by number in ascending order."""
    found: dict[int, str] = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if match := _FILE.fullmatch(name):
                found.setdefault(int(match[1]), os.path.join(place, name))
    return dict(sorted(found.items()))


def _nltk_sample(sections: range, on_bad: OnBad | None) -> Treebank:
    """These sections of the part that nltk distributes, zipped or unpacked, read without importing nltk."""
    for folder in nltk_folders():
        unpacked = os.path.join(folder, "corpora", "treebank", "combined")
        if files := penn_files(unpacked):
            return replace(_read_files(files, sections, on_bad), note=SAMPLE_NOTE)
        archive = os.path.join(folder, "corpora", "treebank.zip")
        if os.path.isfile(archive):
            return Treebank("wsj", list(_read_zip(archive, sections)), note=SAMPLE_NOTE)
    raise SynparseError(f"no Wall Street Journal treebank on this machine; {HELP}")


def nltk_folders() -> list[str]:
    """Where nltk looks for its data, in its order: $NLTK_DATA, the home folder, Python's own, the system's."""
    folders = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    folders.append(os.path.expanduser("~/nltk_data"))
    folders += [os.path.join(sys.prefix, inner) for inner in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    folders += [f"/usr/{inner}/nltk_data" for inner in ("share", "local/share", "lib", "local/lib")]
    return folders


def _read_zip(archive: str, sections: range) -> Iterator[Sentence]:
    """The sentences of the ``wsj_NNNN.mrg`` files of these sections in a zip archive, in order."""
    try:
        with zipfile.ZipFile(archive) as handle:
            for entry in handle.infolist():  # a damaged name would leave a file out
                handle.open(entry).close()
            members = sorted(name for name in handle.namelist() if _section(name) in sections)
            for member in members:
                if handle.getinfo(member).file_size > LARGEST_MEMBER:
                    raise zipfile.BadZipFile(f"{member} is too large for a file of this treebank")
                yield from _read_text(f"{archive}/{member}", handle.read(member).decode())
    except TreebankError:
        raise
    except Exception as error:  # zipfile raises many kinds for a damaged archive
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
