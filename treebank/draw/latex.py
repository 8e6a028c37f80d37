"""Pictures as LaTeX: trees for the package forest, heads for tikz-dependency, in a document that compiles by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treebank.core.sentence import ROOT
from treebank.core.tree import Tree
from treebank.draw.picture import GOLD, Marked, Picture
from treebank.draw.scene import LIGHT, Ink
from treebank.draw.tree_layout import BARE_LABELS, BARE_TAGS, TOP, Branches, visible

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\u00a0": "~",  # a space within a word
    "\u00ad": r"\-",  # where a word may be divided
    **{joiner: joiner for joiner in "\u200c\u200d"},  # separate and join letters of Persian and Indian scripts
    "&": r"\symbol{38}",  # \& divides the words of tikz-dependency
    **{character: f"\\{character}" for character in "{}$#_%"},
}
# the places within --, ``, '', ,, ?` and !`, which TeX sets as one sign
_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=`)(?=`)|(?<=')(?=')|(?<=,)(?=,)|(?<=[?!])(?=`)")
LINE_BREAK = "\\\\"
_LINES = {Ink.MISSED: "densely dashed", Ink.EXTRA: "densely dotted"}
_COMPARED = (Ink.SHARED, Ink.MISSED, Ink.EXTRA, Ink.FAINT)
PREAMBLE = r"""\documentclass{article}
\usepackage[landscape, margin=15mm]{geometry}
\usepackage{iftex}
\ifPDFTeX \usepackage[T1]{fontenc} \else \usepackage{fontspec} \fi % name a font of other scripts with \setmainfont
\usepackage{forest}
\usepackage{tikz-dependency}
"""
FOREST = r"""\forestset{
  bare/.style={inner sep=0pt, minimum size=0pt, fit=tight},
  synparse/.style={for tree={parent anchor=south, child anchor=north, inner sep=1.5pt, l sep=3mm, s sep=2mm}},
}
\pagestyle{empty}
\setlength{\parindent}{0pt}
"""


def document(pictures: Sequence[Picture]) -> str:
    """A document with all pictures."""
    lines = []  # a block for each analysis of a sentence
    for picture, marked in ((each, marked) for each in pictures for marked in each.marked()):
        analysis = marked.analysis
        name = "gold" if analysis.name == GOLD else analysis.name
        title = " --- ".join(escaped(part) for part in (picture.title, name, marked.note) if part)
        lines.append("\\begin{samepage}" + f"{{\\footnotesize {title}}}\\par\\nopagebreak\n" * bool(title))
        lines += blocks(marked)
        if analysis.translation:
            lines.append(f"\\par `{escaped(analysis.translation)}'\n")
        lines.append("\\end{samepage}\\par\\bigskip\n")
    body = "\n".join(lines)
    styles = []  # a color and a TikZ style for each ink of a comparison
    for ink in _COMPARED:
        line = f", {_LINES[ink]}" if ink in _LINES else ""
        styles.append(f"\\definecolor{{{ink}}}{{HTML}}{{{LIGHT[ink].removeprefix('#').upper()}}}\n")
        styles.append(f"\\tikzset{{{ink}/.style={{draw={ink}, text={ink}{line}}}}}\n")
    return f"{PREAMBLE}{''.join(styles)}{FOREST}\\begin{{document}}\n{body}\\end{{document}}\n"


def forest(tree: Tree, inks: Sequence[Ink] = (), below: Sequence[Sequence[str]] = ()) -> str:
    """``tree`` for the package forest. ``inks[k]`` is the style of the edges below bracket k.

    ``below`` are rows of one text per word that are set under the words.
    """
    branches, tops = Branches(tree), tree.children()[-1]
    inks = inks or (Ink.PLAIN,) * len(tree.spans)
    if len(tops) == 1:
        return "\\begin{forest} synparse\n" + "".join(_brackets(branches, tops[0], inks, below)) + "\n\\end{forest}\n"
    inner = " ".join("".join(_brackets(branches, top, inks, below)) for top in tops)
    return f"\\begin{{forest}} synparse\n[{{}}, phantom {inner}]\n\\end{{forest}}\n"


def dependency(marked: Marked) -> str:
    """Heads for tikz-dependency: arcs above the words, missed gold arcs below."""
    analysis = marked.analysis
    lines = ["\\begin{dependency}", "\\begin{deptext}[column sep=1.2em]"]
    # {} before a cell, because TikZ reads "[" at its start as an option and removes braces around the cell
    lines.append(" \\& ".join(f"{{}}{escaped(word)}" for word in analysis.words) + " \\\\")
    for texts in analysis.below:
        lines.append(" \\& ".join(f"{{}}{escaped(text)}" for text in texts) + f" {LINE_BREAK}")
    lines.append("\\end{deptext}")
    for word, head in enumerate(analysis.heads):
        relation = analysis.relations[word] if analysis.relations else ""
        lines.append(_arc(word, head, marked.arcs[word], relation))
    lines += [_arc(word, head, Ink.MISSED, "", below=True) for word, head in marked.missed.items()]
    return "\n".join([*lines, "\\end{dependency}"]) + "\n"


def blocks(marked: Marked) -> Iterator[str]:
    """The tree and the heads of an analysis, if there are any."""
    if marked.analysis.tree is not None and marked.analysis.words:
        yield forest(marked.analysis.tree, marked.brackets, marked.analysis.below)
    if marked.analysis.heads:
        yield dependency(marked)


def escaped(text: str) -> str:
    """``text`` with special characters of TeX escaped, without ligatures, and ``?`` for unprintable characters."""
    characters = (_SPECIAL.get(character, character if character.isprintable() else "?") for character in text)
    return _LIGATURE.sub("{}", "".join(characters))


def _brackets(branches: Branches, top: int, inks: Sequence[Ink], below: Sequence[Sequence[str]]) -> Iterator[str]:
    """The notation of forest for the node ``top`` and all nodes below it, in pieces."""
    tree, count = branches.tree, len(branches.tree.spans)
    todo: list[int | str] = [top]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            yield node
            continue
        parent = branches.parents[node]
        edge = f", edge={{{inks[parent]}}}" if parent != TOP and inks[parent] in _COMPARED else ""
        if node >= count:
            lines = [escaped(texts[node - count]) for texts in (tree.words, *below)]
            word = "{" + LINE_BREAK.join(lines) + "}" + ", align=center" * bool(below)
            tag = escaped(visible(tree.tags[node - count], BARE_TAGS))
            yield f"[{{{tag}}}{edge}[{word}, tier=word]]" if tag else f"[{word}{edge}, tier=word]"
            continue
        label = visible(tree.labels[node], BARE_LABELS)
        color = f", text={inks[node]}" if label and inks[node] in _COMPARED[:3] else ""
        yield f"[{{{escaped(label)}}}{edge}{color}" if label else f"[, bare{edge}"
        todo.append("]")
        todo.extend(reversed(branches.children[node]))


def _arc(word: int, head: int, ink: Ink, relation: str, *, below: bool = False) -> str:
    """One arrow. Words are counted from 1."""
    style = [f"edge style={{{ink}}}, label style={{{ink}}}"] if ink in _COMPARED else []
    style += ["edge below"] * below + ["hide label"] * (not relation)
    options = f"[{', '.join(style)}]" if style else ""
    if head in (ROOT, word):
        return f"\\deproot{options}{{{word + 1}}}{{{escaped(relation)}}}"
    return f"\\depedge{options}{{{head + 1}}}{{{word + 1}}}{{{escaped(relation)}}}"
