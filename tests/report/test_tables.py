"""Rows of a list, for eyes and for pipes."""

from fingerprint.report.tables import table

HEADER = ("name", "host", "command")
ROWS = (("run-A", "h1", "python serve.py " + "--flag " * 20), ("run-B#2", "h2", "\x1b[31mred\n"))


def test_in_a_pipe_each_row_is_one_line() -> None:
    lines = table(HEADER, ROWS).splitlines()
    assert lines[0].split() == list(HEADER)
    assert lines[1].startswith("run-A    h1    python serve.py --flag")
    assert len(lines) == 3


def test_on_a_terminal_rows_are_wrapped_into_the_width() -> None:
    lines = table(HEADER, ROWS, width=60).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60


def test_what_a_terminal_acts_on_is_escaped() -> None:
    assert "\\x1b[31mred\\n" in table(HEADER, ROWS)


def test_without_rows_the_header_stands_alone() -> None:
    assert table(HEADER, ()) == "name  host  command\n"
