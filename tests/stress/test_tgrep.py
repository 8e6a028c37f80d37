"""Generated patterns have the same matches as in nltk.tgrep, which needs pyparsing."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.tgrep import MANUAL, nltk_nodes, nltk_tree, our_nodes, random_pattern, random_tree

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("seed", range(10))
def test_matches_are_those_of_nltk(seed: int) -> None:
    pytest.importorskip("pyparsing")
    random = Random(seed)
    trees = [random_tree(random, random.randrange(1, 10)) for _ in range(60)]
    converted = list(map(nltk_tree, trees))
    for pattern in [*MANUAL, *(random_pattern(random, depth=3) for _ in range(400))]:
        assert our_nodes(pattern, trees) == nltk_nodes(pattern, converted), pattern
