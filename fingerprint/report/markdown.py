"""A diff or a run as Markdown for a pull request, a merge request or a step summary: GitHub's and GitLab's dialect.

What comes from outside is kept from being markup: paths and commands stand in code spans, words are escaped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from shlex import quote
from typing import Any

from fingerprint.explain.contract import ChangedFact, Diff, MetricChange, Suspect
from fingerprint.gate.contract import Check, State, Verdict
from fingerprint.report.phrases import (
    between,
    counted,
    grown_facts,
    in_both,
    listed,
    measured,
    moved_during,
    named,
    no_suspect,
    on_which,
    ratio,
    remarks,
    said_of,
    sameness,
    span,
    starts,
    suspect_change,
    values,
    why_unknown,
    with_tails,
)
from fingerprint.words import clean, in_words, moment, quantity

IN_FULL = 3
SHOWN = 20
_MARKS = re.compile(r"[\\`*_{}\[\]#!|~$^]")
_BACKTICKS = re.compile(r"`+")


def words(text: str) -> str:
    """Plain words, whatever they hold; an `@` calls nobody."""
    escaped = _MARKS.sub(r"\\\g<0>", escape(clean(text), quote=False))
    return escaped.replace("@", "@<!-- -->")


def code(text: str) -> str:
    """A code span that its text cannot end."""
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(text)), default=0) + 1)
    room = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{room}{clean(text)}{room}{fence}"


def cell(text: str) -> str:
    """A code span in a table, whose cells a `|` would end; elsewhere the backslash would be shown, and copied."""
    return code(text).replace("|", "\\|")


def render_diff(diff: Diff) -> str:
    """The five answers; long lists are folded."""
    blocks = (_head(diff), _metrics(diff), _suspects(diff), _changes(diff), _rest(diff), _next(diff))
    return _text(block for each in blocks for block in each)


def render_verdict(verdict: Verdict) -> str:
    """What a gate says: for a step summary."""
    return _text(_verdict(verdict))


def render(document: Mapping[str, Any]) -> str:
    """A run or a snapshot, from its published document."""
    return _text(_run(document) if document["schema"] == "fingerprint.run/1" else _snapshot(document))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def folded(title: str, text: str) -> str:
    """title: words of ours."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _text(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _head(diff: Diff) -> Iterator[str]:
    yield f"### {words(diff.headline)}"
    sides = (("A", diff.a), ("B", diff.b))
    yield "\n".join(f"- **{letter}** {code(side.name)} {words(starts(side))}" for letter, side in sides)
    same = diff.comparable.says or sameness(diff)
    yield f"**Same experiment?** {words(f'{same} {between(diff.comparable.epochs_crossed)}'.strip())}"


def _metrics(diff: Diff) -> Iterator[str]:
    if diff.metrics:
        yield table(("Metric", "A", "B", "B / A", ""), map(_metric, with_tails(diff.metrics)))
        yield "\n".join(f"- {words(f'{listed(names, 4)}: {says}')}" for says, names in remarks(diff).items())
    if diff.arithmetic and diff.arithmetic.says:
        yield words(" ".join(diff.arithmetic.says))


def _metric(metric: MetricChange) -> Sequence[str]:
    sides = [quantity(side.median, metric.unit) if side else "(not measured)" for side in (metric.a, metric.b)]
    verdict = f"**{metric.verdict}**" if metric.verdict in ("worse", "better", "changed") else metric.verdict
    return cell(metric.name), *map(words, sides), words(ratio(metric)), verdict


def _suspects(diff: Diff) -> Iterator[str]:
    moved = any(metric.verdict in ("worse", "better", "changed") for metric in diff.metrics)
    yield "#### Suspects" if moved or not diff.suspects else "#### Suspects, if the change is real"
    if not diff.suspects:
        yield words(no_suspect(diff))
    grown = grown_facts(diff)
    told = [(_suspect_line(suspect, suspect_change(suspect, grown)), _evidence(suspect)) for suspect in diff.suspects]
    yield from (f"{line}\n\n{evidence}" for line, evidence in told[:IN_FULL])
    if told[IN_FULL:]:
        yield folded(f"{len(told) - IN_FULL} more suspects", "\n".join(line for line, _ in told[IN_FULL:]))
    yield "\n".join(f"- {words(it.says)}." for it in diff.said if it.suspect is None)
    if left := diff.unexplained:
        yield words(f"Unexplained {left.says}: {span(left.low, left.high, left.unit)}.")


def _suspect_line(suspect: Suspect, change: str) -> str:
    on = f" on {words(suspect.on)}" if suspect.on else ""
    return f"{suspect.rank}. {code(suspect.facts[0])} {words(change)}{on}, **{suspect.likelihood}**"


def _evidence(suspect: Suspect) -> str:
    lines = [f"   - {term}: {words(says)}" for term, says in named(suspect)]
    commands = (("restore", suspect.restore), ("check", suspect.check))
    return "\n".join([*lines, *(f"   - {term}: {code(command)}" for term, command in commands if command)])


