"""`regex:PATTERN` reads what the command printed."""

import pytest

from fingerprint.metrics import regex
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.wanted import wanted


def read(output: str | bytes, text: str, cut: bool = False) -> Found:
    data = output.encode() if isinstance(output, str) else output
    return regex.read(data, wanted([text])[0], cut=cut)


LOG = "step 1: 82.5 tok/s\nwarming\nstep 2: 1,091.44 tok/s\r\x1b[32mstep 3: 80.65\x1b[0m tok/s\n"


def test_several_matches_are_a_series_in_order() -> None:
    metric = read(LOG, r"speed=regex:step \d+: ([\d.,]+) (?P<unit>\S+)").metrics[0]
    assert metric.samples == (82.5, 1091.44, 80.65)
    assert (metric.name, metric.unit, metric.better, metric.kind) == ("speed", "tok/s", "higher", "series")
    assert metric.source == r"output, /step \d+: ([\d.,]+) (?P<unit>\S+)/"


def test_one_match_is_one_sample() -> None:
    metric = read("total 3.5 s", "regex:total ([0-9.]+),unit=s").metrics[0]
    assert (metric.name, metric.samples, metric.kind, metric.unit) == ("output", (3.5,), "repeats", "s")


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"\d+(?= ms)", 12.0),
        (r"(\d+) ms", 12.0),
        (r"(?P<name>\w+): (\d+)", 12.0),
        (r"(a|t): (?P<value>\d+) (?P<unit>ms)", 12.0),
    ],
)
def test_the_value_is_the_group_of_that_name_or_the_only_other_group_or_the_match(pattern: str, value: float) -> None:
    assert read("t: 12 ms", f"regex:{pattern}").metrics[0].samples == (value,)


def test_names_from_the_output_are_metrics_of_their_own() -> None:
    found = read("mean_ttft_ms: 3\ntok_s: 80\nmean_ttft_ms: 4\n", r"regex:^(?P<name>\w+): (?P<value>\S+)")
    assert {it.name: (it.samples, it.unit, it.better) for it in found.metrics} == {
        "mean_ttft_ms": ((3.0, 4.0), "ms", "lower"),
        "tok_s": ((80.0,), "tok/s", "higher"),
    }


def test_a_maximum_is_marked() -> None:
    assert read("peak_tok_s: 91.44", r"regex:(?P<name>\w+): (\S+)").metrics[0].peak


def test_nothing_found_says_so() -> None:
    with pytest.raises(NothingRead, match=r"no line of the command's output matches /x=\(\\d\+\)/; try it on a line"):
        read("y=3", r"regex:x=(\d+)")
    with pytest.raises(NothingRead, match="it printed nothing"):
        read("", r"regex:x=(\d+)")


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("x=nan", "'output' in the line 'x=nan' is nan"),
        ("x=inf", "is inf"),
        ("x=1e999", "is inf"),
        ("x=fast", "is the text 'fast', not a number"),
        ("x=1_000", "is the text '1_000', not a number"),
        ("x=-3", "is -3 ms, and no such quantity is below 0"),
    ],
)
def test_what_is_no_measurement_is_refused_with_its_line(output: str, says: str) -> None:
    with pytest.raises(NothingRead, match=says):
        read(output, r"regex:x=(\S+),unit=ms")


def test_two_units_of_one_metric_are_refused() -> None:
    with pytest.raises(NothingRead, match="'t' is printed in ms and in s"):
        read("3 ms\n4 s\n", r"t=regex:(\d) (?P<unit>\w+)")


def test_of_a_cut_output_the_half_line_is_not_read_and_it_is_told() -> None:
    found = read("91 ms\n2 ms\n", r"t=regex:(\d+) ms", cut=True)
    assert found.metrics[0].samples == (2.0,)
    assert "only the last" in found.remarks[0]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert read(b"\xff\xfe t=3\n", r"regex:t=(\d)").metrics[0].samples == (3.0,)


def test_a_pattern_that_would_search_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "SECONDS", 0.2)
    with pytest.raises(NothingRead, match="did not end within 0.2 s; make it simpler"):
        read("x" * 40, "regex:(?:x+x+)+y")
