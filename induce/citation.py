"""What to cite for a result: the tool, the paper of the model, the treebank, the conventions; as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treebank.base.version import VERSION


@dataclass(frozen=True)
class Reference:
    """One entry of BibTeX; ``where`` are its remaining fields."""

    key: str
    kind: str
    author: str
    title: str
    year: int
    where: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        fields = (("author", self.author), ("title", f"{{{self.title}}}"), *self.where, ("year", str(self.year)))
        return f"@{self.kind}{{{self.key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields) + "}"


def _paper(key: str, author: str, title: str, year: int, venue: str, pages: str = "") -> Reference:
    where = (("booktitle", venue), *((("pages", pages),) if pages else ()))
    return Reference(key, "inproceedings", author, title, year, where)


_ACL = "Annual Meeting of the Association for Computational Linguistics (ACL)"
_ICLR = "International Conference on Learning Representations (ICLR)"
_PCFG = _paper(
    "kim-etal-2019-compound",
    "Kim, Yoon and Dyer, Chris and Rush, Alexander M.",
    "Compound Probabilistic Context-Free Grammars for Grammar Induction",
    2019,
    _ACL,
    "2369--2385",
)
_PRPN = _paper(
    "shen-etal-2018-prpn",
    "Shen, Yikang and Lin, Zhouhan and Huang, Chin-Wei and Courville, Aaron",
    "Neural Language Modeling by Jointly Learning Syntax and Lexicon",
    2018,
    _ICLR,
)
_ONLSTM = _paper(
    "shen-etal-2019-onlstm",
    "Shen, Yikang and Tan, Shawn and Sordoni, Alessandro and Courville, Aaron",
    "Ordered Neurons: Integrating Tree Structures into Recurrent Neural Networks",
    2019,
    _ICLR,
)
_SYD = _paper(
    "du-etal-2020-syd",
    "Du, Wenyu and Lin, Zhouhan and Shen, Yikang and O'Donnell, Timothy J. and Bengio, Yoshua and Zhang, Yue",
    "Exploiting Syntactic Structure for Better Language Modeling: A Syntactic Distance Approach",
    2020,
    _ACL,
    "6611--6628",
)
_DMV = _paper(
    "klein-manning-2004",
    "Klein, Dan and Manning, Christopher D.",
    "Corpus-Based Induction of Syntactic Structure: Models of Dependency and Constituency",
    2004,
    _ACL,
    "478--485",
)
_CCM = _paper(
    "klein-manning-2002",
    "Klein, Dan and Manning, Christopher D.",
    "A Generative Constituent-Context Model for Improved Grammar Induction",
    2002,
    _ACL,
)
_OCN = Reference(
    "shen-2022-thesis",
    "phdthesis",
    "Shen, Yikang",
    "Syntactic Inductive Biases for Deep Learning Methods",
    2022,
    (("school", "Universit{\\'e} de Montr{\\'e}al"),),
)
#: model -> what its authors published
MODELS: dict[str, tuple[Reference, ...]] = {
    "prpn": (_PRPN,),
    "onlstm": (_ONLSTM,),
    "prpn-syd": (_SYD, _PRPN),
    "onlstm-syd": (_SYD, _ONLSTM),
    "npcfg": (_PCFG,),
    "cpcfg": (_PCFG,),
    "ccm": (_CCM,),
    "simple-pcfg": (
        _paper(
            "liu-etal-2023-simple",
            "Liu, Wei and Yang, Songlin and Kim, Yoon and Tu, Kewei",
            "Simple Hardware-Efficient PCFGs with Independent Left and Right Productions",
            2023,
            "Findings of the Association for Computational Linguistics: EMNLP",
            "1662--1669",
        ),
    ),
    "ordered-memory": (
        _paper(
            "shen-etal-2019-ordered-memory",
            "Shen, Yikang and Tan, Shawn and Hosseini, Arian and Lin, Zhouhan and Sordoni, Alessandro"
            " and Courville, Aaron",
            "Ordered Memory",
            2019,
            "Advances in Neural Information Processing Systems (NeurIPS)",
        ),
    ),
    "structformer": (
        _paper(
            "shen-etal-2021-structformer",
            "Shen, Yikang and Tay, Yi and Zheng, Che and Bahri, Dara and Metzler, Donald and Courville, Aaron",
            "StructFormer: Joint Unsupervised Induction of Dependency and Constituency Structure from Masked"
            " Language Modeling",
            2021,
            _ACL,
            "7196--7209",
        ),
    ),
    "ocn": (_OCN,),
    "moe": (_OCN,),
    "ompn": (
        _paper(
            "lu-etal-2021-ompn",
            "Lu, Yuchen and Shen, Yikang and Zhou, Siyuan and Courville, Aaron and Tenenbaum, Joshua B."
            " and Gan, Chuang",
            "Learning Task Decomposition with Ordered Memory Policy Network",
            2021,
            _ICLR,
        ),
    ),
    "compile": (
        _paper(
            "kipf-etal-2019-compile",
            "Kipf, Thomas and Li, Yujia and Dai, Hanjun and Zambaldi, Vinicius and Sanchez-Gonzalez, Alvaro"
            " and Grefenstette, Edward and Kohli, Pushmeet and Battaglia, Peter",
            "CompILE: Compositional Imitation Learning and Execution",
            2019,
            "International Conference on Machine Learning (ICML)",
            "3418--3428",
        ),
    ),
    "udgn": (
        _paper(
            "shen-etal-2022-udgn",
            "Shen, Yikang and Tan, Shawn and Sordoni, Alessandro and Li, Peng and Zhou, Jie and Courville, Aaron",
            "Unsupervised Dependency Graph Network",
            2022,
            _ACL,
            "4767--4784",
        ),
    ),
    "lstm": (
        _paper(
            "merity-etal-2018",
            "Merity, Stephen and Keskar, Nitish Shirish and Socher, Richard",
            "Regularizing and Optimizing LSTM Language Models",
            2018,
            _ICLR,
        ),
    ),
    "transformer": (
        _paper(
            "vaswani-etal-2017",
            "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion"
            " and Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia",
            "Attention is All You Need",
            2017,
            "Advances in Neural Information Processing Systems (NeurIPS)",
        ),
    ),
    "chart": (
        _paper(
            "stern-etal-2017-minimal",
            "Stern, Mitchell and Andreas, Jacob and Klein, Dan",
            "A Minimal Span-Based Neural Constituency Parser",
            2017,
            _ACL,
            "818--827",
        ),
    ),
    "biaffine": (
        _paper(
            "dozat-manning-2017-biaffine",
            "Dozat, Timothy and Manning, Christopher D.",
            "Deep Biaffine Attention for Neural Dependency Parsing",
            2017,
            _ICLR,
        ),
    ),
    "dmv": (_DMV,),
    "dmv-ccm": (_DMV, _CCM),
}
PENN = Reference(
    "marcus-etal-1993",
    "article",
    "Marcus, Mitchell P. and Santorini, Beatrice and Marcinkiewicz, Mary Ann",
    "Building a Large Annotated Corpus of English: The Penn Treebank",
    1993,
    (("journal", "Computational Linguistics"), ("volume", "19"), ("number", "2"), ("pages", "313--330")),
)
#: convention -> whose way of counting it is
CONVENTIONS: dict[str, Reference] = {
    "on-lstm": _ONLSTM,
    "km": _CCM,
    "km-prose": _CCM,
    "km-wsj10": _CCM,
    "kim-sentence": _PCFG,
    "kim-corpus": _PCFG,
    "udgn": MODELS["udgn"][0],
}
TOOL = Reference(
    "synparse",
    "software",
    "{The synparse developers}",
    "synparse: unsupervised parsing from the command line",
    2026,
    (("version", VERSION),),
)


def references(model: str = "", treebanks: Iterable[str] = (), conventions: Iterable[str] = ()) -> list[Reference]:
    """The tool, then what it used, each once. Names that nothing is known of are left out."""
    keys = [TOOL, *MODELS.get(model, ())]
    keys += [PENN for name in treebanks if name.startswith("wsj")]
    keys += [CONVENTIONS[name] for name in conventions if name in CONVENTIONS]
    return list(dict.fromkeys(keys))


def bibtex(entries: Iterable[Reference]) -> Iterator[str]:
    """Each entry as BibTeX."""
    return map(str, entries)
