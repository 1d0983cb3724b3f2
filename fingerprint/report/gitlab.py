"""A gate's verdict as a Code Quality report, which GitLab shows beside a merge request."""

import json
from hashlib import blake2b

from fingerprint.gate.contract import Check, Verdict
from fingerprint.report.phrases import policy_line
from fingerprint.words import clean

NOWHERE = "fingerprint-gate"
"""GitLab wants a path: what stands in no policy of the repository has none."""


def render(verdict: Verdict) -> str:
    """One entry for each check that is not as it should be; an empty list where all are."""
    told = [check for check in verdict.checks if check.stops or check.state in ("failed", "warned", "waived")]
    return json.dumps([_entry(check) for check in told], indent=2) + "\n"


def _entry(check: Check) -> dict[str, object]:
    path, line = policy_line(check) or (NOWHERE, 1)
    return {
        "description": ". ".join(clean(text).rstrip(".") for text in (check.says, check.reason) if text),
        "check_name": clean(check.rule),
        "fingerprint": _digest(check),
        "severity": _severity(check),
        "location": {"path": path, "lines": {"begin": line}},
    }


def _severity(check: Check) -> str:
    if check.stops:
        return "critical" if check.state == "failed" else "major"
    return "info" if check.state == "waived" else "minor"


def _digest(check: Check) -> str:
    """The same for the same check of another job, whatever it found, so that GitLab can tell what is new."""
    where = policy_line(check)
    rule = "\0".join((check.origin, where[0] if where else check.source, check.rule, *check.facts))
    return blake2b(rule.encode(errors="surrogatepass"), digest_size=16).hexdigest()
