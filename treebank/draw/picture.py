"""The content of a picture: analyses of a sentence by one or several systems, compared with gold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import ROOT, Location, Sentence, tags_are_penn, word_mask
from treebank.core.tree import Span, Tree
from treebank.core.word_check import plain
from treebank.draw.scene import Ink
from treebank.io.bracketed import parse_bare

GOLD = "gold"
WITH_GOLD = {
    Ink.SHARED: "in gold and predicted",
    Ink.MISSED: "in gold only",
    Ink.EXTRA: "predicted only",
    Ink.FAINT: "not compared",
}
GLOSS_ROWS = ("MSeg", "MGloss", "Gloss")  # entries of MISC that are set under the words
TRANSLATION = re.compile(r"text_[a-z]{2,3}(-\w+)?")  # comments of CoNLL-U
WITH_DISTANCES = {Ink.BAR: "distance; highest bars are split first"}  # by the decoder `unbiased`
WITH_OTHER_DISTANCES = {Ink.BAR: "distance"}
WITH_EACH_OTHER = {Ink.PLAIN: "in all analyses", Ink.EXTRA: "not in all analyses"}


@dataclass(frozen=True)
class Analysis:
    """The analysis of a sentence by one system. Missing parts are empty.

    ``heads`` and ``relations`` have one entry per word, as in `Sentence`. ``distances`` has one value per word, for the
    gap before it, and NaN for a word that the model did not receive. ``probabilities[i][j]`` is P(word j heads word i),
    and on the diagonal P(word i is the root). ``below`` are rows of one text per word that are set under the words,
    such as morphemes and glosses, and ``translation`` is set under all of them. ``splits_highest`` says that
    the highest distances split the tree first.
    """

    name: str
    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    tree: Tree | None = None
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    distances: tuple[float, ...] = ()
    probabilities: tuple[tuple[float, ...], ...] = ()
    below: tuple[tuple[str, ...], ...] = ()
    translation: str = ""
    splits_highest: bool = True

    @classmethod
    def of_sentence(cls, sentence: Sentence, name: str = "") -> Analysis:
        """The annotation of ``sentence``, without traces."""
        tree = sentence.tree.without_traces() if sentence.tree is not None else None
        return cls(name, sentence.words, sentence.tags, tree, sentence.heads, sentence.relations).glossed(sentence)

    def glossed(self, sentence: Sentence) -> Analysis:
        """The analysis with morphemes, glosses and translation of ``sentence``, if its annotation has them."""
        if sentence.annotation is None or self.words != sentence.words:
            return self
        cells = [row[9].split("|") for row in sentence.annotation.rows if row[0].isdecimal()]
        rows = [tuple(_entry(misc, name) for misc in cells) for name in GLOSS_ROWS]
        below = tuple(row for row in rows if any(row) and row != self.words)
        comments = (line.removeprefix("#").partition("=") for line in sentence.annotation.comments)
        translations = [text.strip() for name, _, text in comments if TRANSLATION.fullmatch(name.strip())]
        return replace(self, below=below, translation=" / ".join(translations))

    def gloss(self, word: int) -> str:
        """The texts below a word in one line."""
        return " ".join(filter(None, (texts[word] for texts in self.below)))

    def with_texts(self, change: Callable[[str], str]) -> Analysis:
        """The analysis with ``change`` applied to its name and to each word, tag, label, relation and gloss."""

        def changed(texts: Sequence[str]) -> tuple[str, ...]:
            return tuple(map(change, texts))

        tree = self.tree
        if tree is not None:
            tree = Tree(changed(tree.words), changed(tree.tags), tree.spans, changed(tree.labels))
        words, tags, relations = changed(self.words), changed(self.tags), changed(self.relations)
        below, translation = tuple(map(changed, self.below)), change(self.translation)
        return replace(
            self,
            name=change(self.name),
            words=words,
            tags=tags,
            relations=relations,
            tree=tree,
            below=below,
            translation=translation,
        )

    @classmethod
    def of_tree(cls, tree: Tree, name: str = "") -> Analysis:
        """``tree``, without traces."""
        tree = tree.without_traces()
        return cls(name, tree.words, tree.tags, tree)


def _entry(misc: Sequence[str], name: str) -> str:
    """The value of the entry ``name`` of MISC, or "" without one."""
    values = (entry.partition("=")[2] for entry in misc if entry.startswith(f"{name}="))
    return next(values, "").replace("_", " ")


def fitted(analysis: Analysis, location: Location, words: Sequence[str]) -> Analysis:
    """The analysis over the words of gold. Brackets are read again without labels if that makes the words agree.

    Raises TreebankError that names the first word that differs.
    """
    if plain(analysis.words) == plain(words):
        return analysis
    if analysis.tree is not None:
        bare = parse_bare(str(analysis.tree))
        if bare.words == tuple(words):
            return Analysis.of_tree(bare, analysis.name)
    pairs = enumerate(zip(analysis.words, words, strict=False), start=1)
    differing = next((f"word {i} is {word!r}, in gold {other!r}" for i, (word, other) in pairs if word != other), "")
    problem = differing or f"{len(analysis.words)} words, in gold {len(words)}"
    raise TreebankError(location.path, location.line, f"not the sentence that gold has here: {problem}")


@dataclass(frozen=True)
class Marked:
    """An analysis with an ink for each bracket of its tree and for each arc, by its dependent.

    ``missed`` are the heads of gold that the analysis does not have, by word.
    """

    analysis: Analysis
    brackets: tuple[Ink, ...] = ()
    arcs: tuple[Ink, ...] = ()
    missed: dict[int, int] = field(default_factory=dict)
    note: str = ""  # how many are shared, such as "5 of 8 gold brackets"

    @property
    def in_words(self) -> str:
        """The content in words, for screen readers."""
        name = f"{self.analysis.name}: " if self.analysis.name else ""
        return f"{name}{plain_words(self.analysis)}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Picture:
    """One sentence: ``title`` (its number or location), the analyses, and the gold analysis, if there is one."""

    title: str
    analyses: tuple[Analysis, ...]
    gold: Analysis | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(plain((self.gold or self.analyses[0]).words))

    @property
    def translation(self) -> str:
        """The first translation of the sentence, or "" without one."""
        analyses = [self.gold, *self.analyses] if self.gold else self.analyses
        return next((each.translation for each in analyses if each.translation), "")

    @property
    def is_compared(self) -> bool:
        """Whether gold and at least one analysis have trees, or both have heads."""
        gold = self.gold
        return gold is not None and any(
            (gold.tree is not None and analysis.tree is not None) or (gold.heads and analysis.heads)
            for analysis in self.analyses
        )

    @property
    def legend(self) -> Mapping[Ink, str]:
        """The meaning of each ink, without those of a comparison if nothing is compared."""
        each_other = WITH_EACH_OTHER if self.gold is None and _are_comparable(self.analyses) else {}
        barred = [analysis for analysis in self.analyses if analysis.distances]
        split = all(analysis.splits_highest for analysis in barred)
        bars = {} if not barred else WITH_DISTANCES if split else WITH_OTHER_DISTANCES
        return {**(WITH_GOLD if self.is_compared else each_other), **bars}

    def check_compared(self) -> None:
        """Raises SynparseError if gold has trees and the analyses only heads, or the reverse."""
        if self.gold is None or self.is_compared:
            return
        names = ", ".join(analysis.name for analysis in self.analyses)
        if self.gold.tree is not None and any(analysis.heads for analysis in self.analyses):
            remedy = "convert the gold trees to heads with `synparse convert --format conllu`"
            raise SynparseError(f"{names}: heads cannot be compared with gold trees; {remedy}")
        if self.gold.heads and any(analysis.tree is not None for analysis in self.analyses):
            raise SynparseError(f"{names}: trees cannot be compared with gold heads; name gold trees instead")

    def marked(self) -> list[Marked]:
        """The analyses to draw, in order. A gold tree comes first. Gold heads are drawn with each system.

        Without gold, several analyses are compared with each other.
        Brackets in texts are written as such, not as ``-LRB-``.
        """
        gold = self.gold
        if gold is None:
            marked = _marked_differences(self.analyses)
        elif gold.tree is not None and any(analysis.tree is not None for analysis in self.analyses):
            marked = _marked_trees(gold, gold.tree, self.analyses)
        else:
            marked = [_marked_heads(analysis, gold) for analysis in self.analyses]
        return [replace(each, analysis=each.analysis.with_texts(lambda text: plain([text])[0])) for each in marked]


def _are_comparable(analyses: Sequence[Analysis]) -> bool:
    """Whether several analyses of the same words have trees, or several have heads."""
    trees, heads = sum(each.tree is not None for each in analyses), sum(bool(each.heads) for each in analyses)
    return max(trees, heads) > 1 and len({analysis.words for analysis in analyses}) == 1


def _marked_differences(analyses: Sequence[Analysis]) -> list[Marked]:
    """The analyses, in which brackets and arcs that not all of them have are marked as extra."""
    if not _are_comparable(analyses):
        return list(map(_unmarked, analyses))
    mask = counted(analyses[0].words, analyses[0].tags)
    spans = [projected(analysis.tree, mask) if analysis.tree is not None else [] for analysis in analyses]
    with_trees = [set(each) for each, analysis in zip(spans, analyses, strict=True) if analysis.tree is not None]
    common = set[Span | None]().union(*with_trees).intersection(*with_trees)
    heads = [analysis.heads for analysis in analyses if analysis.heads]
    arcs = tuple(Ink.PLAIN if len(set(chosen)) == 1 else Ink.EXTRA for chosen in zip(*heads, strict=True))
    return [
        Marked(
            analysis,
            tuple(Ink.PLAIN if span is None or span in common else Ink.EXTRA for span in each),
            arcs if analysis.heads else (),
        )
        for analysis, each in zip(analyses, spans, strict=True)
    ]


def _unmarked(analysis: Analysis) -> Marked:
    brackets = () if analysis.tree is None else (Ink.PLAIN,) * len(analysis.tree.spans)
    return Marked(analysis, brackets, (Ink.PLAIN,) * len(analysis.heads))


def counted(words: Sequence[str], tags: Sequence[str]) -> list[bool]:
    """For each token, whether it is a word that is compared with gold.

    Penn Treebank tags decide, else letters and digits. If this excludes every token, all tokens are compared.
    """
    mask = word_mask("words" if tags and tags_are_penn(words, tags) else "letters", words, tags)
    return mask if any(mask) else [True] * len(words)


def projected(tree: Tree, mask: Sequence[bool]) -> list[Span | None]:
    """Each bracket over the words that ``mask`` selects, or None for the full sentence and for fewer than two words."""
    before = list(accumulate(map(int, mask), initial=0))
    spans = [(before[start], before[end]) for start, end in tree.spans]
    return [span if 1 < span[1] - span[0] < before[-1] else None for span in spans]


def _marked_trees(gold: Analysis, tree: Tree, analyses: Iterable[Analysis]) -> list[Marked]:
    """The gold tree, then the others. A gold bracket is missed if none of them has it."""
    mask = counted(gold.words, gold.tags)
    gold_spans = projected(tree, mask)
    reference = {span for span in gold_spans if span}
    predicted: set[Span | None] = set()
    marked = []
    for analysis in analyses:
        if analysis.tree is None:
            marked.append(_marked_heads(analysis, gold))
            continue
        spans = projected(analysis.tree, mask)
        predicted |= set(spans)
        inks = tuple(Ink.FAINT if span is None else Ink.SHARED if span in reference else Ink.EXTRA for span in spans)
        distinct = {span for span in spans if span}
        note = f"{len(distinct & reference)} of {len(reference)} gold brackets, {len(distinct - reference)} extra"
        marked.append(Marked(analysis, inks, (Ink.PLAIN,) * len(analysis.heads), note=note))
    inks = tuple(Ink.FAINT if span is None else Ink.SHARED if span in predicted else Ink.MISSED for span in gold_spans)
    reference_analysis = Analysis(gold.name or GOLD, gold.words, gold.tags, tree, below=gold.below)
    return [Marked(reference_analysis, inks), *marked]


def _marked_heads(analysis: Analysis, gold: Analysis) -> Marked:
    """Predicted arcs as shared, extra or (punctuation) neither, and the gold arcs that are missed."""
    if not analysis.heads or not gold.heads:
        return _unmarked(analysis)
    mask = counted(gold.words, gold.tags)
    inks, missed = [], {}
    for word, (head, reference_head) in enumerate(zip(analysis.heads, gold.heads, strict=True)):
        if not mask[word]:
            inks.append(Ink.FAINT)
        elif head == reference_head:
            inks.append(Ink.SHARED)
        else:
            inks.append(Ink.EXTRA)
            missed[word] = reference_head
    counts = Counter(inks)
    note = f"{counts[Ink.SHARED]} of {counts[Ink.SHARED] + len(missed)} gold arcs"
    known = (name if ink == Ink.SHARED else "" for name, ink in zip(gold.relations, inks, strict=False))
    compared = replace(analysis, tree=None, relations=analysis.relations or tuple(known))
    return Marked(compared, (), tuple(inks), missed, note)


def plain_words(analysis: Analysis) -> str:
    """The analysis as text: brackets, or each word with its head."""
    if analysis.tree is not None:
        return str(analysis.tree)
    words = analysis.words
    if analysis.heads:
        heads = ["root" if head == ROOT else words[head] for head in analysis.heads]
        return ", ".join(f"{word} ← {head}" for word, head in zip(words, heads, strict=True))
    return " ".join(words)
