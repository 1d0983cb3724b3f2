"""Facts that are one file each, and what else moves when somebody writes to such a file."""

import os
from pathlib import Path
from typing import Any

import pytest

from probes.kit.facts import Fact, Gap, Section, Seen, state
from probes.kit.knobs import knob, number_tuple, read_each, sysctl, word_tuple
from tests.probes.tree import causes, lasting, tree
from tests.turned import setting, turning

# Once set these cannot be taken back before the next boot.
ONE_WAY = frozenset({"/proc/sys/kernel/unprivileged_bpf_disabled"})


class Knobs(Section):
    swappiness: Seen[int] = sysctl("vm.swappiness", "Why", "%")
    enabled: Seen[str] = knob("/sys/enabled", "Why")
    words: Seen[tuple[str, ...]] = state("Why", "/sys/words", settled="always")


def test_a_sysctl_is_declared_by_its_name_alone() -> None:
    fact = Knobs.__facts__["swappiness"]
    assert (fact.kind, fact.source, fact.unit) == ("config", "/proc/sys/vm/swappiness", "%")
    assert fact.restore == "sysctl -w vm.swappiness={value}"
    assert Knobs.__facts__["enabled"].restore == "echo {value} > /sys/enabled"


def test_each_fact_is_read_from_its_source_and_the_others_are_given(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/sys/vm/swappiness": "60\n", "/sys/words": "tsc hpet \n"})
    knobs = read_each(Knobs, host.number, words=word_tuple(host, "/sys/words"))
    assert (knobs.swappiness, knobs.words, knobs.enabled) == (60, ("tsc", "hpet"), Gap("not_read"))
    assert number_tuple(host, "/proc/sys/vm/swappiness") == (60,)
    assert number_tuple(host, "/sys/words") == Gap("failed")


def sysctls() -> list[tuple[Fact, Any]]:
    """Those that this kernel has, with their values."""
    found = ((fact, value) for fact, value in lasting("kernel", "memory").values() if not isinstance(value, Gap))
    return [(fact, value) for fact, value in found if fact.restore.startswith("sysctl ") and fact.source not in ONE_WAY]


def others(value: Any) -> list[str]:
    """Values that a parameter of this one may accept instead."""
    if isinstance(value, tuple):
        return [" ".join(map(str, (*value[:-1], value[-1] + step))) for step in (-1, 1)]
    return [str(value + 1), str(value - 1)] if isinstance(value, int) else []


@pytest.mark.long
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="turns settings of the kernel, which takes root")
def test_a_sysctl_that_is_turned_moves_no_other_fact() -> None:
    with turning():
        moved = {fact.source: moved_by(fact, value) for fact, value in sysctls()}
    assert {source: facts for source, facts in moved.items() if len(facts) > 1} == {}
    assert sum(map(len, moved.values())) > len(moved) / 2


def moved_by(fact: Fact, value: Any) -> set[str]:
    """What changed with the first other value that the kernel took; nothing where it takes none."""
    before, path, kept = lasting("kernel", "memory"), Path(fact.source), setting(fact.source)
    for other in others(value):
        try:
            path.write_text(other)
        except OSError:
            continue
        try:
            return causes(before, lasting("kernel", "memory"))
        finally:
            path.write_text(kept)
    return set()
