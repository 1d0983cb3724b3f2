"""An Xid that came while a run lasted, of a GPU of which the kernel had said nothing, or other things, before."""

from collections.abc import Mapping

from fingerprint.explain import Subject, explain
from probes.driver import Driver
from probes.driver.log import DeviceLog, KernelLog
from probes.kit.facts import Map
from tests.explain.subjects import subject

GPU = "0000:17:00.0"


def driver(xids: Mapping[str, int]) -> Driver:
    told = {GPU: DeviceLog(xid=Map(dict(xids)), last_xid="its words", aer_corrected=0)} if xids else {}
    return Driver(kernel_log=KernelLog(xids=sum(xids.values())), log=Map(told))


def ran(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Subject:
    return subject(name, area="driver", made=driver(before), after=driver(after))


def test_the_first_since_boot_is_the_suspect_by_its_number() -> None:
    diff = explain(ran("A", {}, {}), ran("B", {}, {"79": 2}))
    assert [(s.facts, s.before) for s in diff.suspects] == [((f"driver/log/{GPU}/xid/79",), 0)]
    assert diff.not_known == ()


def test_a_number_that_is_new_and_one_that_is_not_are_both_told() -> None:
    diff = explain(ran("A", {"31": 3}, {"31": 3}), ran("B", {"31": 3}, {"31": 4, "79": 1}))
    assert [s.facts[0] for s in diff.suspects] == [f"driver/log/{GPU}/xid/{number}" for number in (31, 79)]


def test_what_was_said_before_a_run_is_none_of_it() -> None:
    diff = explain(ran("A", {}, {}), ran("B", {"79": 1}, {"79": 1}))
    assert diff.suspects == ()
    assert [(c.fact, c.verdict) for c in diff.changes if not c.context] == []


def test_what_came_in_both_is_no_difference() -> None:
    assert explain(ran("A", {}, {"79": 1}), ran("B", {"31": 1}, {"31": 1, "79": 1})).suspects == ()
