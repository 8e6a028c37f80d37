"""Settings, sizes and word endings of the distilled parsers, which are needed before torch loads.

See `induce.models.distilled.array_student`.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from induce.setting import count, dropout_rate, limited, setting

ENDINGS = (1, 2, 3)  # lengths in letters
BUCKETS = 4096  # for the endings of one length, some of which share a bucket


def buckets(word: str) -> list[int]:
    """Bucket of the ending of each length of ``word``, whose case does not matter."""
    lower = word.lower()
    return [crc32(lower[-count:].encode("utf-8", "replace")) % BUCKETS for count in ENDINGS]


MAX_WIDTH = 40  # of spans with their own weight in the chart parser, in words; wider spans share one
LONGEST = 3_000  # words of a sentence that is decoded by the chart parser in some ten seconds
MAX_DISTANCE = 10  # of a head in words; larger distances share one weight
MAX_HEADS = 2_000  # words of a sentence whose heads are decoded in some seconds


@dataclass(frozen=True, kw_only=True)
class StudentConfig:
    """Sizes and rates of the reader, with defaults for training on a CPU."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = count(128, "units of one direction of the LSTM")
    layers: int = limited(1, 1, 1000, "layers of the network")
    endings: bool = setting(True, help="whether words are also known by their last letters")
    dropout: float = dropout_rate(0.3, "dropout inside the layers")
    unknown_rate: float = limited(0.2, 0, 0.99, "share of the words that are unknown in training")


@dataclass(frozen=True, kw_only=True)
class ChartConfig(StudentConfig):
    """Sizes and rates of the chart parser."""

    span_size: int = count(100, "units of the vectors of a gap as start and as end of a span")


@dataclass(frozen=True, kw_only=True)
class BiaffineConfig(StudentConfig):
    """Sizes and rates, with defaults for training on a CPU with about 10,000 sentences."""

    hidden_size: int = count(100, "units of one direction of the LSTM")
    arc_size: int = count(100, "units of the vectors of a word as head and as dependent")
    unknown_rate: float = limited(0.3, 0, 0.99, "share of the words that are unknown in training")
