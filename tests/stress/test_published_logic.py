"""The 211,702 published training pairs of logical inference, with all relations compared."""

from __future__ import annotations

from collections import Counter

import pytest

from induce.tasks import logic
from tests.support.reference import SHARED

TRAINING = SHARED / "data" / "proplog" / "train.zip"


@pytest.mark.skipif(not TRAINING.is_file(), reason=f"needs the published files in {TRAINING}")
def test_published_training_files_of_logic_are_read() -> None:
    """The numbers are those of the original files and of table 4."""
    sizes: Counter[int] = Counter()
    counts: Counter[str] = Counter()
    for example in logic.Logic().read_all([str(TRAINING)]):
        sizes[min(example.size, 12)] += 1
        if example.size <= 6:
            text = str(example)
            counts.update(name for name, pattern in logic.PARTITIONS.items() if not pattern.search(text))
    expected = [30, 2319, 12451, 23252, 30373, 34152, 32952, 26671, 18962, 12634, 8181, 4894, 4831]
    assert [sizes[size] for size in range(13)] == expected
    assert counts == {"full": 135_529, "A": 128_969, "B": 87_948, "C": 51_896}
