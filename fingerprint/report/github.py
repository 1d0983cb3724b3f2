"""A gate's verdict for GitHub Actions: a workflow command for each check that is not as it should be.

The runner acts on each line that begins with `::`, and shows it in the log and beside the change. What comes from
outside is escaped as its toolkit does, so that none of it is a command.
"""

from fingerprint.gate.contract import Check, State, Verdict
from fingerprint.report.phrases import policy_line
from fingerprint.words import clean

SHOWN = 9
"""The runner shows ten annotations of a kind for each step."""
_OUTCOMES = {"pass": "notice", "fail": "error", "cannot_tell": "error"}
_WARNS: tuple[State, ...] = ("warned", "failed")


def render(verdict: Verdict) -> str:
    """The answer, then what stops the gate, then what it warns of."""
    stops = [check for check in verdict.checks if check.stops]
    warns = [check for check in verdict.checks if not check.stops and check.state in _WARNS]
    answer = command(_OUTCOMES[verdict.outcome], clean(verdict.says), title="fingerprint gate")
    return "".join(f"{line}\n" for line in (answer, *_annotated("error", stops), *_annotated("warning", warns)))


def command(name: str, message: str, **properties: str | int) -> str:
    """One workflow command. message: lines are parted by newlines."""
    told = ",".join(f"{key}={_escaped(str(value), in_property=True)}" for key, value in properties.items())
    return f"::{name}{' ' * bool(told)}{told}::{_escaped(message)}"


def _escaped(text: str, *, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def _annotated(kind: str, checks: list[Check]) -> list[str]:
    lines = [_annotation(kind, check) for check in checks[:SHOWN]]
    more = f"and {len(checks) - SHOWN} more: the step summary, or --format text, has all"
    return [*lines, command(kind, more, title="fingerprint gate")] if checks[SHOWN:] else lines


def _annotation(kind: str, check: Check) -> str:
    """Beside its line of the policy, where it is of one."""
    place = policy_line(check)
    where: dict[str, str | int] = {"file": place[0], "line": place[1]} if place else {}
    more = (("why", check.reason), ("restore", check.restore))
    message = [clean(check.says), *(f"{word}: {clean(text)}" for word, text in more if text)]
    return command(kind, "\n".join(message), title=f"gate: {clean(check.rule)}", **where)
