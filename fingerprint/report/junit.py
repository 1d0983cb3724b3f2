"""A gate's verdict as JUnit XML: a test case for each check, as Jenkins and GitLab read it.

There is a failure or an error exactly where something stops the gate: what could not be read and stops it is an
error, what may be is skipped.
"""

from fingerprint.gate.contract import Check, Verdict
from fingerprint.report.markup import Html, join, tag
from fingerprint.report.phrases import policy_line

SKIPPED = ("unknown", "waived", "out_of_scope")


def render(verdict: Verdict) -> str:
    """One suite; its properties say against what the host was held."""
    counts = {
        "tests": len(verdict.checks),
        "failures": sum(check.stops and check.state == "failed" for check in verdict.checks),
        "errors": sum(check.stops and check.state != "failed" for check in verdict.checks),
        "skipped": sum(not check.stops and check.state in SKIPPED for check in verdict.checks),
    }
    told = [("says", verdict.says), ("baseline", verdict.baseline), *(("policy", name) for name in verdict.policies)]
    suite = tag(
        "testsuite",
        tag("properties", [tag("property", name=name, value=value) for name, value in told]),
        [_case(check) for check in verdict.checks],
        tag("system-out", verdict.says, "".join(f" {note}" for note in verdict.notes)),
        name="fingerprint gate", hostname=verdict.host, timestamp=verdict.taken_at.rstrip("Z"),
        time=f"{verdict.waited_s:g}", **counts,
    )  # fmt: skip
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tag("testsuites", suite)}\n'


def _case(check: Check) -> Html:
    return tag("testcase", _result(check), _out(check), name=check.rule, classname=_class(check), time="0")


def _class(check: Check) -> str:
    """What a report groups by: the policy without the line, or the baseline."""
    where = policy_line(check)
    return ".".join(filter(None, ("gate", check.origin, where[0].replace("/", ".") if where else check.source)))


def _result(check: Check) -> Html | None:
    if check.stops:
        kind = "failure" if check.state == "failed" else "error"
        return tag(kind, _details(check), message=check.says, type=check.state)
    return tag("skipped", message=check.says) if check.state in SKIPPED else None


def _out(check: Check) -> Html | None:
    return tag("system-out", f"warning: {check.says}") if check.state == "warned" else None


def _details(check: Check) -> Html:
    lines = [f"expected: {check.expected}", f"facts: {', '.join(check.facts)}"]
    more = (("on", check.on), ("why", check.reason), ("restore", check.restore))
    return Html("\n".join(map(join, [*lines, *(f"{word}: {text}" for word, text in more if text)])))
