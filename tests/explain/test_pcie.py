"""Of two runs on one bus, what changed on it is told once, where it is, with what follows from it beneath."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fingerprint.explain import explain
from fingerprint.explain.contract import Diff, Suspect
from probes.kit.facts import Map
from probes.kit.probe import HOST
from probes.pcie import pcie
from probes.pcie.sections import Pcie
from tests.explain.subjects import subject
from tests.probes.pcie import server as s
from tests.probes.pcie.bus import FULL, LOWER_PORT, UPPER_PORT, Function
from tests.probes.pcie.server import server


def read(root: Path, *more: Function) -> Pcie:
    """The server, with these functions in the place of those at their addresses."""
    return pcie.read(server(root, *more, without=tuple(one.address for one in more)), HOST)


def told(before: Pcie, after: Pcie) -> Diff:
    return explain(subject("A", before, area="pcie"), subject("B", after, area="pcie"))


def facts(suspects: Sequence[Suspect]) -> list[tuple[str, ...]]:
    return [one.facts for one in suspects]


@pytest.fixture
def usual(tmp_path: Path) -> Pcie:
    return read(tmp_path / "usual")


def test_a_switch_with_half_of_its_lanes_is_one_suspect_with_all_gpus_below_it_beneath(
    tmp_path: Path, usual: Pcie
) -> None:
    found = told(read(tmp_path / "wide", s.port(s.SWITCH, UPPER_PORT, FULL._replace(speed=4))), usual)
    width = f"pcie/bridges/{s.UP}/current_link_width"
    assert facts(found.suspects) == [(width,)]
    assert (found.suspects[0].before, found.suspects[0].after) == (16, 8)
    beneath = {one.fact for one in found.changes if one.follows == width}
    assert {"pcie/gpus/*/narrowest/bandwidth", f"pcie/cards/{s.CARD}/narrowest/bandwidth"} <= beneath


def test_access_control_that_came_with_a_boot_names_the_bridge(tmp_path: Path, usual: Pcie) -> None:
    place = f"{s.SWITCH}/{s.LOW_A}"
    found = told(usual, read(tmp_path / "on", s.port(place, LOWER_PORT, s.AT_REST, acs=s.REDIRECTING)))
    assert facts(found.suspects) == [(f"pcie/bridges/{s.LOW_A}/acs_control",)]
    assert "root port" in str(found.suspects[0].mechanism)


def test_a_gpu_that_rested_before_and_works_after_is_no_change(tmp_path: Path, usual: Pcie) -> None:
    working = read(tmp_path / "working", s.gpu(f"{s.SWITCH}/{s.LOW_A}/{s.GPU_A}", FULL))
    found = told(usual, working)
    assert found.suspects == ()
    assert not any("narrowest" in one.fact for one in found.changes)


def test_a_card_that_slept_in_one_run_is_not_known_and_no_suspect(tmp_path: Path, usual: Pcie) -> None:
    place = f"{s.SWITCH}/{s.LOW_C}/{s.CARD}"
    card = next(one for one in s.FUNCTIONS if one.address == s.CARD)
    assert card.place == place
    slept = read(tmp_path / "slept", card._replace(files={**card.files, "power/runtime_status": "suspended\n"}))
    found = told(usual, slept)
    assert found.suspects == ()
    assert s.CARD in str(found.not_known) or s.CARD in str(found.changes)


def test_errors_that_were_corrected_in_one_run_alone_are_a_suspect(usual: Pcie) -> None:
    """What stood there before either run says nothing."""
    calm, noisy = (_with_errors(usual, count) for count in (7, 4007))
    a = subject("A", calm, area="pcie", after=calm)
    b = subject("B", calm, area="pcie", after=noisy)
    assert any(f"pcie/cards/{s.CARD}/aer/rx_err" in one.facts for one in explain(a, b).suspects)


def _with_errors(found: Pcie, count: int) -> Pcie:
    assert isinstance(found.cards, Map)
    card = found.cards.items[s.CARD]
    noisy = replace(card, aer=replace(card.aer, rx_err=count, correctable=count))
    return replace(found, cards=Map({**found.cards.items, s.CARD: noisy}))


def test_what_was_equal_is_ruled_out_by_what_a_reader_asks_for(usual: Pcie) -> None:
    (group,) = (one for one in told(usual, usual).ruled_out.groups if one.title == "pcie")
    assert "access control" in group.says
    assert "IOMMU" in group.says
