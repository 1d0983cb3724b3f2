"""What only one of two runs shows by itself: beside the suspect that it is about, or on its own."""

from collections.abc import Mapping

import msgspec
import pytest

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff
from fingerprint.findings import one_sided
from fingerprint.report.text import render
from fingerprint.runs.effective import effective
from fingerprint.runs.record import Process as Read
from fingerprint.snapshot import Key, reading_of
from probes.kit.facts import Map, Section
from probes.libraries.sections import Engine, Libraries, Package
from probes.process.sections import Git
from tests.findings.servers import RANKS, env, library, mapping, section_of, server
from tests.findings.servers import effective as state_of
from tests.runs.recorded import closed, run


def subject(name: str, sections: Mapping[str, Section]) -> Subject:
    """A run that read these sections while its command ran."""
    keys = {Key(*at.split("/", 1)): section for at, section in sections.items()}
    read = [Read(at=1, area=key.area, target=key.target, reading=reading_of(it)) for key, it in keys.items()]
    folded = run(*read, closed(), id_=f"01{name}", name=name)
    return Subject(name=name, state=effective(folded, {}), attempts=(folded,))


def diff(a: Mapping[str, Section], b: Mapping[str, Section]) -> Diff:
    return explain(subject("A", a), subject("B", b))


def test_what_both_show_is_told_of_neither() -> None:
    odd = server(tp3=env(NCCL_PROTO=None))
    assert diff(odd, odd).findings == ()
    moved = server(tp3=env(NCCL_PROTO=None), tp4=env(OMP_NUM_THREADS="1"))
    assert [it.finding.about for it in diff(odd, moved).findings] == ["OMP_NUM_THREADS"]


def test_a_finding_is_evidence_of_the_suspect_that_it_is_about() -> None:
    told = diff(server(), server(tp5=env(OMP_NUM_THREADS="1")))
    [it] = told.findings
    first = told.suspects[0]
    assert (it.side, it.suspect) == ("b", first.rank)
    assert first.facts == ("process/sglang-30000.tp5/env/OMP_NUM_THREADS",)
    says = "In B alone: sglang-30000 has OMP_NUM_THREADS=8; it is 1 on tp5."
    assert says in [evidence.says for evidence in first.evidence]
    assert says in " ".join(render(told).split())
    assert "Found in one run alone" not in render(told)


def test_sides_turned_around_tell_the_same_of_the_other() -> None:
    a, b = server(), server(tp3=env(NCCL_PROTO=None))
    [one], [other] = diff(a, b).findings, diff(b, a).findings
    assert (one.side, other.side) == ("b", "a")
    assert one.finding == other.finding


def unread(version: str = "0.33.0", **unknown: str) -> dict[str, Section]:
    libraries = Libraries(
        packages=Map({"vllm": Package(version=version)}),
        engines=Map({"vllm": Engine(listed=306, unknown=Map(unknown))}),
    )
    return {"process/main": env(**dict.fromkeys(unknown, "1")), "libraries/main": libraries}


def test_that_an_upgrade_reads_a_variable_no_more_is_evidence_of_the_upgrade() -> None:
    before, after = unread("0.8.5"), unread("0.33.0", VLLM_USE_V1="none")
    told = diff({**before, "process/main": after["process/main"]}, after)
    first = told.suspects[0]
    assert first.facts == ("libraries/main/packages/vllm/version",)
    assert [it.says for it in first.evidence if "no Python file of vllm 0.33.0 names it" in it.says]
    assert first.against == ()


def test_a_variable_of_a_process_follows_from_too_much_to_tell_of_it() -> None:
    a, b = (server(launcher=msgspec.structs.replace(env(), git=Git(commit=commit))) for commit in ("aa", "bb"))
    told = diff(a, {**b, "process/sglang-30000.tp5": env(OMP_NUM_THREADS="1")})
    commit = next(suspect for suspect in told.suspects if suspect.facts == ("process/sglang-30000/git/commit",))
    assert not [it for it in commit.evidence if "In B alone" in it.says]


def test_that_nothing_reads_a_variable_speaks_against_it() -> None:
    told = diff(unread(), unread(VLLM_FOO="none"))
    suspect = next(it for it in told.suspects if it.facts == ("process/main/env/VLLM_FOO",))
    assert [it.says for it in suspect.against if it.says.startswith("In B alone: VLLM_FOO is set in main")]


def test_what_is_about_no_suspect_stands_on_its_own() -> None:
    wheel, system = "/venv/libnccl.so.2", "/usr/lib/libnccl.so.2"
    ranks = {f"mapped/sglang-30000.{rank}": mapping(libnccl=library(wheel)) for rank in RANKS}
    told = diff(
        {**server(), **ranks},
        {**server(), **ranks, "mapped/sglang-30000.tp9": mapping(libnccl=library(wheel, "2", system))},
    )
    [it] = told.findings
    assert (it.finding.rule, it.suspect) == ("library-mapped-twice", None)
    assert "Found in one run alone" in render(told)
    assert "2 places" in render(told)


def test_another_port_is_no_other_finding() -> None:
    a, b = (server({"tp3": env(NCCL_PROTO=None)}, name) for name in ("sglang-30000", "sglang-31000"))
    assert one_sided(state_of(a), state_of(b), section_of) == ((), ())


def test_an_area_that_is_the_same_in_both_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    state, decoded = state_of(server(tp3=env(NCCL_PROTO=None))), []
    monkeypatch.setattr("fingerprint.findings.state.resolve", lambda *given: decoded.append(given))
    one_sided(state, state, section_of)
    assert decoded == []


def test_an_area_that_this_release_does_not_know_shows_nothing() -> None:
    odd = state_of(server(tp3=env(NCCL_PROTO=None)))
    assert one_sided(state_of(server()), odd, lambda area: None) == ((), ())
    assert one_sided(state_of(server()), odd, section_of)[1] != ()
