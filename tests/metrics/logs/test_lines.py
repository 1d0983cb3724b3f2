"""A log is read in constant memory, whatever stands in it."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from fingerprint.metrics import source as sources
from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import LOGS, recognise, sglang, table
from fingerprint.metrics.logs.lines import LONGEST, Line, mark, marked
from fingerprint.metrics.logs.table import size_class
from fingerprint.metrics.source import load
from tests.metrics.logs.texts import ACCESS, decode, metrics, samples, sglang_log, source, written

A, B = mark(b"a"), mark(b"b")


def line(text: str) -> Line:
    [(found, _)] = marked(source(text), (mark(text.encode()[:3]),))
    return Line(found)


def test_lines_come_in_their_order_once_each() -> None:
    lines = ["a then b", "nothing", "b then a", "a", "b and b"]
    found = [(it.re, Line(it).text.decode()) for it, _ in marked(source(*lines), (B, A))]
    assert found == [(A.pattern, lines[0]), (B.pattern, lines[2]), (A.pattern, lines[3]), (B.pattern, lines[4])]


def test_lines_that_the_run_did_not_write_whole_are_not_its_own() -> None:
    lines = ["a 1", "a 2", "a 3"]
    for begin, own in ((0, [True, True, True]), (4, [False, True, True]), (6, [False, False, True])):
        assert [counts for _, counts in marked(source(*lines, begin=begin), (A,))] == own


def test_a_last_line_without_an_end_is_none_for_it_may_be_cut_within_a_number() -> None:
    log = (
        "".join(f"{line}\n" for line in sglang_log([90.0, 91.0], [2.0, 2.0])) + decode(123.45, 2.0).partition(".45")[0]
    )
    assert samples(sglang.read(sources.Source("log", log.encode())), "gen_throughput") == (90.0, 91.0)


def test_what_is_read_of_a_line_ends_with_it() -> None:
    [first, _] = [Line(found) for found, _ in marked(source("of: 1, key", "key: 2, of: 3"), (mark(b"key"),))]
    assert (first.before, first.number(b"key: "), first.number(b"of: "), first.has(b"of")) == (
        b"of: 1, ",
        None,
        None,
        False,
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5 %", 5),
        ("1e3, next: 2", 1000),
        ("12.5ms, next: 2", 12.5),
        ("1,234.5, next: 2", 1234.5),
        ("1,234,567", 1234567),
    ],
)
def test_a_number_ends_where_its_thousands_do(text: str, number: float) -> None:
    assert line(f"key: {text}").number(b"key: ") == number


@pytest.mark.parametrize("text", ["12,34", "1.234,5", "1234,567", "1,234.5.6", "nan", "inf", "-3", "N/A", ""])
def test_what_is_no_number_is_none_and_never_its_beginning(text: str) -> None:
    assert line(f"key: {text}").number(b"key: ") is None


def test_a_line_that_spans_chunks_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST", 1000)
    lines = [f"{number} mark {'x' * 60_000}" for number in range(50)]
    found = list(marked(load(str(written(tmp_path / "log", lines))), (mark(b"mark"),)))
    assert [Line(it).text.decode() for it, _ in found] == lines


def test_a_line_without_an_end_is_bounded() -> None:
    text = b"x" * (3 * LONGEST) + b" mark"
    assert all(len(Line(it).text) <= LONGEST * 2 for it, _ in marked(sources.Source("log", text), (mark(b"mark"),)))


def test_a_log_beyond_the_limit_of_a_document_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST", 1000)
    path = str(written(tmp_path / "log", sglang_log([90.0 + turn for turn in range(50)], [2.0] * 50)))
    assert samples(sglang.read(load(path)), "gen_throughput")[-1] == 139.0
    with pytest.raises(NothingRead, match="more than the 0 MiB"):
        _ = load(path).data


@pytest.mark.parametrize("largest", [10, sources.LARGEST], ids=["streamed", "held"])
def test_a_packed_log_may_be_of_several_members_and_is_refused_where_it_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    lines = [f"{line}\n".encode() for line in sglang_log([90.0, 91.0], [2.0, 2.0])]
    packed = b"".join(map(gzip.compress, lines))
    monkeypatch.setattr(sources, "LARGEST", largest)
    (tmp_path / "log.gz").write_bytes(packed + bytes(512))
    assert samples(sglang.read(load(str(tmp_path / "log.gz"))), "gen_throughput") == (90.0, 91.0)
    (tmp_path / "log.gz").write_bytes(packed[:-12])
    with pytest.raises(NothingRead, match=r"log\.gz cannot be unpacked: it is cut off"):
        sglang.read(load(str(tmp_path / "log.gz")))


def test_of_many_lines_a_bounded_number_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LIMIT", 500)
    text = "".join(f"{decode(speed)}\n" for speed in range(100, 201)).encode() * 100
    tracemalloc.start()
    found = sglang.read(sources.Source("log", text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    told = metrics(found)["gen_throughput"]
    assert told.typical == pytest.approx(150, abs=2)
    assert len(told.samples) <= 500
    assert peak < 8e6
    assert found.remarks == (
        (
            "log: 10099 of 10100 decode lines count, those of a time in which 1 request ran throughout; one in 32 of "
            "them is kept"
        ),
    )


@pytest.mark.parametrize(
    ("requests", "streams"), [(0, 0), (1, 1), (3, 3), (5, 6), (7, 8), (13, 16), (129, 192), (10**9, 2**25)]
)
def test_about_as_many_requests_are_one_class(requests: int, streams: int) -> None:
    assert size_class(requests) == streams


def test_text_that_is_no_log_is_none() -> None:
    for text in (
        "",
        "Traceback (most recent call last):",
        ACCESS,
        "sglang: 0.4.7\nvllm: 0.9.0",
        "prompt throughput 5 tok/s",
    ):
        assert recognise(text) is None


def test_each_reader_has_its_name() -> None:
    from fingerprint.metrics.logs import _formats

    assert sorted(it.CLIENT for it in _formats()) == sorted(LOGS)
