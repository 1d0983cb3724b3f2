"""A gate's verdict for a person; made from its contract alone."""

from collections.abc import Iterator, Sequence

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.gate.contract import Check, State, Verdict
from fingerprint.report.layout import FACT, LABEL, heading, indented, printed, rows, said
from fingerprint.report.phrases import listed
from fingerprint.words import clean

TITLES: dict[State, str] = {
    "failed": "Not as expected",
    "unknown": "Could not be read",
    "warned": "Worth a look",
    "waived": "Waived",
    "out_of_scope": "Nothing to check",
    "ok": "As expected",
}
ALWAYS: Sequence[State] = ("failed", "unknown", "warned", "waived")
NAMED = 6
STYLES = {"pass": "bold green", "fail": "bold red", "cannot_tell": "bold yellow"}


def render(verdict: Verdict, *, explain: bool = False, width: int = 80, color: bool = False) -> str:
    """What stops the benchmark, and what to do. explain: each rule with its reading."""
    return printed(_parts(verdict, explain), width=width, color=color)


def _parts(verdict: Verdict, explain: bool) -> Iterator[ConsoleRenderable]:
    yield said(verdict.says, STYLES[verdict.outcome])
    yield said(_head(verdict), LABEL)
    for state, title in TITLES.items():
        checks = [check for check in verdict.checks if check.state == state]
        if checks and (explain or state in ALWAYS):
            yield from _group(title, checks, verdict, explain)
    if verdict.notes:
        yield heading("Notes")
        yield from (indented(note) for note in verdict.notes)
    if not explain:
        yield from _rest(verdict)


def _head(verdict: Verdict) -> str:
    against = [
        f"baseline {verdict.baseline}" if verdict.baseline else "its own defaults and maxima",
        *(f"policy {name}" for name in verdict.policies),
    ]
    waited = f", after {verdict.waited_s:.0f} s" if verdict.waited_s else ""
    return f"{verdict.host}, {verdict.taken_at}{waited}, against {', '.join(against)}"


def _group(title: str, checks: Sequence[Check], verdict: Verdict, explain: bool) -> Iterator[ConsoleRenderable]:
    hidden = [check for check in checks if check.state == "unknown" and not check.stops and not explain]
    shown = [check for check in checks if check not in hidden]
    yield heading(title, "" if title != "Could not be read" or any(it.stops for it in shown) else "lets it pass")
    alike: dict[str, list[Check]] = {}
    for check in shown:
        alike.setdefault(check.says, []).append(check)
    yield from rows([_line(checks, verdict) for checks in alike.values()], indent=2)
    if hidden:
        names = listed([check.rule for check in hidden], NAMED)
        yield indented(said(f"{names}: why and what would help tells fingerprint doctor", LABEL))


def _line(alike: Sequence[Check], verdict: Verdict) -> tuple[Text, Text]:
    """Of rules that found the same."""
    check = alike[0]
    told = Text(clean(check.says))
    for word, text in (("why", check.reason), ("restore", check.restore), ("waived", _waiver(check, verdict))):
        if text and (word != "why" or check.state in ALWAYS):
            told.append(f"\n{word} ", LABEL).append(clean(text))
    names = listed(list(dict.fromkeys(_name(it) for it in alike)), 3)
    return said(names, FACT), told


def _name(check: Check) -> str:
    """Of a policy the file's name and the line, of the baseline its name, else the rule."""
    return check.source.rpartition("/")[2] or check.rule


def _waiver(check: Check, verdict: Verdict) -> str:
    if check.waiver is None:
        return ""
    waiver = verdict.waivers[check.waiver]
    return f"until {waiver.expires} by {waiver.owner}: {waiver.reason}"


def _rest(verdict: Verdict) -> Iterator[ConsoleRenderable]:
    counts = {state: sum(check.state == state for check in verdict.checks) for state in ("ok", "out_of_scope")}
    told = f"{counts['ok']} as expected, {counts['out_of_scope']} with nothing to check: --explain lists them"
    yield heading("", told)
