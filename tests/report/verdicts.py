"""Verdicts of a gate by name, each built by hand."""

from collections.abc import Mapping
from typing import Any

from fingerprint.gate.contract import SCHEMA, Check, Verdict, Waiver


def check(rule: str, state: Any, *, stops: bool = False, **more: Any) -> Check:
    empty: dict[str, Any] = {
        "origin": "nominal", "source": "", "facts": (f"gpu/*/{rule}",), "expected": "at least 600 W", "found": None,
        "values": {}, "unit": "", "on": "", "severity": "fail" if stops else "warn", "reason": "", "restore": "",
        "says": f"{rule} is not as it should be", "waiver": None,
    }  # fmt: skip
    return Check(**{"rule": rule, "state": state, "stops": stops} | empty | more)


def verdict(outcome: Any, says: str, *checks: Check, **more: Any) -> Verdict:
    empty: dict[str, Any] = {
        "schema": SCHEMA, "host": "h200-04", "taken_at": "2026-03-02T21:04:11Z", "baseline": "", "policies": (),
        "waited_s": 0.0, "waivers": (), "notes": (),
    }  # fmt: skip
    return Verdict(**{"outcome": outcome, "says": says, "checks": checks} | empty | more)


READY = verdict("pass", "Ready: 2 checks passed.", check("power-limit", "ok"), check("swap", "out_of_scope"))

NOT_READY = verdict(
    "fail", "Not ready: the power limit of 8 of 8 GPUs is below its default.",
    check("power-limit", "failed", stops=True, on="8/8", says="gpu/*/power_limit is 450 W on 8/8, not at least 600 W",
          reason="throughput fell 100 %: x 0.64", restore="nvidia-smi -pl 600"),
    check("kernel/tracing/*", "unknown", stops=True, origin="policy", source="./policies/quiet, fast.toml:12",
          says="kernel/tracing/current_tracer could not be read: denied", reason="a tracer slows each call"),
    check("cpu/*/governor", "warned", origin="policy", source="policies/ci.toml at origin/main:3",
          says="the governor is powersave"),
    check("gpu/*/uuid", "waived", origin="baseline", source="run-A", says="another part", waiver=0),
    check("numa/balancing", "unknown", says="it could not be read: absent"),
    check("memory/swap", "ok"),
    check("pcie/link", "out_of_scope"),
    baseline="run-A", policies=("policies/ci.toml",), waited_s=62.5, notes=("This host never reached 2430 MHz.",),
    waivers=(Waiver(fact="gpu/*/uuid", reason="one board was replaced", owner="ops", expires="2026-04-01",
                    source="policies/ci.toml:20", used=1, expired=False),),
)  # fmt: skip

CANNOT_TELL = verdict(
    "cannot_tell", "Cannot tell: no GPU could be read.",
    check("gpu/*/power_limit", "unknown", stops=True, origin="baseline", source="run-A", says="denied"),
    baseline="run-A",
)  # fmt: skip

MANY = verdict(
    "fail", "Not ready: 40 things.", *(check(f"rule-{n}", "failed", stops=True) for n in range(40)),
)  # fmt: skip

VERDICTS: Mapping[str, Verdict] = {
    "ready": READY, "not-ready": NOT_READY, "cannot-tell": CANNOT_TELL, "many": MANY,
}  # fmt: skip
