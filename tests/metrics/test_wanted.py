"""`--metrics` is understood before the command starts, or refused in one sentence."""

import pytest

from fingerprint.metrics.wanted import Wanted, wanted
from fingerprint.trouble import Trouble


def one(text: str) -> Wanted:
    return wanted([text])[0]


@pytest.mark.parametrize(
    ("text", "reader", "file", "name"),
    [
        ("auto", "auto", "", ""),
        ("auto:a.json", "auto", "a.json", ""),
        ("pyperf:a=b:c.json", "pyperf", "a=b:c.json", ""),
        ("json:a.json#x.y", "json", "a.json", "x.y"),
        ("json:a.json#runs[*].t", "json", "a.json", "runs.t"),
        ("json:a.json", "json", "a.json", "value"),
        ("json:a.json#wall_time", "json", "a.json", "json.wall_time"),
        ("speed=json:a.json#x", "json", "a.json", "speed"),
        (r"regex:a=(\d+)", "regex", "", "output"),
        ("mean ttft=regex:x", "regex", "", "mean ttft"),
    ],
)
def test_readers(text: str, reader: str, file: str, name: str) -> None:
    told = one(text)
    assert (told.reader, told.file, told.name) == (reader, file, name)


def test_options_stand_at_the_end_and_other_commas_belong_to_the_argument() -> None:
    told = one("json:a,b.json#x,y,unit=tok/s,better=higher,kind=series,peak")
    assert (told.file, str(told.path)) == ("a,b.json", "x,y")
    assert (told.unit, told.better, told.kind, told.peak) == ("tok/s", "higher", "series", True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no such reader; there are auto, json, regex, pyperf"),
        ("results.json", "no such reader"),
        ("vllm:x.json", "no such reader"),
        ("json:", "the file is missing"),
        ("json:#x", "the file is missing"),
        ("regex:", "the pattern is missing"),
        ("pyperf", "the file is missing"),
        ("regex:(", "no regular expression"),
        (r"regex:(a|b) (\d)", "which of the 2 groups is the value"),
        ("json:a#b..c", "'b..c' is no path"),
        ("json:a#b,better=faster", "better is one of lower, higher, unknown, not faster"),
        ("json:a#b,kind=summary", "kind is one of repeats, series, not summary"),
        ("hyperfine:a,unit=s", "hyperfine files tell unit themselves"),
        ("wall_time=json:a#b", "'wall_time' is measured in each run by fingerprint itself"),
        ("a\tb=json:a#b", "is no name for a metric"),
    ],
)
def test_what_cannot_be_done_is_refused(text: str, says: str) -> None:
    with pytest.raises(Trouble) as caught:
        wanted([text])
    assert says in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_two_that_give_the_same_name_are_refused_and_the_same_twice_is_one() -> None:
    assert len(wanted(["json:a#x", "json:a#x"])) == 1
    with pytest.raises(Trouble, match="both give 'x'; put NAME= before one"):
        wanted(["json:a#x", "json:b#x"])
