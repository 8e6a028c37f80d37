"""A page on which a person corrects the trees or heads of random sentences and saves them as a small treebank.

The corrected treebank answers how good the trees of a text without gold are: ``synparse eval --gold`` scores them with
an interval. The script of the page is ``templates/correction.js``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from induce.parsing.parser import Parser
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.metadata import json_text
from treebank.base.tables import quantity
from treebank.core.sentence import Sentence
from treebank.core.word_check import plain
from treebank.draw.picture_files import render
from treebank.search.search import draw_sample

LABEL = "X"  # of a phrase that the person adds


def correction_page(
    sentences: Iterable[Sentence],
    parser: Parser,
    *,
    name: str,
    count: int,
    seed: int = 1,
    title: str = "Check trees",
) -> str:
    """The page of ``count`` random ``sentences`` of two or more words with the trees or heads of ``parser``.

    ``name`` is that of the parser on the page. Gold annotation of the sentences is not used. Raises SynparseError if no
    sentence has two words.
    """
    sample = draw_sample((sentence for sentence in sentences if len(sentence.words) > 1), count, seed)
    if not sample:
        raise SynparseError("there is no sentence of two or more words to check")
    words = [list(plain(sentence.words)) for sentence in sample]
    output = parser.output
    rows: list[dict[str, Any]] = []
    for each, tree in zip(words, parser.parse(words), strict=True) if output == "trees" else ():
        spans = [[*span, label] for span, label in zip(tree.spans, tree.labels, strict=True)]
        rows.append({"words": each, "spans": spans, "heads": []})
    for each, (_, heads) in zip(words, parser.parse_heads(words), strict=True) if output == "heads" else ():
        rows.append({"words": each, "spans": [], "heads": [head + 1 for head in heads]})
    digest = hashlib.sha256(json_text(rows, compact=True).encode()).hexdigest()
    file = "checked.ptb" if output == "trees" else "checked.conllu"
    content = {"sentences": rows, "output": output, "label": LABEL, "file": file, "digest": digest}
    return render(
        "correction.html",
        "induce.reporting",
        title=title,
        sentences=quantity(len(rows), "sentence"),
        seed=seed,
        output=output,
        model=name,
        file=file,
        version=VERSION,
        content=json_text(content, compact=True).replace("<", "\\u003c"),  # no text can end the script
        script=(files("induce.reporting") / "templates" / "correction.js").read_text("utf-8"),
    )
