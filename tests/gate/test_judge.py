"""One rule against what was read: what is right, what is not, and what nobody knows."""

from typing import Any

import pytest

from fingerprint.gate.contract import Check
from fingerprint.gate.expectation import Beside, Expectation, Where
from fingerprint.gate.expectation import Test as Wanted
from fingerprint.gate.judge import judge
from fingerprint.gate.live import Live
from fingerprint.gate.waivers import Waivers
from fingerprint.snapshot import Key, Reading
from probes.gpu import Gpu, Gpus
from probes.gpu.clocks import Clocks
from probes.gpu.processes import Process as OnGpu
from probes.kit.facts import Gap, GapCode, Map
from probes.memory import Memory
from probes.memory.swap import Device
from probes.process.sections import Cgroup, Process
from tests.gate import ONE, OTHER, live, two, waived, waivers

DENIED = Gap("denied", "run as root")


def rule(**told: Any) -> Expectation:
    wanted = {"rule": "r", "origin": "policy", "fact": "gpu/*/power_limit", "tests": (Wanted("min", 600, "W"),), **told}
    return Expectation(**wanted)


def checks(host: Live, wanted: Expectation, given: Waivers | None = None, baseline: Live | None = None) -> list[Check]:
    return list(judge(wanted, host, baseline, given or waivers()))


def only(host: Live, wanted: Expectation, **more: Any) -> Check:
    [check] = checks(host, wanted, **more)
    return check


def limits(one: Any, other: Any = 700_000) -> Live:
    return two(Gpu(power_limit=one), Gpu(power_limit=other))


def test_what_is_as_expected_is_one_check_over_all_devices() -> None:
    check = only(limits(700_000), rule())
    assert (check.state, check.stops, check.facts, check.on) == ("ok", False, ("gpu/*/power_limit",), "2/2")
    assert check.says == "gpu/*/power_limit is 700 W on 2 of 2"


def test_what_is_not_tells_which_device_what_was_found_what_is_expected_and_how_to_set_it_right() -> None:
    check = only(limits(450_000), rule(reason="measured so"))
    assert (check.state, check.stops, check.facts, check.on) == ("failed", True, (f"gpu/{ONE}/power_limit",), "1/2")
    assert (check.found, check.unit, check.expected) == (450_000, "mW", "at least 600 W")
    assert check.says == f"gpu/{ONE}/power_limit is 450 W, expected at least 600 W"
    assert check.restore == f"nvidia-smi -i {ONE} -pl 600"


def test_values_that_differ_stand_by_path() -> None:
    check = only(limits(450_000, 400_000), rule())
    assert check.found is None
    assert check.values == {f"gpu/{ONE}/power_limit": 450_000, f"gpu/{OTHER}/power_limit": 400_000}


def test_a_rule_that_warns_stops_nothing() -> None:
    check = only(limits(450_000, 450_000), rule(severity="warn"))
    assert (check.state, check.stops) == ("warned", False)


@pytest.mark.parametrize(
    ("op", "operand", "good"),
    [
        ("equals", 450_000, True), ("equals", 450_001, False), ("max", 450_000, True), ("max", 449_999, False),
        ("min", 450_000, True), ("one_of", (1, 450_000), True), ("one_of", (1, 2), False), ("none_of", (1, 2), True),
        ("equals", True, False),
    ],
)  # fmt: skip
def test_each_operator(op: Any, operand: Any, good: bool) -> None:
    check = only(limits(450_000, 450_000), rule(tests=(Wanted(op, operand),)))
    assert check.state == ("ok" if good else "failed")


def test_a_pattern_is_looked_for_in_text() -> None:
    host = two(Gpu(name="NVIDIA H200"), Gpu(name="NVIDIA H100"))
    check = only(host, rule(fact="gpu/*/name", tests=(Wanted("matches", "H2"),)))
    assert check.facts == (f"gpu/{OTHER}/name",)


def test_the_items_of_a_collection_are_counted() -> None:
    assert only(limits(1), rule(fact="gpu", tests=(Wanted("min", 2),))).state == "ok"
    assert only(limits(1), rule(fact="gpu", tests=(Wanted("min", 3),))).state == "failed"


