"""Settings of models that do not fit together are refused."""

from __future__ import annotations

import re

import pytest

from induce.models.base import make_model
from tests.support.tiny import settings
from treebank.base.errors import SynparseError


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("onlstm", "hidden_size=25", "hidden_size = 25 is not a multiple of chunk_size = 4"),
        ("onlstm-syd", "supervised_layer=4", "supervised_layer = 4: the model has 2 layers"),
        ("lstm", "softmax_dropout=0.2", "'model.softmax_dropout=0.2' has no effect in this run"),
        ("lstm", "output_size=12", "output_size = 12 needs tied_embeddings = false"),
        ("prpn", "hidden_size=7", "hidden_size = 7 must be even"),
        ("prpn", "resolution=0", "resolution = 0.0 must be above 0"),
        ("prpn", "reading_attention=false predict_attention=false", "set parsing_network = false, too"),
        ("prpn", "separate_guess=true parsing_network=false", "separate_guess = true has no effect"),
        ("ordered-memory", "slots=1", "model.slots = 1 must lie between 2 and 1000"),
        ("ordered-memory", "slots=1001", "model.slots = 1001 must lie between 2 and 1000"),
        ("structformer", "heads=3", "embedding_size = 16 is not a multiple of heads = 3"),
        ("structformer", "width=4", "width = 4 must be odd"),
        ("structformer", "mask_rate=1", "mask_rate = 1.0 must lie between 0 and 1"),
        ("structformer", "relations=parent+uncle", "'uncle' is not one of parent, child, sibling"),
        ("transformer", "heads=3", "embedding_size = 16 is not a multiple of heads = 3"),
        ("transformer", "mask_rate=1", "mask_rate = 1.0 must lie between 0 and 1"),
        ("udgn", "mask_rate=0", "mask_rate = 0.0 must lie between 0 and 1"),
        ("dmv", "classes_low=50", "model.classes_low must not be above model.classes_high"),
        ("dmv", "length_bias_low=9", "model.length_bias_low must not be above model.length_bias_high"),
        ("dmv", "classes_low=0", "model.classes_low and model.classes_high must both be 0, or neither"),
        ("dmv", "classes_low=0 classes_high=0", "model.classes_high=0 makes a class of each word, and here are 5,000"),
        ("dmv", "backoff=0", "model.extended=true needs model.backoff above 0"),
        ("ccm", "classes=0", "model.classes=0 makes a class of each word, and here are 5,000 (at most 1,000)"),
    ],
)
def test_settings_that_do_not_fit_are_refused(name: str, changes: str, problem: str) -> None:
    with pytest.raises(SynparseError, match=re.escape(problem)):
        make_model(settings(name, *(f"model.{change}" for change in changes.split())), 5_000)
