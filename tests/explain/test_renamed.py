"""What devices are called changes nothing."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff
from probes.gpu import Gpu, Gpus
from probes.kit.facts import Map
from tests.explain.subjects import on_host, subject
from tests.explain.test_circumstances import slow

SLOTS = ("0000:17:00.0", "0000:2a:00.0", "0000:3d:00.0", "0000:ab:00.0")
LIMITS = (600_000, 450_000, 300_000)


def diff(slots: Sequence[str], before: Sequence[int], after: Sequence[int]) -> Diff:
    def side(name: str, level: float, limits: Sequence[int]) -> Subject:
        gpus = {slot: Gpu(name="NVIDIA H100", power_limit=limit) for slot, limit in zip(slots, limits, strict=True)}
        return on_host(subject(name, None, None, *slow(level)), gpu=Gpus(gpus=Map(gpus)))

    return explain(side("A", 11.0, before), side("B", 15.0, after))


def told(of: Diff, names: Mapping[str, str]) -> object:
    def renamed(text: str) -> str:
        return "/".join(names.get(part, part) for part in text.split("/"))

    suspects = {
        (tuple(map(renamed, one.facts)), one.score, one.likelihood, str(one.before), str(one.after), one.on)
        for one in of.suspects
    }
    return suspects, {(renamed(one.fact), one.verdict) for one in of.changes}


LIMIT = st.lists(st.sampled_from(LIMITS), min_size=4, max_size=4)


@given(st.permutations(SLOTS), LIMIT, LIMIT)
def test_other_slots_for_the_same_devices_give_the_same_suspects(
    others: Sequence[str], before: Sequence[int], after: Sequence[int]
) -> None:
    here, there = diff(SLOTS, before, after), diff(others, before, after)
    names = dict(zip(others, SLOTS, strict=True))
    assert told(there, names) == told(here, {})
    assert bool(here.suspects) is (before != after)
