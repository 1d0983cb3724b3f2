"""What moves by itself is learned, what should not move is a finding, and what was learned is kept."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fingerprint.cli.noise import command
from fingerprint.explain.own_noise import document
from fingerprint.noise import HOSTS, VALUES, Learned, Learner, check_place, keep, learned_of
from fingerprint.report.noise import render
from fingerprint.snapshot import NOTHING, Reading
from fingerprint.trouble import Trouble
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, state, telemetry
from probes.kit.probe import Probe
from probes.memory import Memory
from probes.memory.vm import Vm
from tests.diff.made_up import snapshot

SECOND = 10**9


class Fan(Section):
    """One of every kind, and a collection."""

    blade: Seen[str] = identity("which part", "made up")
    target: Seen[int] = config("what was set", "made up", "rpm")
    total: Seen[int] = state("settled within a page", "made up", settled="always", tolerance=10)
    step: Seen[int] = state("what it settled on", "made up", settled="always")
    governor: Seen[str] = state("who governs", "made up", settled="always")
    speed: Seen[int] = telemetry("moves always", "made up", "rpm")
    turns: Seen[int] = counter("only grows", "made up", "turns")
    curve: Seen[Map[Seen[int]]] = config("the points", "made up")
    sensors: Seen[Map[Seen[int]]] = state("those there", "made up", settled="always")


def _unread(host: Any, target: Any) -> Any:
    raise AssertionError("nothing is read here")


FAN: Probe[Any] = Probe("fan", "host", Fan, _unread, 1.0, "border")


def known(area: str) -> Probe[Section] | None:
    return FAN if area == "fan" else None


def learner(*sections: Section | Reading, every: float = 2.0, host: str = "h") -> Learner:
    found = Learner(known)
    for nth, section in enumerate(sections):
        at = int(nth * every * SECOND)
        found.add(snapshot({"fan": section}, host=host, at=10**18 + at), 5 * SECOND + at)
    return found


def learned(**facts: Any) -> Learned:
    """From one snapshot for each value of the facts."""
    return learner(
        *(Fan(**dict(zip(facts, values, strict=True))) for values in zip(*facts.values(), strict=True))
    ).learned()


def own(learned: Learned, path: str) -> tuple[Any, ...]:
    found = learned.facts[path]
    return found.moved, found.looks, found.low, found.high, found.values


# What is learned.


def test_of_a_number_how_often_and_within_which_range_it_moved() -> None:
    assert own(learned(speed=(900, 900, 1100, 1000)), "fan/speed") == (2, 3, 900, 1100, ())
    assert own(learned(step=(1, 2, 2)), "fan/step") == (1, 2, 1, 2, ())


def test_of_a_counter_its_growth_per_second() -> None:
    assert own(learned(turns=(100, 100, 110, 140)), "fan/turns") == (2, 3, 0, 15, ())


def test_of_a_counter_that_fell_nothing_is_known_in_between() -> None:
    assert own(learned(turns=(100, 110, 4, 8)), "fan/turns") == (2, 2, 2, 5, ())


def test_of_what_is_no_number_the_values() -> None:
    assert own(learned(governor=("a", "b", "a")), "fan/governor") == (2, 2, None, None, ('"a"', '"b"'))


def test_of_many_values_the_first_are_kept() -> None:
    found = learned(governor=tuple(map(str, range(VALUES + 5))))
    assert len(found.facts["fan/governor"].values) == VALUES
    assert not found.showed("fan/governor", "", (str(VALUES),))


def test_what_stood_still_or_stayed_within_its_tolerance_is_no_noise() -> None:
    assert learned(step=(1, 1), turns=(5, 5), total=(100, 104)).facts == {}


def test_a_reading_that_failed_is_no_value() -> None:
    assert own(learned(speed=(900, Gap("timed_out"), 950)), "fan/speed") == (1, 1, 900, 950, ())
    assert learner(Fan(target=1), Fan(target=Gap("denied")), Fan(target=1)).findings == ()


def test_a_section_that_was_not_read_is_named_with_the_reason() -> None:
    found = learner(Fan(speed=1), Reading("timed_out", "after 1 s", 1000.0, None, NOTHING), Fan(speed=2))
    assert found.unread == {"fan": "after 1 s"}
    assert own(found.learned(), "fan/speed") == (1, 1, 1, 2, ())


@pytest.mark.parametrize("sections", [(), (Fan(speed=1),), (Fan(speed=1), Reading("failed", "", 1.0, None, NOTHING))])
def test_from_less_than_two_readings_nothing_is_learned(sections: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="no section was read twice"):
        learner(*sections).learned()


# What should not have moved.


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        (Fan(target=900), Fan(target=1000), ("fan/target", "changed", 900, 1000)),
        (Fan(blade="x"), Fan(blade="y"), ("fan/blade", "another part", "x", "y")),
        (Fan(target=900), Fan(target=Gap("lost")), ("fan/target", "vanished", 900, Gap("lost"))),
        (Fan(curve=Map({})), Fan(curve=Map({"1": 5})), ("fan/curve/1", "appeared", Gap("absent"), 5)),
        (Fan(sensors=Map({"1": 5})), Fan(sensors=Map({})), ("fan/sensors/1", "vanished", 5, Gap("absent"))),
    ],
)
def test_a_lasting_fact_that_moved_is_a_finding_and_never_learned(
    before: Fan, after: Fan, finding: tuple[Any, ...]
) -> None:
    found = learner(before, before, after)
    (moved,) = found.findings
    assert (moved.path, moved.verdict, moved.before, moved.after) == finding
    assert moved.at == 10**18 + 4 * SECOND
    assert found.learned().facts == {}
    assert found.learned().changed == (finding[0],)


def test_what_moves_to_and_fro_is_one_finding() -> None:
    found = learner(*(Fan(target=value) for value in (1, 2, 1, 1, 2)))
    assert [(moved.before, moved.after, moved.at, moved.times) for moved in found.findings] == [
        (1, 2, 10**18 + 2 * SECOND, 3)
    ]
    assert "changed 3 times, first" in render(document(found, found.learned()), width=120)


def test_findings_are_told_first_and_all_of_the_text_is_in_the_document() -> None:
    found = learner(
        Fan(target=900, speed=900, turns=1, governor="a"), Fan(target=1000, speed=950, turns=5, governor="b")
    )
    told = document(found, found.learned())
    text = render(json.loads(json.dumps(told)), width=120)
    assert text.index("fan/target  900 -> 1000 rpm  changed") < text.index("fan/speed")
    assert "1 lasting fact changed meanwhile; 3 other facts moved by themselves." in text
    assert "900 to 950 rpm" in text
    assert "2 turns per second" in text
    assert '"a", "b"' in text


@pytest.mark.parametrize(("values", "status"), [((60, 60), 0), ((60, 33), 1)])
def test_the_exit_status_says_whether_a_setting_moved(
    values: tuple[int, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = [snapshot({"memory": Memory(vm=Vm(swappiness=value))}) for value in values]
    monkeypatch.setattr("fingerprint.cli.noise._snapshots", lambda *asked: zip(read, range(2), strict=True))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert command.main(["2"], standalone_mode=False) == status


# Where it is kept.


def kept_in(folder: Path) -> Mapping[str, str]:
    return {"XDG_STATE_HOME": str(folder)}


def test_what_was_learned_comes_back_whole_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    found = learned(speed=(900, 950), governor=("a", "b"), turns=(1, 4))
    assert learned_of("h", kept_in(tmp_path)) is None
    keep(found, kept_in(tmp_path))
    assert learned_of("h", kept_in(tmp_path)) == found
    assert learned_of("another", kept_in(tmp_path)) is None
    (file,) = (tmp_path / "fingerprint").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_each_host_has_its_own_and_the_oldest_make_room(tmp_path: Path) -> None:
    for nth in range(HOSTS + 2):
        keep(learner(Fan(speed=1), Fan(speed=nth + 2), host=f"h{nth}").learned(), kept_in(tmp_path))
    known_of = [learned_of(f"h{nth}", kept_in(tmp_path)) is not None for nth in range(HOSTS + 2)]
    assert (sum(known_of), known_of[-1]) == (HOSTS, True)


def test_learning_again_replaces_what_was_known(tmp_path: Path) -> None:
    keep(learned(speed=(1, 1000)), kept_in(tmp_path))
    keep(learned(step=(1, 2)), kept_in(tmp_path))
    found = learned_of("h", kept_in(tmp_path))
    assert found is not None
    assert list(found.facts) == ["fan/step"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "\x00\xff", '{"version":2,"hosts":{}}', '{"version":1,"hosts":{"h":{}}}'],
    ids=["empty", "cut", "no text", "of a later release", "incomplete"],
)
def test_a_damaged_file_is_one_sentence_with_the_remedy(tmp_path: Path, content: str) -> None:
    file = tmp_path / "fingerprint" / "noise.json"
    file.parent.mkdir()
    file.write_text(content, encoding="latin-1")
    with pytest.raises(Trouble, match=rf"^{file} is damaged, .*: delete it, and let `fingerprint noise` learn anew$"):
        learned_of("h", kept_in(tmp_path))
    with pytest.raises(Trouble, match="is damaged"):
        keep(learned(speed=(1, 2)), kept_in(tmp_path))
    assert file.read_text(encoding="latin-1") == content


def test_a_file_that_calls_a_setting_noise_is_refused(tmp_path: Path) -> None:
    keep(learned(step=(1, 2)), kept_in(tmp_path))
    file = tmp_path / "fingerprint" / "noise.json"
    file.write_text(file.read_text().replace('"state"', '"config"'))
    with pytest.raises(Trouble, match="is damaged"):
        learned_of("h", kept_in(tmp_path))


def test_what_another_release_learned_as_another_kind_or_in_another_unit_is_not_known() -> None:
    found = learned(step=(1, 5), speed=(900, 950), turns=(1, 4))
    assert found.showed("fan/step", "", (1, 5))
    assert not found.showed("fan/step", "%", (1, 5))
    assert not found.showed("fan/speed", "rpm", (900,))
    assert found.spans("telemetry", "fan/speed", "rpm", 900, 950)
    assert not found.spans("telemetry", "fan/speed", "1/s", 900, 950)
    assert not found.spans("counter", "fan/speed", "rpm", 900, 950)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told_beforehand(tmp_path: Path) -> None:
    check_place(kept_in(tmp_path))
    tmp_path.chmod(0o500)
    with pytest.raises(Trouble, match=f"^{tmp_path} cannot be written"):
        check_place(kept_in(tmp_path))


def test_where_no_folder_can_be_made_it_is_told_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fingerprint.noise.os.access", lambda place, mode: place != tmp_path)
    with pytest.raises(Trouble, match=f"^{tmp_path} cannot be written"):
        check_place(kept_in(tmp_path))
    (tmp_path / "fingerprint").mkdir()
    check_place(kept_in(tmp_path))


def test_where_it_cannot_be_written_the_old_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(learned(speed=(1, 2)), kept_in(tmp_path))

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Trouble, match=r"noise\.json cannot be written \(No space left on device\)"):
        keep(learned(step=(1, 2)), kept_in(tmp_path))
    found = learned_of("h", kept_in(tmp_path))
    assert found is not None
    assert list(found.facts) == ["fan/speed"]
    assert [file.name for file in (tmp_path / "fingerprint").iterdir()] == ["noise.json"]
