"""Pages of diffs and runs: whole, the same every time, and with nothing from outside that is more than text."""

from collections.abc import Sequence
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain.contract import Diff
from fingerprint.report.html import render, render_diff
from fingerprint.report.html.machine import Machine, machine, switches
from fingerprint.report.html.topology import topology
from fingerprint.report.markup import arrows, path, tag
from tests.report.cases import CASES, EVERYTHING, ONE_SUSPECT
from tests.report.hostile import HOSTILE, hostile_document, hostile_page

TAGS = frozenset(
    "html head meta title style body main header section article h1 h2 h3 p b small code pre wbr dl div dt dd details"
    " summary table caption thead tbody tr th td figure figcaption svg line circle path rect text g span ol li form"
    " label input output script".split()
)
VOID = frozenset({"meta", "input", "wbr"})


class Parsed(HTMLParser):
    """Elements, attributes and shown text of a page; every element is closed where its parent is."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "script" not in self._open and "style" not in self._open else ""


def page_of(diff: Diff) -> str:
    return render_diff(diff, hostile_document("a"), hostile_document("b"))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_an_element_or_an_attribute(text: str) -> None:
    hostile, benign = Parsed(hostile_page(text)), Parsed(hostile_page("benign"))
    assert hostile.tags == benign.tags <= TAGS
    assert hostile.attributes == benign.attributes
    assert not any(name.startswith("on") or name in ("style", "href", "src") for name in hostile.attributes)


@given(st.text(min_size=1))
def test_whatever_a_text_is_its_element_holds_it_alone(text: str) -> None:
    found = Parsed(tag("p", text, title=text))
    assert found.tags == {"p"}
    assert found.attributes == {"title"}
    assert Parsed(path(text)).tags == ({"code", "wbr"} if "/" in text else {"code"})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_page_says_all_that_the_contract_says_of_suspects_and_changes(case: Diff) -> None:
    text = Parsed(page_of(case)).text
    assert arrows(case.headline) in text
    for suspect in case.suspects:
        assert suspect.facts[0] in text
        assert (suspect.restore or "") in text
    assert all(change.fact in text for change in (*case.changes, *case.intended))
    assert all(metric.name in text for metric in case.metrics)
    assert all(fact in text for fact in case.ruled_out.absent)
    assert all(unknown.fact in text for unknown in case.not_known)
    assert all(arrows(step) in text for step in case.next)


def test_a_page_is_the_same_every_time_also_of_a_diff_loaded_from_its_json() -> None:
    loaded = msgspec.json.decode(msgspec.json.encode(EVERYTHING), type=Diff)
    assert page_of(loaded) == page_of(EVERYTHING)
    assert render(hostile_document("a")) == render(hostile_document("a"))


def test_a_run_alone_has_its_findings_and_troubles_in_it() -> None:
    text = Parsed(render({**hostile_document("a"), "troubles": ["the disk was full"]})).text
    assert "the disk was full" in text
    assert "Found in this run alone" in text
    assert "450 W" in text


def test_a_metric_that_one_side_has_not_measured_is_drawn_for_neither() -> None:
    text = Parsed(page_of(EVERYTHING)).text
    assert "(not measured)" in text
    assert "ttft in" not in text


def test_suspects_below_an_unassessed_metric_are_headed_so() -> None:
    assert "if the change is real" in Parsed(page_of(ONE_SUSPECT)).text


# The picture of the machine.


def built(*classes: str, numa: str = "0011", nvlink: bool = False) -> Machine:
    """Four GPUs 1 to 4; classes of the ways 1-2, 1-3, 1-4, 2-3, 2-4, 3-4."""
    pairs = dict(zip(("12", "13", "14", "23", "24", "34"), classes, strict=True))
    joined = "ok" if nvlink else "not_supported"
    gpus = {
        one: {
            "name": "H", "affinity": {"numa_node": int(numa[int(one) - 1])}, "nvlink": {"link_count": 18 * nvlink},
            "peers": {"$": "map", "items": {
                other: {"topology": pairs["".join(sorted((one, other)))], "p2p_nvlink": joined}
                for other in "1234" if other != one
            }},
        }
        for one in "1234"
    }  # fmt: skip
    return machine({"gpu": {"facts": {"$": "map", "items": gpus}}})


def test_gpus_are_drawn_by_socket_and_by_the_switch_that_they_meet_at() -> None:
    found = built("PIX", "SYS", "SYS", "SYS", "SYS", "PHB")
    sockets = [[gpu.address for gpu in socket] for socket in found.sockets]
    assert sockets == [["1", "2"], ["3", "4"]]
    assert [len(group) for socket in found.sockets for group in switches(socket)] == [2, 1, 1]


def test_where_no_way_is_known_the_numa_node_tells_the_socket() -> None:
    gpus = {name: {"name": "H", "affinity": {"numa_node": node}} for name, node in (("1", 0), ("2", 1), ("3", 0))}
    found = machine({"gpu": {"facts": {"$": "map", "items": gpus}}})
    assert [[gpu.address for gpu in socket] for socket in found.sockets] == [["1", "3"], ["2"]]


def test_a_gpu_that_was_lost_is_a_gap_and_no_box() -> None:
    lost = {"1": {"$": "gap", "code": "lost"}, "2": {"name": "H"}}
    found = machine({"gpu": {"facts": {"$": "map", "items": lost}}, "numa": {"facts": None}})
    assert [gpu.address for gpu in found.gpus] == ["2"]


def test_a_host_without_gpus_has_no_picture() -> None:
    assert topology({"gpu": {"facts": {"$": "gap", "code": "absent"}}}) is None
    assert topology({}, {}) is None
