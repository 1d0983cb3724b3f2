"""What one run alone said: evidence of the suspect whose rule it shows, and told by itself where there is none."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff, Suspect
from fingerprint.explain.weights import SAID_CAUSE, SAID_RESOURCE
from fingerprint.runs.record import BOTH_STREAMS, OUTPUT, AnyRecord, Said
from fingerprint.runs.record import Process as Read
from fingerprint.said.heard import Heard
from fingerprint.snapshot import reading_of
from probes.container.sections import Container
from probes.kit.facts import Map
from probes.libraries.sections import Libraries, Package
from probes.process import Process
from tests.explain.subjects import subject
from tests.runs.recorded import closed, measured

NOFILE = "process/main/limits/nofile"


def said(*messages: str, lines: int = 1, source: str = BOTH_STREAMS) -> Said:
    return Said(at=1, source=source, messages={message: Heard(lines, 7) for message in messages})


def shm(size: int) -> Read:
    return Read(at=1, area="container", target="main", reading=reading_of(Container(shm_size=size)))


def side(name: str, files: int, status: int, *texts: AnyRecord, **more: Any) -> Subject:
    program = Process(limits=Map({"nofile": (files, files)}), env=Map({"OTHER": name}))
    return subject(name, None, program, *texts, measured("exit_status", status, unit=""), closed(status), **more)


def well(*texts: AnyRecord, files: int = 4096) -> Subject:
    return side("A", files, 0, *texts)


def failed(*texts: AnyRecord, files: int = 256) -> Subject:
    return side("B", files, 1, *texts)


def of(diff: Diff, fact: str) -> Suspect:
    return next(suspect for suspect in diff.suspects if suspect.facts == (fact,))


def test_what_the_run_that_failed_said_of_a_limit_that_was_lowered_makes_it_likely() -> None:
    diff = explain(well(said()), failed(said("open-files", lines=3)))
    suspect = of(diff, NOFILE)
    assert (suspect.rank, suspect.likelihood, suspect.parts["said"]) == (1, "likely", SAID_CAUSE)
    (evidence,) = suspect.evidence
    assert (evidence.fact, evidence.a, evidence.b) == ("said/open-files", 0, 3)
    assert evidence.says.startswith("B alone said open-files (3 lines): the process had as many files")
    (told,) = diff.said
    assert (told.side, told.message, told.suspect, told.starts) == ("b", "open-files", 1, (1, 1))


def test_swapped_it_is_the_other_side_that_said_it() -> None:
    diff = explain(failed(said("open-files")), well(said()))
    assert (diff.said[0].side, of(diff, NOFILE).evidence[0].a, of(diff, NOFILE).likelihood) == ("a", 1, "likely")


def test_what_both_said_or_the_better_one_alone_is_no_evidence() -> None:
    both = explain(well(said("open-files")), failed(said("open-files", lines=90)))
    better = explain(well(said("open-files")), failed(said()))
    for diff in (both, better):
        assert of(diff, NOFILE).evidence == ()
        assert "said" not in of(diff, NOFILE).parts
    assert both.said == ()
    assert [(told.side, told.suspect) for told in better.said] == [("a", None)]


def test_beside_a_run_whose_text_nobody_read_a_message_is_told_and_proves_nothing() -> None:
    for silent in (well(), well(said(source=OUTPUT)), well(said(source="server.log"))):
        diff = explain(silent, failed(said("open-files")))
        assert of(diff, NOFILE).evidence == ()
        (told,) = diff.said
        assert (told.heard, told.suspect) == (False, None)
        assert told.says.startswith("B said open-files (1 line), and what A said nobody read: the process had")


def test_logs_are_held_against_logs_whatever_they_are_called() -> None:
    diff = explain(well(said(source="thursday.log")), failed(said("open-files", source="friday.log")))
    assert of(diff, NOFILE).likelihood == "likely"


@pytest.mark.parametrize(("sizes", "likelihood"), [((1 << 30, 64 << 20), "likely"), ((64 << 20, 1 << 30), "unlikely")])
def test_a_message_that_names_what_ran_out_makes_likely_what_that_run_had_less_of(
    sizes: tuple[int, int], likelihood: str
) -> None:
    a, b = well(said(), shm(sizes[0])), failed(said("nccl-shm-segment"), shm(sizes[1]))
    suspect = of(explain(a, b), "container/main/shm_size")
    has_less = likelihood == "likely"
    assert (suspect.likelihood, suspect.parts.get("said")) == (likelihood, SAID_RESOURCE if has_less else None)
    assert [evidence.fact for evidence in suspect.evidence] == ["said/nccl-shm-segment"][: int(has_less)]


@pytest.mark.parametrize(
    "measures", [[()] * 2, [(measured("wall_time", 4),), (measured("wall_time", 9),)]], ids=["none", "unassessed"]
)
def test_where_no_run_is_known_to_be_worse_a_message_that_names_a_cause_is_evidence_and_makes_nothing_likely(
    measures: Sequence[Sequence[AnyRecord]],
) -> None:
    a, b = (
        subject(name, None, Process(limits=Map({"nofile": (files, files)})), text, *numbers)
        for name, files, text, numbers in zip("AB", (4096, 256), (said(), said("open-files")), measures, strict=True)
    )
    for diff in (explain(a, b), explain(b, a)):
        suspect = of(diff, NOFILE)
        assert (suspect.likelihood, suspect.parts["said"]) == ("possible", SAID_RESOURCE)
        assert [evidence.fact for evidence in suspect.evidence] == ["said/open-files"]
        assert [told.suspect for told in diff.said] == [suspect.rank]


def test_a_limit_that_was_raised_is_not_what_the_worse_run_ran_out_of() -> None:
    diff = explain(well(said(), files=256), failed(said("open-files"), files=4096))
    assert of(diff, NOFILE).evidence == ()


def test_what_no_suspect_has_is_told_with_where_it_points() -> None:
    equal = explain(well(said()), failed(said("open-files"), files=4096))
    unread = explain(well(said()), failed(said("nccl-shm-full"), files=4096))
    failure = explain(well(said()), failed(said("cuda-illegal-access"), files=4096))
    says = [diff.said[0].says for diff in (equal, unread, failure)]
    assert says[0].endswith("as it may. It points to process/*/limits/nofile: equal in both")
    assert says[1].endswith("It points to container/*/shm_size: not read")
    assert says[2].endswith("a bug of a kernel, a wrong argument and broken memory all end so")
    assert all(diff.said[0].suspect is None for diff in (equal, unread, failure))


def test_of_several_starts_it_is_told_how_many_said_it() -> None:
    once = failed(said("open-files", lines=2))
    silent = failed(said())
    pooled = replace(once, attempts=(*silent.attempts, *once.attempts), earlier=(silent.state,))
    diff = explain(well(said()), pooled)
    assert diff.said[0].starts == (1, 2)
    assert "(2 lines in 1 of 2 starts)" in of(diff, NOFILE).evidence[0].says


def test_what_this_release_does_not_know_is_left_out() -> None:
    assert explain(well(said()), failed(said("of-tomorrow"))).said == ()


@pytest.mark.parametrize(
    ("message", "kept", "failing", "likelihood"),
    [
        ("module-missing", ("torch", "black"), "B", "likely"),
        ("module-missing", ("torch", "black"), "A", "possible"),
        ("module-missing", ("torch",), "B", "possible"),
        ("open-files", ("torch", "black"), "B", "possible"),
    ],
)
def test_that_a_package_was_not_found_makes_likely_that_the_one_that_is_gone_was_it(
    message: str, kept: Sequence[str], failing: str, likelihood: str
) -> None:
    """Of several nobody says which; and what is new in the run that failed was not missing there."""

    def with_packages(*names: str) -> Read:
        packages = Libraries(packages=Map({name: Package(version="1.0") for name in names}))
        return Read(at=1, area="libraries", target="main", reading=reading_of(packages))

    whole, less = with_packages("torch", "black", "flashinfer-python"), with_packages(*kept)
    a, b = (whole, less) if failing == "B" else (less, whole)
    diff = explain(well(said(), a, files=256), failed(said(message), b))
    assert of(diff, "libraries/main/packages/flashinfer-python").likelihood == likelihood
