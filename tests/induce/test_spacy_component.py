"""The component of spaCy pipelines, with the real package."""

from __future__ import annotations

import pytest

spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install spacy")

from induce.spacy_component import create_component  # noqa: E402

TEXTS = ["the teacher saw the old man . she left .", "he sleeps ."]


def pipeline(model: str):
    """A pipeline that splits sentences after full stops and parses them."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("synparse", config={"model": model})
    return nlp


def test_phrases_are_spans_with_confidences() -> None:
    first, second = pipeline("english").pipe(TEXTS)
    phrases = [span.text for span in first.spans["synparse"]]
    assert "the old man" in phrases
    assert "she left ." in phrases
    assert len(first.spans["synparse"].attrs["confidence"]) == len(phrases)
    assert second.spans["synparse"][0].text == "he sleeps ."


def test_heads_are_set_within_sentences() -> None:
    doc = pipeline("english-heads")(TEXTS[0])
    assert [token.text for token in doc if token.dep_ == "ROOT"] != []
    assert all(token.head.sent == token.sent for token in doc)
    assert doc[0].head.text == "teacher"


@pytest.mark.parametrize("text", ["The teacher  saw\nthe old man.\n\nShe left. ", "", "  "])
def test_white_space_is_not_parsed(text: str) -> None:
    doc = pipeline("english")(text)
    phrases = [span.text for span in doc.spans["synparse"]]
    assert phrases[:1] == (["The teacher  saw\nthe old man."] if text.strip() else [])
    assert ("the old man" in phrases) == bool(text.strip())
    doc = pipeline("english-heads")(text)
    spaces = [token.i for token in doc if token.is_space and not token.is_sent_start]
    assert [doc[i].head.i for i in spaces] == [i - 1 for i in spaces]


def test_entry_point_names_the_factory() -> None:
    from importlib.metadata import entry_points

    points = [point for point in entry_points(group="spacy_factories") if point.name == "synparse"]
    assert [point.load() for point in points] == [create_component]