def test_the_kernels_word_for_no_bound_is_above_any_number() -> None:
    host = live({"process/main": Process(cgroup=Cgroup(memory_max="max"))})
    for op, state in (("min", "ok"), ("max", "failed")):
        wanted = rule(fact="process/*/cgroup/memory_max", tests=(Wanted(op, 64, "GiB"),))  # type: ignore[arg-type]
        assert only(host, wanted).state == state


def test_a_fact_is_held_against_another_of_the_same_device() -> None:
    host = two(
        Gpu(power_limit=450_000, power_default_limit=450_000), Gpu(power_limit=450_000, power_default_limit=600_000)
    )
    check = only(host, rule(tests=(Wanted("min", Beside("gpu/*/power_default_limit")),)))
    assert (check.facts, check.expected) == ((f"gpu/{OTHER}/power_limit",), "at least 600 W")


def test_as_in_the_baseline_is_by_device() -> None:
    wanted = rule(tests=(Wanted("same_as_baseline"),))
    check = only(limits(450_000), wanted, baseline=limits(600_000))
    assert (check.state, check.facts) == ("failed", (f"gpu/{ONE}/power_limit",))
    assert check.says == f"gpu/{ONE}/power_limit is 450 W, expected as in the baseline, 600 W"
    assert only(limits(450_000), wanted, baseline=two(Gpu(), Gpu())).state == "unknown"


# What nobody knows


@pytest.mark.parametrize(
    ("code", "told", "state", "stops"),
    [
        ("denied", {}, "unknown", False),
        ("denied", {"required": True}, "unknown", True),
        ("denied", {"unknown": "ignore"}, "out_of_scope", False),
        ("timed_out", {}, "unknown", True),
        ("timed_out", {"unknown": "warn"}, "unknown", False),
        ("failed", {}, "unknown", True),
        ("settling", {}, "unknown", True),
        ("absent", {}, "unknown", True),
        ("absent", {"unknown": "warn"}, "unknown", False),
        ("absent", {"unknown": "ignore"}, "out_of_scope", False),
        ("absent", {"absent": "out_of_scope"}, "out_of_scope", False),
        ("absent", {"required": True}, "failed", True),
        ("absent", {"required": True, "severity": "warn"}, "warned", False),
        ("unsupported", {}, "unknown", True),
        ("asleep", {}, "unknown", False),
        ("lost", {}, "failed", True),
        ("lost", {"unknown": "ignore"}, "failed", True),
    ],
)
def test_a_gap_is_never_taken_for_a_value(code: GapCode, told: Any, state: str, stops: bool) -> None:
    check = only(limits(Gap(code, "why"), Gap(code, "why")), rule(**told))
    assert (check.state, check.stops, check.found) == (state, stops, {"gap": code})
    assert "why" in check.says


def test_one_device_that_is_not_known_stands_beside_those_that_are_not_right() -> None:
    told = [(check.state, check.facts) for check in checks(limits(450_000, DENIED), rule())]
    assert told == [("failed", (f"gpu/{ONE}/power_limit",)), ("unknown", (f"gpu/{OTHER}/power_limit",))]


def test_a_section_that_was_not_read_is_unknown_and_stops() -> None:
    host = Live({Key("gpu"): Reading("timed_out", "hung since 02:00")})
    check = only(host, rule())
    assert (check.state, check.stops, check.facts) == ("unknown", True, ("gpu",))
    assert check.says == "gpu: it is timed out (hung since 02:00)"


@pytest.mark.parametrize("told", [{}, {"required": True}])
def test_an_area_that_nobody_reads_is_unknown(told: Any) -> None:
    check = only(live({}), rule(fact="libraries/*/packages/torch/version", **told))
    assert (check.state, check.stops) == ("unknown", True)
    assert check.says.endswith(
        "libraries is not read by a gate: it is about a process that runs, or areas.skip names it"
    )


@pytest.mark.parametrize(
    ("seen", "least", "good"),
    [("0-3,8", 5, True), ("0-3,8", 6, False), ("2", 1, True), ("400000 100000", 4, True), ("150000 100000", 2, False),
     ("max", 96, True)],
)  # fmt: skip
def test_cpus_of_a_list_and_of_a_quota_are_counted(seen: str, least: int, good: bool) -> None:
    host = live({"process/main": Process(affinity=seen)})
    wanted = rule(fact="process/*/affinity", tests=(Wanted("min", least),))
    assert only(host, wanted).state == ("ok" if good else "failed")


