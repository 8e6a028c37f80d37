"""Sentences to draw, in several scripts, and trees over them."""

from __future__ import annotations

from random import Random

from treebank.core.baselines import random_uniform
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis, Picture

GOLD = Tree.from_text(
    "(S (NP (DT The) (JJ old) (NN man)) (VP (VBD saw) (NP (NP (DT a) (NN dog))"
    " (PP (IN with) (NP (DT a) (NN telescope))))) (. .))"
)
PREDICTED = Tree.from_spans(GOLD.words, [(0, 2), (0, 3), (3, 9), (4, 6), (4, 8)])
HEADS = (2, 2, 3, -1, 5, 3, 8, 8, 5, 3)
RELATIONS = ("det", "amod", "nsubj", "root", "det", "obj", "case", "det", "nmod", "punct")
OTHER_HEADS = (2, 2, 3, -1, 5, 3, 3, 8, 6, 3)
SCRIPTS = {
    "Latin": "Incomprehensibilities WWWWW MMMM iii llll fiancé Đặng œuvre ß .",
    "Chinese": "他们 正在 研究 自然语言处理技术 的 发展 。",
    "Japanese": "新た な 支出 は クリントン の 銀行口座 に よっ て い た 。",
    "Korean": "저는 어제 학교에서 친구를 만났습니다 .",
    "Arabic": "ذهب الولد إلى المدرسة القريبة من البيت .",
    "Hebrew": "הילד הלך אל בית הספר הקרוב .",
    "Hindi": "क्षत्रिय विद्यार्थी कल विद्यालय जाएँगे ।",
    "Thai": "ผู้เชี่ยวชาญ กำลัง ศึกษา ประวัติศาสตร์ น้ำ",
    "Tamil": "அவர்கள் நேற்று பள்ளிக்குச் சென்றார்கள் .",
    "Greek": "Οι φοιτητές διαβάζουν ΒΙΒΛΙΑ .",
    "Russian": "Щенок бежит по широкому ЖЁЛТОМУ полю .",
    "Amharic": "ሰላም ለዓለም ሁሉ ይሁን ።",
    "Georgian": "მოსწავლეები წიგნს კითხულობენ .",
}


def random_tree(words: tuple[str, ...], seed: int, *, labelled: bool = False) -> Tree:
    """A random binary tree, with labels of several lengths if ``labelled``."""
    chance = Random(seed)
    flat = Tree(words, ("W",) * len(words), (), ())
    tree = Tree.from_spans(words, random_uniform(flat, chance))
    if not labelled:
        return tree
    labels = tuple(chance.choice(["S", "NP-SBJ-1", "VP", "WHADVP-LONG-LABEL"]) for _ in tree.spans)
    tags = tuple(chance.choice(["NN", "-LRB-", "PRP$", "VERB"]) for _ in words)
    return Tree(words, tags, tree.spans, labels)


def compared() -> Picture:
    """Two trees next to gold."""
    trees = Analysis.of_tree(PREDICTED, "prpn"), Analysis.of_tree(random_tree(GOLD.words, 3), "random")
    return Picture("1", trees, Analysis.of_tree(GOLD, "gold"))


def compared_heads() -> Picture:
    """Heads with probabilities next to gold ones."""
    best = [index if head == ROOT else head for index, head in enumerate(OTHER_HEADS)]
    rows = tuple(tuple(0.9 if j == head else 0.1 / 9 for j in range(10)) for head in best)
    predicted = Analysis("udgn", GOLD.words, heads=OTHER_HEADS, probabilities=rows)
    return Picture("2", (predicted,), Analysis("gold", GOLD.words, GOLD.tags, heads=HEADS, relations=RELATIONS))
