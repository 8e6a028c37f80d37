"""A free English text, on which the models of minimal pairs, sentence similarity and channels are trained.

The text is the sample of Brown, the training part of EWT and the validation part of WikiText-2, cut into sentences and
words by the rule ``english``: 34,817 sentences, 697,613 tokens.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treebank.base.files import write_whole
from treebank.io.read import InputOptions, read_sentences

TEXTS = ("raw/brown_sample.txt", "raw/en_ewt_train.txt", "raw/wikitext2/valid.txt")
RARE = "UNKNOWNWORD"  # replaces <unk> of WikiText during tokenization


def sentences(data: Path) -> Iterator[str]:
    """Tokenized sentences of the text, without headings of WikiText. Its ``@-@`` becomes a hyphen."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "text.txt")
        for name in TEXTS:
            lines = re.sub(" @([-.,])@ ", r"\1", (data / name).read_text(encoding="utf-8")).split("\n")
            plain_lines = (line.replace("<unk>", RARE) for line in lines if not line.strip().startswith("= "))
            plain.write_text("\n".join(plain_lines), encoding="utf-8")
            for sentence in read_sentences([plain], input_options=InputOptions(tokenize="english")):
                if sentence.words:
                    yield " ".join(sentence.words).replace(RARE, "<unk>")


def free_text(data: Path, folder: Path) -> Path:
    """Path of the text in ``folder``, which is written if it does not exist."""
    path = folder / "text.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(f"{line}\n" for line in sentences(data)).encode())
    return path