def _changes(diff: Diff) -> Iterator[str]:
    for title, changes in (("facts changed", diff.changes), ("intended", diff.intended)):
        if changes:
            more = f"\n\nand {len(changes) - SHOWN} more" if changes[SHOWN:] else ""
            rows = table(("Fact", "A to B", ""), map(_change, changes[:SHOWN]))
            yield folded(f"{len(changes)} {title}", rows + more)
    if diff.during:
        rows = table(("Fact", "A to B"), ((cell(it.fact), words(in_both(it))) for it in diff.during[:SHOWN]))
        yield folded(f"{len(diff.during)} seen while they ran", rows)


def _change(change: ChangedFact) -> Sequence[str]:
    notes = ["" if change.verdict == "changed" else change.verdict, on_which(change), change.says]
    sides = "" if change.verdict == "was reset" else values(change)
    return cell(change.fact), words(sides), words("; ".join(filter(None, notes)))


def _rest(diff: Diff) -> Iterator[str]:
    out = diff.ruled_out
    groups = "; ".join(f"{group.title}: {group.says}" for group in out.groups)
    yield words(f"Ruled out: {out.count} facts, seen equal in both. {groups}")
    if diff.not_known:
        rows = "\n".join(_unknown(diff)[:SHOWN])
        yield folded(f"{sum(unknown.facts for unknown in diff.not_known)} not known", rows)
    if diff.blind:
        yield words(f"Not read at all: {'; '.join(f'{sight.what}: {sight.look}' for sight in diff.blind)}")


def _unknown(diff: Diff) -> list[str]:
    alike: dict[str, list[str]] = {}
    for unknown in diff.not_known:
        _, a, b, says = why_unknown(unknown)
        where = f"{a} in both" if a == b else f"A {a}, B {b}"
        alike.setdefault(f"{where}: {says}" if says else where, []).append(counted(unknown))
    return [f"- {words(f'{listed(facts, 3)}: {why}')}" for why, facts in alike.items()]


def _next(diff: Diff) -> Iterator[str]:
    if diff.next:
        yield "#### Next"
        yield "\n".join(f"{number}. {words(step)}" for number, step in enumerate(diff.next, 1))


def _run(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {words(document['name'])}#{document['attempt']} {words(document['ended'])}"
    command = " ".join(quote(word) if isinstance(word, str) else "(private)" for word in document["argv"])
    yield f"{code(command)} on {words(document['host'])}, {moment(document['opened_at'])}"
    if document["metrics"]:
        rows = ((cell(name), words(measured(it))) for name, it in document["metrics"].items())
        yield table(("Metric", ""), rows)
    if document["workload"]:
        yield table(("Workload", ""), ((cell(key), words(in_words(it))) for key, it in document["workload"].items()))
    yield "\n".join(f"- {words(it['says'])} {words(it['do'])}" for it in document["findings"])
    yield "\n".join(f"- {words(f'{text}: {said_of(told)}')}" for text, told in document["said"].items())
    yield "\n".join(f"- {code(fact)} {words(says)}, while it ran" for fact, says in moved_during(document))
    yield "\n".join(f"- {words(text)}" for text in (*document["troubles"], *document["notes"]))
    yield _sections(document)


def _snapshot(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {words(document['host'])}, {moment(document['taken_at'])}"
    yield _sections(document)


def _sections(document: Mapping[str, Any]) -> str:
    rows = [(cell(name), words(_outcome(it))) for name, it in document["sections"].items()]
    return folded(f"{len(rows)} sections were read", table(("Section", ""), rows))


def _outcome(section: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, (section["outcome"].replace("_", " "), section["detail"])))


_TITLES: Mapping[State, str] = {
    "failed": "Not as expected", "unknown": "Could not be read", "warned": "Worth a look", "waived": "Waived",
}  # fmt: skip


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield f"### {words(verdict.says)}"
    against = verdict.baseline or "its own defaults and maxima"
    yield f"{words(verdict.host)}, {verdict.taken_at}, against {words(', '.join((against, *verdict.policies)))}"
    for state, title in _TITLES.items():
        checks = [check for check in verdict.checks if check.state == state]
        if checks:
            rows = table(("Rule", title, "Restore"), map(_check, checks))
            yield rows if state in ("failed", "warned") or any(it.stops for it in checks) else _all(title, checks, rows)
    yield "\n".join(f"- {words(note)}" for note in verdict.notes)
    rest = [check for check in verdict.checks if check.state in ("ok", "out_of_scope")]
    if rest:
        yield _all("as expected, or nothing to check", rest, table(("Rule", ""), _alike(rest)))


def _all(title: str, checks: Sequence[Check], rows: str) -> str:
    return folded(f"{len(checks)} {title[:1].lower()}{title[1:]}", rows)


def _alike(checks: Sequence[Check]) -> Iterator[Sequence[str]]:
    """Of rules that found the same, as that there is no GPU, one row; why they are asked tells of what is not so."""
    rules: dict[str, list[str]] = {}
    for check in checks:
        rules.setdefault(check.says, []).append(check.rule)
    yield from ((", ".join(map(cell, dict.fromkeys(named))), words(says)) for says, named in rules.items())


def _check(check: Check) -> Sequence[str]:
    says = f"{check.says} ({check.reason})" if check.reason else check.says
    return cell(check.rule), words(says), cell(check.restore) if check.restore else ""
