"""Tables of results: formatted cells and unrounded records."""

from __future__ import annotations

from treebank.base.tables import Column, Table

TABLE = Table(
    "Scores",
    [Column("System"), Column("UF1", ".1f"), Column("95 % int.", ".1f"), Column("Diff.", "+.1f"), Column("Sent.")],
    [["left", 9.04, (8, 10.25), 0.5, 1200], ["mean", None, None, None, 7]],
)


def test_records_keep_full_numbers_and_split_intervals() -> None:
    first, second = TABLE.records()
    assert first == {
        "System": "left",
        "UF1": 9.04,
        "95 % int. low": 8,
        "95 % int. high": 10.25,
        "Diff.": 0.5,
        "Sent.": 1200,
    }
    assert second["95 % int. low"] is None
    assert list(first) == list(second)


def test_columns_without_a_value_are_left_out() -> None:
    columns = [Column("words"), Column("confidence"), Column("share")]
    table = Table("", columns, [["a", None, 0.5], ["b", None, None]], best=frozenset({(0, 2)}))
    assert table.without_empty_columns().header() == ["words", "share"]
    assert table.without_empty_columns().rows == [["a", 0.5], ["b", None]]
    assert table.without_empty_columns().best == {(0, 1)}
    assert table._replace(rows=[], best=frozenset()).without_empty_columns().header() == table.header()
