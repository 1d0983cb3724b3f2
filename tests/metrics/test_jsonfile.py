"""`json:FILE#PATH` reads any JSON and lines of JSON."""

from typing import Any

import msgspec
import pytest

from fingerprint.metrics import Metric, jsonfile
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.source import LARGEST, Source
from fingerprint.metrics.values import KEPT
from fingerprint.metrics.wanted import wanted


def read(text: str | bytes, path: str, earlier: bytes = b"", name: str = "") -> Found:
    data = text.encode() if isinstance(text, str) else text
    return jsonfile.read(Source("r.json", data, earlier), wanted([f"{name}json:r.json#{path}"])[0])


def metric(document: Any, path: str, name: str = "") -> Metric:
    return read(msgspec.json.encode(document), path, name=name).metrics[0]


def test_a_number_is_one_sample() -> None:
    assert metric({"bench": {"mean_ttft_ms": 12}}, "bench.mean_ttft_ms") == Metric(
        "bench.mean_ttft_ms", "ms", "lower", (12.0,), "json, #bench.mean_ttft_ms", file="r.json"
    )


def test_a_list_of_numbers_is_a_series_in_order_unless_the_user_knows_better() -> None:
    assert metric({"tok_s": [3, 1.5, 2]}, "tok_s").kind == "series"
    told = metric({"tok_s": [3, 1.5, 2]}, "tok_s,kind=repeats")
    assert (told.samples, told.kind, told.unit, told.better) == ((3.0, 1.5, 2.0), "repeats", "tok/s", "higher")


def test_name_unit_and_direction_can_be_given() -> None:
    told = metric([{"x": 1}, {"x": 2}], "[*].x,unit=tok/s,better=higher,peak", name="speed=")
    assert (told.name, told.unit, told.better, told.peak, told.samples) == (
        "speed",
        "tok/s",
        "higher",
        True,
        (1.0, 2.0),
    )


def test_a_unit_beside_the_value_counts_before_its_name() -> None:
    told = metric({"latency_ms": {"unit": "µs", "avg": 3, "max": 9}}, "latency_ms.avg")
    assert (told.unit, told.better) == ("us", "lower")


def test_a_key_that_is_a_unit_tells_it_and_one_letter_tells_nothing() -> None:
    assert (metric({"step": {"ms": 12}}, "step.ms").unit, metric({"s": 12}, "s").unit) == ("ms", "")


def test_a_maximum_is_marked() -> None:
    assert metric({"tok_s": {"max": 91.44}}, "tok_s.max").peak
    assert metric({"peak_tok_s": 91.44}, "peak_tok_s").peak
    assert not metric({"mean": 80.65}, "mean").peak


def test_lines_of_json_are_a_series() -> None:
    told = read('{"t_ms": 3}\n\n{"t_ms": 4}\n', "t_ms").metrics[0]
    assert (told.samples, told.kind) == ((3.0, 4.0), "series")


def test_of_lines_that_were_added_to_a_file_the_added_ones_count() -> None:
    told = read('{"t_ms": 3}\n{"t_ms": 4}\n', "t_ms", b'{"t_ms": 3}\n').metrics[0]
    assert told.samples == (4.0,)


def test_a_file_that_was_written_anew_counts_whole() -> None:
    assert read('{"t_ms": 5}\n{"t_ms": 4}\n', "t_ms", b'{"t_ms": 3}\n').metrics[0].samples == (5.0, 4.0)


def test_lines_without_the_key_are_left_out_and_told() -> None:
    found = read('{"t_ms": 3}\n{"error": "timeout"}\n', "t_ms")
    assert found.metrics[0].samples == (3.0,)
    assert found.remarks == (
        "t_ms: 1 of 2 elements were left out, the first because r.json: line 2 has no 't_ms': it has 'error'",
    )


def test_infinity_elsewhere_in_the_file_does_no_harm() -> None:
    assert read('{"request_rate": Infinity, "t_ms": 3, "x": NaN}', "t_ms").metrics[0].samples == (3.0,)


def test_a_byte_order_mark_and_more_digits_than_a_machine_word_are_read() -> None:
    assert read(b'\xef\xbb\xbf{"n": 123456789012345678901234567890}', "n").metrics[0].samples == (
        1.2345678901234568e29,
    )


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ('{"t": NaN}', "t", "r.json#t is nan, which is not a measured value"),
        ('{"t": [1, -Infinity]}', "t", r"r.json#t\[1\] is -inf"),
        ('{"t": 1e999}', "t", "r.json#t is inf"),
        ('{"t": 1' + "0" * 400 + "}", "t", "r.json#t is larger than any measured value"),
        ('{"t_ms": -1}', "t_ms", "r.json#t_ms is -1 ms, and no such quantity is below 0"),
        ('{"t": "12"}', "t", "r.json#t is the text '12', not a number"),
        ('{"t": true}', "t", "r.json#t is true, not a number"),
        ('{"t": null}', "t", "r.json#t is null, not a number"),
        ('{"t": [[1]]}', "t", r"r.json#t\[0\] is a list, not a number"),
        ('{"t": []}', "t", "leads to empty lists, so nothing was measured"),
        ("[]", "[*].t", r"r.json has no element at #\[\*\].t; correct the path"),
        ('{"a": {"p50": 1}}', "a", "r.json#a is no number but an object, so the path goes on: it has 'p50'"),
        ('{"a": 1}', "b", "r.json has no 'b': it has 'a'; correct the path"),
        ("", "b", "r.json is empty"),
        ("{", "b", "r.json is no JSON: .*; its writer may not have finished"),
        ('{"a": 1}\n{"a": \n', "a", "r.json: line 2 is no JSON"),
        ("[" * 100_000, "[0]", "r.json is nested too deeply"),
        ('[NaN, "\\ud800"]', "[0]", "r.json holds text that is no Unicode"),
        ('{"t": [{"v": 1, "unit": "ms"}, {"v": 1, "unit": "s"}]}', "t[*].v", "its unit is ms and s in turn"),
    ],
)  # fmt: skip
def test_what_is_no_measurement_is_refused_by_name(text: str, path: str, says: str) -> None:
    with pytest.raises(NothingRead, match=says):
        read(text, path)


def test_what_cannot_be_below_zero_depends_on_the_unit() -> None:
    assert metric({"offset": -1}, "offset").samples == (-1.0,)


def test_of_very_many_values_medians_of_stretches_and_a_summary_are_kept() -> None:
    values = [float(index % 100) for index in range(20_000)]
    told = metric(values, "", name="x=")
    assert len(told.samples) <= KEPT
    assert told.batch == 5
    assert told.samples[:2] == (2.0, 7.0)
    assert told.summary is not None
    assert (told.summary.count, told.summary.mean, told.summary.max) == (20_000, 49.5, 99.0)
    assert told.summary.quantiles["95"] == pytest.approx(94.05, abs=0.1)


def test_the_largest_file_has_a_limit(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import zlib

    from fingerprint.metrics.source import load

    packed = zlib.compressobj(wbits=31)
    (tmp_path / "bomb.json.gz").write_bytes(packed.compress(bytes(LARGEST + 1)) + packed.flush())
    with pytest.raises(NothingRead, match="more than the 64 MiB"):
        _ = load(str(tmp_path / "bomb.json.gz")).data
