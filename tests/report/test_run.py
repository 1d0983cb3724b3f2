"""What a run saw, for a person."""

from typing import Any

import pytest

from fingerprint.findings import Finding
from fingerprint.report.phrases import measured
from fingerprint.report.run import render
from fingerprint.runs.document import document
from fingerprint.runs.effective import effective
from fingerprint.runs.record import Distribution, Growth, Held, Sample, Sampled, Snapped, Uncounted
from fingerprint.runs.record import Process as ProcessRecord
from fingerprint.snapshot import reading_of
from probes.kit.facts import Gap, Map
from probes.process import Process
from tests.diff.made_up import Card, Rack, rack, snapshot
from tests.runs.recorded import closed, run


def shown(sample: Sample, name: str) -> str:
    """The words beside a fact of a card."""
    path = f"rack/x/{name}"
    folded = run(Sampled(at=1, ticks=9, missed=0, facts={path: sample}), closed())
    published: dict[str, Any] = document(folded, "closed", effective(folded, {}), {"rack": Rack})
    [line] = [line for line in render(published, facts="rack/**", width=120).splitlines() if path in line]
    return line.replace(path, "").strip()


@pytest.mark.parametrize(
    ("sample", "name", "words"),
    [
        (Growth(3, 8, 5, 8.0), "errors", "grew by 5 in 8 s"),
        (Distribution(38, 1.0, (1, 2, 3, 4, 5, 6, 7)), "busy", "median 4, 1 to 7, 38 samples"),
        (
            Distribution(38, 1.0, (210, 0, 0, 1980, 0, 0, 1990), left_out=3), "clock",
            "median 1980 MHz, 210 to 1990 MHz, 38 samples, 3 left out: not gpu busy",
        ),
        (Uncounted(41), "clock", "0 samples, 41 left out: not gpu busy"),
        (Held(((16, 41),)), "width", "16 in 41 of 41 samples"),
        (
            Held(((16, 38), (8, 2)), others=1, left_out=4), "width",
            "16 in 38 of 41 samples, 8 in 2, 4 left out: not gpu busy",
        ),
        (Held(((["power", "thermal"], 9), ([], 1))), "reasons", "[power, thermal] in 9 of 10 samples, [] in 1"),
    ],
)  # fmt: skip
def test_what_samples_say_in_words(sample: Sample, name: str, words: str) -> None:
    assert shown(sample, name) == words


def test_a_fact_is_one_line_however_long_and_a_gap_says_why() -> None:
    long = "x" * 90
    gone = Process(activation=Map({long: "y"}), cwd=Gap("denied", "not for you"))
    folded = run(ProcessRecord(at=1, area="process", target="main", reading=reading_of(gone)), closed())
    published = document(folded, "closed", effective(folded, {}), {"process": Process})
    lines = [line.split() for line in render(published, facts="process/main/*/**", width=80).splitlines()]
    assert [f"process/main/activation/{long}", "y"] in lines
    last = render(published, facts="process/main/cwd", width=80).splitlines()[-1]
    assert last.split(maxsplit=1) == ["process/main/cwd", "(denied: not for you)"]


def test_a_device_that_went_while_it_ran_is_told_without_all_that_it_was() -> None:
    moments = {"before": rack(x=Card(uuid="1"), y=Card(uuid="2")), "after": rack(x=Card(uuid="1"))}
    taken = {name: snapshot({"rack": cards}, id_=name) for name, cards in moments.items()}
    folded = run(*(Snapped(at=1, moment=name, snapshot=name) for name in moments), closed())  # type: ignore[arg-type]
    published = document(folded, "closed", effective(folded, taken), {"rack": Rack})
    assert "  rack/y  seen -> (absent)" in render(published).splitlines()


def test_what_is_odd_by_itself_is_told_with_what_to_do() -> None:
    finding = Finding(
        rule="variable-unlike-other-ranks", about="NCCL_PROTO", facts=("process/sglang-30000.tp5/env/NCCL_PROTO",),
        values={"sglang-30000.tp5": "LL"}, says="NCCL_PROTO is LL on tp5.", do="Set NCCL_PROTO once.",
    )  # fmt: skip
    folded = run(closed())
    published = document(folded, "closed", effective(folded, {}), {}, [finding] * 10)
    lines = render(published, width=120).splitlines()
    at = lines.index("Found in this run alone  odd by itself, whatever another run shows")
    assert lines[at + 1 : at + 3] == ["  NCCL_PROTO  NCCL_PROTO is LL on tp5.", "              Set NCCL_PROTO once."]
    assert "  and 2 more, all in --format json" in lines
    assert list(published["findings"][0]["facts"]) == ["process/sglang-30000.tp5/env/NCCL_PROTO"]
    assert "Found in this run alone" not in render(document(folded, "closed", effective(folded, {}), {}))


def test_what_a_client_sums_up_is_told_by_its_middle_and_its_tail() -> None:
    told = {"samples": [], "gap": "", "unit": "ms"}
    summary = {"count": 8, "mean": 40.5, "median": 39.96, "quantiles": {"99": 49.16}}
    assert measured({**told, "summary": summary}) == "39.96 ms (median of 8, p99 49.16 ms)"
    assert measured({**told, "summary": {"mean": 40.5}}) == "40.5 ms (mean)"
