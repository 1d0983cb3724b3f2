"""A verdict for a person: what stops the benchmark first, and what to do about it."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from fingerprint.gate.contract import SCHEMA, Check, Verdict, Waiver
from fingerprint.report.gate import render
from fingerprint.report.json import render as as_json
from fingerprint.report.json import schema

CHECK = Check(
    rule="power-limit", origin="nominal", source="", facts=("gpu/*/power_limit",), expected="at least 700 W",
    found=450_000, values={}, unit="mW", on="8/8", severity="fail", state="failed", stops=True,
    reason="Under load clocks fall to fit it", says="gpu/*/power_limit is 450 W on 8 of 8, expected at least 700 W",
    restore="nvidia-smi -pl 700", waiver=None,
)  # fmt: skip
WAIVER = Waiver(
    fact="gpu/**", reason="riser ordered", owner="ops", expires="2027-01-31", source="p.toml:9", used=1, expired=False
)


def check(**changed: Any) -> Check:
    return msgspec.structs.replace(CHECK, **changed)


def verdict(*checks: Check, **changed: Any) -> Verdict:
    told: dict[str, Any] = {
        "schema": SCHEMA, "outcome": "fail", "says": "Do not start: 1 thing is not as expected.", "host": "h1",
        "taken_at": "2026-11-30T02:00:00Z", "baseline": "", "policies": (), "waited_s": 0, "checks": checks,
        "waivers": (WAIVER,), "notes": (),
    }  # fmt: skip
    return Verdict(**told | changed)


def words(text: str) -> str:
    return " ".join(text.split())


def test_what_stops_it_is_told_with_its_reason_and_the_command_that_restores_it() -> None:
    assert render(verdict(check()), width=100) == (
        "Do not start: 1 thing is not as expected.\n"
        "h1, 2026-11-30T02:00:00Z, against its own defaults and maxima\n"
        "\n"
        "Not as expected\n"
        "  power-limit  gpu/*/power_limit is 450 W on 8 of 8, expected at least 700 W\n"
        "               why Under load clocks fall to fit it\n"
        "               restore nvidia-smi -pl 700\n"
        "\n"
        "  0 as expected, 0 with nothing to check: --explain lists them\n"
    )


def test_it_says_against_what_and_how_long_it_waited() -> None:
    it = verdict(baseline="run-A", policies=("ci/p.toml at main",), waited_s=12.4)
    assert "after 12 s, against baseline run-A, policy ci/p.toml at main" in words(render(it, width=200))


def test_who_answers_for_a_waived_check_is_named() -> None:
    text = words(render(verdict(check(state="waived", stops=False, waiver=0)), width=200))
    assert "waived until 2027-01-31 by ops: riser ordered" in text


def test_what_could_not_be_read_and_lets_it_pass_is_one_line() -> None:
    unread = [check(rule=f"rule-{n}", state="unknown", stops=False, says=f"{n}: it is denied") for n in range(9)]
    text = words(render(verdict(*unread), width=200))
    assert "rule-0, rule-1, rule-2, rule-3, rule-4, rule-5 and 3 more: why and what would help tells" in text
    assert "denied" not in text
    assert "8: it is denied" in words(render(verdict(*unread), explain=True, width=200))


def test_explain_lists_what_is_right_and_what_is_not_checked_alike_ones_together() -> None:
    ok = check(state="ok", stops=False, says="gpu/*/power_limit is 700 W on 8 of 8")
    absent = [check(rule=rule, state="out_of_scope", stops=False, says="gpu: it is absent") for rule in ("a", "b")]
    text = words(render(verdict(ok, *absent), explain=True, width=200))
    assert "As expected power-limit gpu/*/power_limit is 700 W on 8 of 8" in text
    assert "Nothing to check a, b gpu: it is absent" in text
    assert "700 W" not in render(verdict(ok), width=200)


def test_a_policys_rule_is_named_by_file_and_line() -> None:
    text = render(verdict(check(origin="policy", source="ci/policies/p.toml:4")), width=100)
    assert "  p.toml:4  gpu/*/power_limit is 450 W" in text


def test_nothing_from_outside_reaches_the_terminal_as_a_control() -> None:
    hostile = check(says="\x1b[2Jgone", reason="\x07", rule="[bold]x[/bold]")
    text = render(verdict(hostile, notes=("\x1b]0;title",)), width=100)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text


@pytest.mark.parametrize("found", [450_000, {"gap": "denied"}, {"redacted": True}, None, ["a"], True])
def test_the_json_is_valid_by_its_schema_and_loads_back(found: Any) -> None:
    it = verdict(check(found=found))
    jsonschema.validate(json.loads(as_json(it)), schema(Verdict), cls=jsonschema.Draft202012Validator)
    assert msgspec.json.decode(as_json(it), type=Verdict) == it


def test_a_verdict_of_another_schema_is_refused() -> None:
    told = json.loads(as_json(verdict())) | {"schema": "fingerprint.gate/2"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, schema(Verdict))