def test_no_gpu_at_all_is_not_as_expected_of_its_facts() -> None:
    host = live({"gpu": Gpus(gpus=Map({}))})
    assert only(host, rule(tests=(Wanted("max", 1),))).stops
    assert only(host, rule(required=True)).state == "failed"


def test_that_nobody_is_there_is_right_where_nobody_should_be() -> None:
    quiet = two(Gpu(processes=Map({})), Gpu(processes=Map({})))
    of_process = rule(fact="gpu/*/processes/*/used_memory", tests=(Wanted("max", 1, "GiB"),))
    assert only(quiet, of_process).state == "ok"
    unswapped = live({"memory": Memory(swap=Map({}))})
    assert only(unswapped, rule(fact="memory/swap/*/used", tests=(Wanted("max", 0),))).state == "ok"
    assert only(unswapped, rule(fact="memory/swap/*/size", tests=(Wanted("min", 1, "GiB"),))).state == "unknown"
    swapping = live({"memory": Memory(swap=Map({"/swap": Device(used=9)}))})
    assert only(swapping, rule(fact="memory/swap/*/used", tests=(Wanted("max", 0),))).state == "failed"


def test_what_means_something_only_under_load_is_out_of_scope_at_rest_and_checked_under_load() -> None:
    wanted = rule(fact="gpu/*/clocks/sm", tests=(Wanted("min", 1900, "MHz"),))
    idle = two(Gpu(busy=0, clocks=Clocks(sm=345)), Gpu(busy=0, clocks=Clocks(sm=345)))
    check = only(idle, wanted)
    assert (check.state, check.stops) == ("out_of_scope", False)
    assert check.says.endswith("it means something only while gpu busy")
    busy = two(Gpu(busy=1, clocks=Clocks(sm=1200)), Gpu(busy=1, clocks=Clocks(sm=1980)))
    assert only(busy, wanted).facts == (f"gpu/{ONE}/clocks/sm",)


def test_elsewhere_a_rule_excuses_and_somewhere_it_warns() -> None:
    host = two(Gpu(power_limit=1, brand="tesla"), Gpu(power_limit=1, brand="geforce"))
    excused = rule(only=(Where("gpu/*/brand", ("geforce",), "boards of servers are set by others"),))
    assert [check.facts for check in checks(host, excused)] == [(f"gpu/{OTHER}/power_limit",)]
    softened = rule(softly=(Where("gpu/*/brand", ("geforce",)),))
    assert [check.state for check in checks(host, softened)] == ["failed", "warned"]


# Waivers


def test_a_waiver_lets_its_device_pass_and_no_other() -> None:
    given = waivers(waived(f"gpu/{ONE}/**"))
    found = checks(limits(450_000, 450_000), rule(), given)
    assert [(check.state, check.facts, check.waiver) for check in found] == [
        ("failed", (f"gpu/{OTHER}/power_limit",), None),
        ("waived", (f"gpu/{ONE}/power_limit",), 0),
    ]
    assert [it.used for it in given.told()] == [1]


def test_a_waiver_counts_on_its_last_day_and_not_on_the_next() -> None:
    import datetime as dt

    last = waived("gpu/*/power_limit")
    assert only(limits(1, 1), rule(), given=Waivers([last], last.expires)).state == "waived"
    later = Waivers([last], last.expires + dt.timedelta(days=1))
    assert only(limits(1, 1), rule(), given=later).state == "failed"
    assert [it.expired for it in later.told()] == [True]


def test_a_waiver_is_for_what_nobody_could_read_too() -> None:
    assert (
        only(limits(Gap("failed"), Gap("failed")), rule(), given=waivers(waived("gpu/*/power_limit"))).state == "waived"
    )


def test_a_process_on_a_gpu_is_named_by_its_pid() -> None:
    host = two(Gpu(processes=Map({"4242": OnGpu(type="compute")})), Gpu(processes=Map({})))
    check = only(host, rule(fact="gpu/*/processes", tests=(Wanted("max", 0),)))
    assert check.says == f"gpu/{ONE}/processes is 1 (4242), expected at most 0"
    assert check.found == ["4242"]
