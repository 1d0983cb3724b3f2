"""What decides beside a suspect without having changed: shown where it was seen equal, and says something."""

from typing import Any

import pytest

from fingerprint.explain import explain
from fingerprint.explain.contract import Diff
from fingerprint.report.text import render
from fingerprint.runs.effective import Resolved, Standing, resolve
from fingerprint.runs.record import Held
from probes.gpu import Gpu, Gpus
from probes.kit.facts import Gap, Map, Section
from tests.explain.subjects import subject

SLOTS = ("0000:17:00.0", "0000:2a:00.0")


def gpus(watts: int, slots: tuple[str, ...] = SLOTS, **more: Any) -> Gpus:
    told = {"power_limit": watts * 1000, **more}
    return Gpus(gpus=Map({slot: Gpu(uuid=f"GPU-{number}", **told) for number, slot in enumerate(slots)}))


def lowered(before: Gpus, after: Gpus) -> Diff:
    return explain(subject("A", before, area="gpu"), subject("B", after, area="gpu"))


def shown(diff: Diff) -> dict[str, Any]:
    return {beside.fact: beside.value for beside in diff.suspects[0].beside}


def test_what_the_limit_was_delivered_with_is_shown_beside_it() -> None:
    diff = lowered(gpus(600, power_default_limit=600_000), gpus(450, power_default_limit=600_000))
    assert shown(diff) == {"gpu/*/power_default_limit": 600_000}
    assert "equal     gpu/*/power_default_limit 600 W\n" in render(diff, width=120)


def test_what_changed_was_not_seen_or_differs_among_the_devices_is_not_shown() -> None:
    for before, after in ((600, 700), (Gap("denied"), Gap("denied")), (600, Gap("denied"))):
        a, b = gpus(600, power_default_limit=before), gpus(450, power_default_limit=after)
        assert not [fact for suspect in lowered(a, b).suspects for fact in suspect.beside]
    unlike = [
        Gpus(gpus=Map({slot: Gpu(power_limit=limit, power_default_limit=n) for n, slot in enumerate(SLOTS, 1)}))
        for limit in (600_000, 450_000)
    ]
    assert shown(lowered(*unlike)) == {}


def test_what_says_nothing_is_left_out_and_what_is_off_stands_last() -> None:
    nobody: dict[str, Any] = {"persistence_mode": "disabled", "power_default_limit": 600_000}
    assert list(shown(lowered(gpus(600, **nobody), gpus(450, **nobody)))) == [
        "gpu/*/power_default_limit", "gpu/*/persistence_mode",
    ]  # fmt: skip
    assert shown(lowered(gpus(600, power_default_limit=0), gpus(450, power_default_limit=0))) == {}


def test_devices_in_other_slots_are_looked_up_where_they_are_now() -> None:
    delivered: dict[str, Any] = {"power_default_limit": 600_000}
    diff = lowered(gpus(600, **delivered), gpus(450, ("0000:65:00.0", "0000:ca:00.0"), **delivered))
    limit = next(s for s in diff.suspects if s.facts == ("gpu/*/power_limit",))
    assert [b.value for b in limit.beside] == [600_000]


def test_a_state_that_samples_held_counts_where_they_held_one_value() -> None:
    def slower(*locks: str) -> dict[str, Any]:
        def samples(state: str) -> dict[str, Held]:
            held = Held(tuple((lock, 9) for lock in locks))
            each = [(f"gpu/{s}/performance_state", f"gpu/{s}/inferred/clock_lock") for s in SLOTS]
            return {path: value for one, lock in each for path, value in ((one, Held(((state, 9),))), (lock, held))}

        a, b = subject("A", gpus(600), area="gpu", samples=samples("P0")), samples("P2")
        return shown(explain(a, subject("B", gpus(600), area="gpu", samples=b)))

    assert slower("likely") == {"gpu/*/inferred/clock_lock": "likely", "gpu/*/power_limit": 600_000}
    assert slower("likely", "none") == {"gpu/*/power_limit": 600_000}


def test_sections_that_no_suspect_asks_about_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def seen(standing: Standing, cls: type[Section]) -> Resolved:
        looked_at.append(cls.__name__)
        return resolve(standing, cls)

    monkeypatch.setattr("fingerprint.explain.decisive.resolve", seen)
    a, b = gpus(600), gpus(450)
    assert not lowered(a, a).suspects
    assert looked_at == []
    assert lowered(a, b).suspects
    assert looked_at == ["Gpus", "Gpus"]
