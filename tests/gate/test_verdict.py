"""The whole answer: pass, fail or cannot tell; beside a baseline, with policies, and with what is kept of before."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.gate.baseline import GIVEN, Baseline
from fingerprint.gate.contract import Check, Verdict
from fingerprint.gate.policy import Policy, policy_of
from fingerprint.gate.verdict import Asked, decide
from fingerprint.snapshot import Key, Reading, reading_of
from probes.gpu import Gpu, Gpus
from probes.gpu.health import Health
from probes.gpu.pcie import Pcie
from probes.gpu.processes import Process as OnGpu
from probes.gpu.thermal import Temperature
from probes.kernel import Kernel
from probes.kit.facts import Gap, Map, Redacted
from probes.memory import Memory
from probes.process.sections import Process
from tests.gate import ONE, OTHER, TODAY, snapshot

DENIED = Gap("denied", "run as root")


def policy(text: str) -> Policy:
    return policy_of("p.toml", text.encode())


def host(one: Gpu | None = None, other: Gpu | None = None, **kernel: Any) -> Any:
    gpus = {ONE: one or Gpu(power_limit=700_000), OTHER: other or Gpu(power_limit=700_000)}
    return {"gpu": Gpus(gpus=Map(gpus)), "kernel": Kernel(release="6.8.0", **kernel)}


def gate(
    now: Any, before: Any = None, *policies: str, own: Any = None, given: Process | None = None, uid: int = 0
) -> Verdict:
    baseline = Baseline("run-A", snapshot(before, uid=uid), reading_of(given) if given else None) if before else None
    asked = Asked(policies=tuple(map(policy, policies)), baseline=baseline)
    return decide(asked, snapshot(now), {GIVEN: reading_of(own)} if own else {}, TODAY)


def states(it: Verdict, *left_out: str) -> dict[str, str]:
    return {check.rule: check.state for check in it.checks if check.state not in (left_out or ("ok", "out_of_scope"))}


def of(it: Verdict, rule: str) -> Check:
    [check] = [check for check in it.checks if check.rule == rule]
    return check


# Baseline


def test_a_host_as_it_was_passes_and_says_how_much_was_compared() -> None:
    it = gate(host(), host())
    assert (it.outcome, states(it)) == ("pass", {})
    assert of(it, "kernel").says == "kernel: 1 fact is as it was before run-A"


def test_what_is_not_as_it_was_fails_with_both_values_and_the_command_that_sets_it_back() -> None:
    it = gate(host(Gpu(power_limit=450_000)), host())
    assert it.outcome == "fail"
    check = of(it, f"gpu/{ONE}/power_limit")
    assert (check.state, check.found, check.expected, check.on) == ("failed", 450_000, "700 W", "1/2")
    assert check.says == f"gpu/{ONE}/power_limit on 1 of 2 changed: 700 -> 450 W"
    assert check.restore == f"nvidia-smi -i {ONE} -pl 700"


def test_all_gpus_are_set_back_by_one_command() -> None:
    [check] = [it for it in gate(host(*[Gpu(power_limit=450_000)] * 2), host()).checks if it.state == "failed"]
    assert check.restore == "nvidia-smi -pl 700"


def test_a_reset_that_is_due_is_mended_and_one_that_was_done_is_not_undone() -> None:
    well, due = (host(*[Gpu(health=Health(tpc_repair_pending=word))] * 2) for word in ("no", "yes"))
    assert of(gate(due, well), "gpu/*/health/tpc_repair_pending").restore.startswith("nvidia-smi -r")
    assert of(gate(well, due), "gpu/*/health/tpc_repair_pending").restore == ""


def test_a_limit_below_its_default_is_right_where_the_baseline_had_it() -> None:
    lowered = host(*[Gpu(power_limit=450_000, power_default_limit=700_000)] * 2)
    assert gate(lowered).outcome == "fail"
    assert gate(lowered, lowered).outcome == "pass"


def test_a_gpu_that_is_gone_fails() -> None:
    it = gate({**host(), "gpu": Gpus(gpus=Map({ONE: Gpu(power_limit=700_000)}))}, host())
    assert states(it) == {f"gpu/{OTHER}": "failed"}


def test_a_baseline_of_root_and_a_gate_of_a_plain_user_give_a_usable_verdict() -> None:
    """What only root may read is not known now, and lets the gate pass; a change that can be seen still stops it."""
    blind = Gpu(power_limit=700_000, uuid=DENIED, persistence_mode=DENIED)
    before = host(Gpu(power_limit=700_000, uuid="GPU-1", persistence_mode="enabled"))
    now = replace(snapshot(host(blind)), provenance=replace(snapshot({}).provenance, uid=1000))
    asked = Asked(baseline=Baseline("run-A", snapshot(before)))
    it = decide(asked, now, {}, TODAY)
    assert it.outcome == "pass"
    assert set(states(it).values()) == {"unknown"}
    assert "The baseline was taken as root: what only root may read is compared only where both could." in it.notes
    lowered = replace(now, readings={**now.readings, Key("gpu"): snapshot(host(replace(blind, power_limit=1)))
                                     .readings[Key("gpu")]})  # fmt: skip
    assert decide(asked, lowered, {}, TODAY).outcome == "fail"


def test_a_baseline_of_a_plain_user_and_a_gate_of_root_too() -> None:
    it = gate(host(Gpu(power_limit=700_000, uuid="GPU-1")), host(Gpu(power_limit=700_000, uuid=DENIED)), uid=1000)
    assert it.outcome == "pass"


@pytest.mark.parametrize("code", ["timed_out", "failed"])
def test_what_the_baseline_knew_and_nobody_could_read_now_cannot_be_told(code: Any) -> None:
    it = gate(host(Gpu(power_limit=Gap(code, "NVML hung"))), host())
    assert (it.outcome, states(it)) == ("cannot_tell", {f"gpu/{ONE}/power_limit": "unknown"})


def test_an_area_that_hung_cannot_be_told() -> None:
    now = snapshot(host())
    now = replace(now, readings={**now.readings, Key("gpu"): Reading("timed_out", "hung since 02:00:00")})
    it = decide(Asked(baseline=Baseline("run-A", snapshot(host()))), now, {}, TODAY)
    assert it.outcome == "cannot_tell"
    assert of(it, "gpu").says == "gpu could not be read now (timed out: hung since 02:00:00)"


def test_what_settles_under_load_is_out_of_scope_of_a_baseline() -> None:
    def at(generation: int) -> Any:
        return host(*[Gpu(power_limit=1, busy=0, pcie=Pcie(link_gen_current=generation))] * 2)

    it = gate(at(1), at(4))
    assert it.outcome == "pass"
    assert {check.state for check in it.checks if "link_gen_current" in check.rule} <= {"out_of_scope"}


def test_who_else_is_there_counts_beside_a_baseline_unless_the_baseline_had_it_too() -> None:
    shared = host(Gpu(power_limit=700_000, processes=Map({"7": OnGpu(type="compute")})))
    assert states(gate(shared, host())) == {"foreign-processes": "failed"}
    it = gate(shared, shared)
    assert it.outcome == "pass"
    assert of(it, "foreign-processes").says.endswith("as in the baseline")


def test_another_host_is_said() -> None:
    asked = Asked(baseline=Baseline("run-A", snapshot(host(), host="h2")))
    assert any("is of another host: h2" in note for note in decide(asked, snapshot(host()), {}, TODAY).notes)


def test_what_a_command_would_be_given_is_compared_with_what_the_baselines_was() -> None:
    before = Process(env=Map({"NCCL_PROTO": "LL", "SECRET": Redacted("k", "1")}), affinity="0-47", cwd="/a")
    now = Process(env=Map({"NCCL_PROTO": "Simple", "SECRET": Redacted("k", "2")}), affinity="0-47", cwd="/b")
    it = gate(host(), host(), own=now, given=before)
    assert states(it) == {"process/main/env/NCCL_PROTO": "failed", "process/main/env/SECRET": "warned"}
    assert any(note.startswith("Environment, affinity and limits are those") for note in it.notes)


def test_the_home_of_another_user_and_what_lies_below_it_stop_nothing() -> None:
    def of_user(home: str, cache: str) -> Process:
        env = {"HOME": home, "HF_HOME": f"{home}/.cache/hf", "XDG_CACHE_HOME": cache, "PATH": f"{home}/bin:/usr/bin"}
        return Process(env=Map(env), affinity="0-47")

    it = gate(host(), host(), own=of_user("/home/ci", "/scratch"), given=of_user("/root", "/root/.cache"))
    assert states(it) == {
        "process/main/env/HF_HOME": "warned", "process/main/env/HOME": "warned", "process/main/env/PATH": "warned",
        "process/main/env/XDG_CACHE_HOME": "failed",
    }  # fmt: skip
    assert "/root -> /home/ci (the home of another user)" in of(it, "process/main/env/HOME").says
    same = gate(host(), host(), own=of_user("/root", "/root/other"), given=of_user("/root", "/root/.cache"))
    assert states(same) == {"process/main/env/XDG_CACHE_HOME": "failed"}


def test_a_baseline_without_a_command_is_compared_without_its_environment() -> None:
    it = gate(host(), host(), own=Process(affinity="0-3"))
    assert not [check for check in it.checks if check.rule.startswith("process")]
    assert any(note.startswith("The environment is not compared") for note in it.notes)


# Policies


def test_a_policy_takes_the_place_of_the_hosts_own_rule_on_the_same_fact() -> None:
    lowered = host(*[Gpu(power_limit=450_000, power_default_limit=700_000)] * 2)
    it = gate(lowered, None, '[[expect]]\nfact = "gpu/*/power_limit"\nequals = 450\nunit = "W"')
    assert it.outcome == "pass"
    assert "power-limit" not in {check.rule for check in it.checks}


def test_what_a_policy_lets_vary_is_no_failure() -> None:
    it = gate(host(Gpu(power_limit=450_000)), host(), 'vary = ["gpu/*/power_limit"]')
    assert it.outcome == "pass"
    assert of(it, f"gpu/{ONE}/power_limit").says.endswith("(declared: it may differ)")


def test_a_waiver_is_told_with_its_owner_and_one_that_expired_by_a_note() -> None:
    waiver = '[[waive]]\nfact = "gpu/**"\nreason = "riser ordered"\nowner = "ops"\nexpires = {}'
    now, before = host(Gpu(power_limit=450_000)), host()
    it = gate(now, before, waiver.format("2026-12-31"))
    assert (it.outcome, states(it)) == ("pass", {f"gpu/{ONE}/power_limit": "waived"})
    assert [(waived.owner, waived.used, waived.expired) for waived in it.waivers] == [("ops", 1, False)]
    late = gate(now, before, waiver.format("2026-11-29"))
    assert late.outcome == "fail"
    assert "p.toml:1: the waiver of gpu/** (riser ordered) expired on 2026-11-29: ask ops." in late.notes


def test_a_waiver_may_be_for_one_device_of_a_change_on_several() -> None:
    waiver = f'[[waive]]\nfact = "gpu/{ONE}"\nreason = "r"\nowner = "o"\nexpires = 2027-01-01'
    it = gate(host(*[Gpu(power_limit=450_000)] * 2), host(), waiver)
    assert sorted((check.state, check.facts) for check in it.checks if check.state in ("failed", "waived")) == [
        ("failed", (f"gpu/{OTHER}/power_limit",)),
        ("waived", (f"gpu/{ONE}/power_limit",)),
    ]


def test_what_stops_it_stands_first() -> None:
    text = '[[expect]]\nfact = "gpu/*/name"\nequals = "A"\n[[expect]]\nfact = "kernel/release"\nequals = "5"'
    assert [check.state for check in gate(host(), None, text).checks][:2] == ["failed", "unknown"]


# Cannot tell is never a pass


@pytest.mark.parametrize(
    ("found", "policies"),
    [
        ({}, ()),
        ({"memory": Memory()}, ('[[expect]]\nfact = "gpu/*/name"\nequals = "A"',)),
        (
            {"gpu": Gpus(gpus=Map({ONE: Gpu(temperature=Temperature(gpu=30))}))},
            ('[[expect]]\nfact = "gpu/*/clocks/sm"\nmin = 1900\nunit = "MHz"\nunknown = "ignore"',),
        ),
        ({"gpu": Gpus(gpus=Gap("timed_out", "NVML hung"))}, ()),
    ],
    ids=["nothing read", "another area", "nothing in scope", "hung"],
)
def test_where_nothing_can_be_checked_it_cannot_tell(found: Any, policies: Sequence[str]) -> None:
    it = gate(found, None, *policies)
    assert it.outcome == "cannot_tell"
    assert it.says.startswith("Cannot tell: ")


def test_what_is_known_to_be_wrong_outweighs_what_is_not_known() -> None:
    it = gate(host(Gpu(power_limit=450_000, uuid=Gap("failed"))), host(Gpu(power_limit=700_000, uuid="GPU-1")))
    assert it.outcome == "fail"
    assert it.says == "Do not start: 1 thing is not as expected."


# What is kept of before


def narrow(width: int) -> Any:
    return {"gpu": Gpus(gpus=Map({ONE: Gpu(pcie=Pcie(link_width_current=width, link_width_max=16))}))}


@pytest.mark.parametrize(
    ("widths", "state"),
    [((8, 8, 8), "out_of_scope"), ((8, 8), "failed"), ((8, 16, 8), "failed"), ((), "failed")],
    ids=["never", "too few", "once", "none"],
)
def test_a_maximum_that_the_host_never_reached_is_a_note(widths: Sequence[int], state: str) -> None:
    asked = Asked(earlier=lambda: [snapshot(narrow(width)) for width in widths])
    it = decide(asked, snapshot(narrow(8)), {}, TODAY)
    assert of(it, "link-width").state == state
    assert [note for note in it.notes if "in 3 kept readings of this host it never was" in note] == (
        [of(it, "link-width").says] if state == "out_of_scope" else []
    )


def test_what_is_kept_is_looked_at_only_where_it_matters() -> None:
    def refuse() -> Any:
        raise AssertionError("nobody needs it")

    assert decide(Asked(earlier=refuse), snapshot(narrow(16)), {}, TODAY).outcome == "pass"
