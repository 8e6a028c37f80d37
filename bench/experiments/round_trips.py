"""Parts of the annotation that survive writing and reading in each format: docs/reference/formats.md.

``python -m bench.experiments.round_trips [--data FOLDER]`` writes each treebank in each format, reads it again, and
prints the share of the sentences in which each part is unchanged. The files of brackets and CoNLL-U are read by nltk,
too, which must find the same trees and heads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.common import experiment
from bench.experiments.directions import CORPORA, read_treebank
from bench.report import markdown
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.io.formats import FORMATS, WRITERS
from treebank.io.read import InputOptions, read_sentences

UD = {
    "UD": (
        "UD_English-EWT/en_ewt-ud-dev.conllu",
        "UD_German-PUD/de_pud-ud-test.conllu",
        "UD_Turkish-IMST/tr_imst-ud-dev.conllu",
        "UD_Tamil-TTB/ta_ttb-ud-dev.conllu",
        "UD_Vietnamese-VTB/vi_vtb-ud-dev.conllu",
    )
}
PARTS: dict[str, Callable[[Sentence], Any]] = {
    "words": lambda sentence: sentence.words,
    "tags": lambda sentence: sentence.tags,
    "brackets": lambda sentence: sentence.tree and sentence.tree.without_traces().spans,
    "labels": lambda sentence: sentence.tree and sentence.tree.without_traces().labels,
    "empty elements": lambda sentence: sentence.tree,
    "heads": lambda sentence: sentence.heads,
    "relations": lambda sentence: sentence.relations,
    "other columns, comments": lambda sentence: sentence.annotation,
}


def written(sentences: Sequence[Sentence], form: str, folder: Path) -> Path:
    """The file with all sentences in a format."""
    path = folder / f"sentences.{form}"
    path.write_text("".join(f"{line}\n" for line in WRITERS[form](sentences, "collins")), encoding="utf-8")
    return path


def shares(sentences: Sequence[Sentence], form: str, folder: Path) -> dict[str, float]:
    """The share of the sentences in which each part survives, without the parts that no sentence has."""
    path = written(sentences, form, folder)
    reader = next(entry.name for entry in FORMATS.values() if form in dict(entry.writers))
    options = InputOptions(form=reader, keep_annotation=True, notify=lambda message: None)
    again = list(read_sentences([path], input_options=options))
    result = {}
    for name, part in PARTS.items():
        relevant = [(part(old), part(new)) for old, new in zip(sentences, again, strict=True) if part(old)]
        if relevant:
            result[name] = sum(old == new for old, new in relevant) / len(relevant)
    return result


def nltk_trees(path: Path) -> Iterator[Tree]:
    """The trees that nltk reads from a file of brackets."""
    import nltk

    return (Tree.from_nltk(nltk.Tree.fromstring(line)) for line in path.read_text(encoding="utf-8").splitlines())


def nltk_heads(path: Path) -> Iterator[tuple[int, ...]]:
    """The heads that nltk reads from a file of CoNLL-U, of which it understands ten columns without comments."""
    from nltk.parse.dependencygraph import DependencyGraph

    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line for line in block.split("\n") if line.partition("\t")[0].isdecimal()]
        graph = DependencyGraph("\n".join(rows), cell_separator="\t", top_relation_label="root")
        yield tuple(graph.nodes[index]["head"] - 1 for index in range(1, len(rows) + 1))


def check_with_nltk(sentences: Sequence[Sentence], form: str, folder: Path) -> int:
    """The number of sentences of which nltk reads other trees or heads."""
    path = written(sentences, form, folder)
    if form == "brackets":
        return sum(str(sentence.tree) != str(tree) for sentence, tree in zip(sentences, nltk_trees(path), strict=True))
    return sum(sentence.heads != heads for sentence, heads in zip(sentences, nltk_heads(path), strict=True))


def main() -> None:
    """Print the table, and the differences to nltk."""
    options = experiment(__doc__).parse_args()
    corpora = {name: read_treebank(options.data / CORPORA[name].path, "") for name in ("WSJ", "Keyaki")}
    for name, paths in UD.items():
        files = [options.data / "ud" / path for path in paths]
        corpora[name] = list(read_sentences(files, input_options=InputOptions(keep_annotation=True)))
    rows: dict[tuple[str, ...], list[str]] = {}  # from a format and its cells to the treebanks
    with tempfile.TemporaryDirectory() as folder:
        for name, sentences in corpora.items():
            has_trees = sentences[0].tree is not None
            for form in WRITERS if has_trees else ("conllu", "text"):
                parts = shares(sentences, form, Path(folder))
                cells = [f"{100 * parts[part]:.1f}" if part in parts else "" for part in PARTS]
                rows.setdefault((form, *cells), []).append(name)
            form = "brackets" if has_trees else "conllu"
            different = check_with_nltk(sentences, form, Path(folder))
            print(f"{name}: {len(sentences):,} sentences; nltk reads {different} of them differently from {form}")
    table = [[form, ", ".join(names), *cells] for (form, *cells), names in rows.items()]
    print(markdown(["format", "treebank", *PARTS], sorted(table, key=lambda row: list(WRITERS).index(row[0]))))


if __name__ == "__main__":
    main()
