"""Whatever a file holds, it is read in time, without a traceback, and never as another value."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fingerprint.imports.dump import Told
from fingerprint.imports.files import plain
from fingerprint.imports.recognised import read
from fingerprint.sections import leaves
from probes.kit.facts import Gap
from probes.kit.redact import Redactor
from tests.imports import texts

REDACTOR = Redactor(b"of the tests")
NOISE = ("[HAMI-core Msg(1:2:main.c:3)]: Initializing.....\n", "\n", "    warning : disk is full\n")
COUNTED = {
    "link_count",
    "active",
    "cores",
    "threads",
    "online",
    "xids",
    "sxids",
    "aer_errors",
    "driver_loads",
    "oom_kill",
}
"""Facts that are sums over lines."""


def values(told: Told) -> Iterator[tuple[str, Any]]:
    for key, section in told.sections.items():
        for leaf in leaves(section):
            if not isinstance(leaf.value, (Gap, frozenset)) and leaf.fact.kind != "counter":
                yield str(key.path(leaf.names)), leaf.value


def told(text: str) -> Mapping[str, Any]:
    """What stands, of all dumps of a text: where several tell one fact, all that they say."""
    found: dict[str, set[str]] = {}
    for one in read(plain(text), REDACTOR):
        for path, value in values(one.told) if one.told else ():
            found.setdefault(path, set()).add(repr(value))
    return found


def unlike(whole: Mapping[str, Any], part: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What the part tells that the whole does not."""
    return [
        (path, said)
        for path, said in part.items()
        if not said <= whole.get(path, set()) and path.rpartition("/")[2] not in COUNTED
    ]


@pytest.mark.parametrize("name", texts.ALL)
def test_a_text_that_ends_at_any_line_tells_nothing_else(name: str) -> None:
    lines = texts.ALL[name].splitlines(keepends=True)
    whole = told(texts.ALL[name])
    for end in range(len(lines)):
        assert unlike(whole, told("".join(lines[:end]))) == [], f"at line {end}"


@pytest.mark.parametrize("name", texts.ALL)
def test_a_text_that_ends_within_a_line_tells_nothing_else(name: str) -> None:
    check_cut(name, 61)


@pytest.mark.parametrize("name", texts.ALL)
@pytest.mark.long
def test_a_text_that_ends_anywhere_tells_nothing_else(name: str) -> None:
    check_cut(name, 1)


def check_cut(name: str, step: int) -> None:
    text = texts.ALL[name]
    whole = told(text)
    for end in range(0, len(text), step):
        assert unlike(whole, told(text[:end])) == [], f"after {text[:end][-20:]!r}"


@pytest.mark.parametrize("name", texts.ALL)
@pytest.mark.long
def test_a_line_of_something_else_anywhere_changes_no_value(name: str) -> None:
    for noise in NOISE:
        check_with(noise, name, 1)


@pytest.mark.parametrize("name", texts.ALL)
def test_a_line_of_something_else_changes_no_value(name: str) -> None:
    check_with(NOISE[0], name, 9)


def check_with(noise: str, name: str, step: int) -> None:
    lines = texts.ALL[name].splitlines(keepends=True)
    whole = told(texts.ALL[name])
    for at in range(0, len(lines), step):
        assert unlike(whole, told("".join((*lines[:at], noise, *lines[at:])))) == [], f"{noise!r} at line {at}"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_garbage_raises_nothing(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(list(texts.ALL.values())))
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    garbage = data.draw(st.text(max_size=30))
    told(text[:at] + garbage + text[at + length :])


LONG = 50_000


@pytest.mark.parametrize(
    "text",
    [
        "\n" * LONG,
        " " * LONG,
        "=" * LONG,
        "GPU0" + "a_b" * LONG + "!",
        "GPU0\t" + "GPU1" * LONG,
        "index, " * LONG,
        "node 0 cpus:" + " " * LONG + "x",
        "available: 1 nodes (0)\nnode 0 cpus:" + " 0" * LONG,
        "GPU 0: " + "x " * LONG,
        "PyTorch version: 1\n" + "[conda] a 1" + " " * LONG + "\n",
        "PyTorch version: 1\n" + "GPU 0: " + " x" * LONG + "\n",
        "| NVIDIA-SMI 1 \n|   0  " + "x " * LONG,
        "==============NVSMI LOG==============\n" + "GPU 00000000:53:00.0\n" + "    a" * LONG + " : b\n",
        "==============NVSMI LOG==============\n" + "GPU 00000000:53:00.0\n" + "    a\n" * (LONG // 4),
        "[    0.1] NVRM: Xid (PCI:0000:53:00): 79, " + "x" * LONG + "\n",
        "NVRM: Xid (PCI:0000:53:00): 79, x\n" * (LONG // 40),
        "Architecture: x86_64\nCPU(s): 1\nOn-line CPU(s) list: 0-" + "9" * 30 + "\n",
        "\x1b]" * LONG,
        '{"lscpu": ' + "[" * LONG,
        '<system version="1">' + "<a>" * LONG + "</system>",
        "<nvidia_smi_log>" * (LONG // 20),
        "Linux version 6 (" + "#1" * LONG,
        "Linux a 6.8 " + "#1 " * LONG,
    ],
    ids=range(23),
)  # fmt: skip
def test_a_text_of_nothing_but_length_is_read_in_time(text: str) -> None:
    began = time.process_time()
    told(text)
    assert time.process_time() - began < 5
