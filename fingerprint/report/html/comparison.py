"""A diff as parts of a page: the five answers in order, each folded where it is long."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fingerprint.explain.contract import EVERY_RUN, ChangedFact, Diff, MetricChange, Side
from fingerprint.report.html.charts import Ratios, ratios, strip
from fingerprint.report.html.page import section
from fingerprint.report.html.suspects import suspects
from fingerprint.report.markup import Child, Html, arrows, join, path, tag
from fingerprint.report.phrases import (
    DURING,
    area_and_name,
    between,
    counted,
    in_both,
    on_which,
    paired,
    ratio,
    remarks,
    sameness,
    starts,
    took,
    values,
    why_unknown,
    with_tails,
)
from fingerprint.words import quantity

SHOWN = 12
SEEN = 8
NAMED = 3
STRIPS = 2
REASONS = 6
MOVED = ("worse", "better", "changed")


def header(diff: Diff) -> Html:
    """The answer, and which two were compared."""
    sides = [_side(letter, side) for letter, side in (("a", diff.a), ("b", diff.b))]
    return tag(
        "header", tag("p", "fingerprint diff", class_="kind"), tag("h1", arrows(diff.headline)), *sides, _same(diff)
    )


def _side(letter: str, side: Side) -> Html:
    return tag("p", tag("b", letter.upper(), class_=f"side {letter}"), " ", tag("b", side.name), " ", starts(side),
               class_="run")  # fmt: skip


def _same(diff: Diff) -> Html:
    same, moved = diff.comparable, [pair for pair in diff.pairing if not pair.how.startswith("same slot")]
    more: list[Html] = []
    if same.epochs_crossed:
        more.append(tag("p", between(same.epochs_crossed)))
    if same.same_command is False:
        commands = (("A", diff.a.command), ("B", diff.b.command))
        more.append(listing((letter, tag("code", command)) for letter, command in commands))
    if moved:
        more.append(listing((paired(pair), pair.how) for pair in moved))
    return tag("div", tag("p", tag("b", "Same experiment? "), same.says or sameness(diff)), more, class_="same")


def parts(diff: Diff) -> Iterator[Child]:
    """All below the header, but for the states themselves."""
    yield from (_metrics(diff), _arithmetic(diff), suspects(diff), _findings(diff), _said(diff), _held_up(diff))
    yield from (_changes(diff), _seen(diff), _ruled_out(diff), _not_known(diff), _blind(diff), _next(diff))


def listing(rows: Iterable[tuple[Child, Child]], *, broad: bool = False) -> Html:
    """Terms and what is said of each, side by side where there is room. broad: for terms that are paths or phrases."""
    found = [tag("div", tag("dt", term), tag("dd", said)) for term, said in rows]
    return tag("dl", found, class_="broad" if broad else None)


def folded(title: Child, *inner: Child, is_open: bool = False) -> Html:
    return tag("details", tag("summary", title), *inner, open=is_open)


def _metrics(diff: Diff) -> Html | None:
    if not diff.metrics:
        return None
    metrics = with_tails(diff.metrics)
    scale = ratios(metrics)
    ordered = sorted(metrics, key=lambda metric: metric.verdict not in MOVED)
    told = [tag("p", tag("b", ", ".join(names)), f": {remark}") for remark, names in remarks(diff).items()]
    return section("Metrics", _strips(diff), _table(ordered, scale), tag("div", told, class_="remarks"))


def _strips(diff: Diff) -> list[Html]:
    """Of the benchmark's own metrics those that moved, or else all; of what every run measures where it has none."""
    own = [metric for metric in diff.metrics if metric.name not in EVERY_RUN] or list(diff.metrics)
    drawn = [metric for metric in own if metric.verdict in MOVED] or own
    found = [it for metric in drawn if (it := strip(metric, (diff.a.name, diff.b.name)))]
    rest = [folded(f"{len(found) - STRIPS} more distributions", found[STRIPS:])] if found[STRIPS:] else []
    return [*found[:STRIPS], *rest]


def _table(metrics: Sequence[MetricChange], scale: Ratios) -> Html:
    low, high = scale.ends
    where = tag("span", tag("span", low), tag("span", "1"), tag("span", high), class_="ends")
    head = [tag("th", title, scope="col") for title in ("Metric", "A", "B", "B / A")]
    head += [tag("th", where, scope="col", aria_label="B / A, drawn"), tag("th", "Verdict", scope="col")]
    rows = [_metric(metric, scale) for metric in metrics]
    return tag("table", tag("thead", tag("tr", head)), tag("tbody", rows), class_="metrics")


def _metric(metric: MetricChange, scale: Ratios) -> Html:
    sides = [quantity(side.median, metric.unit) if side else "(not measured)" for side in (metric.a, metric.b)]
    return tag(
        "tr",
        tag("th", metric.name, scope="row"),
        [tag("td", side, data_label=letter) for side, letter in zip(sides, "AB", strict=True)],
        tag("td", ratio(metric), data_label="B / A"),
        tag("td", scale.drawn(metric), class_="drawn"),
        tag("td", tag("span", metric.verdict, class_=f"verdict {metric.verdict}")),
    )


def _arithmetic(diff: Diff) -> Html | None:
    told = diff.arithmetic.says if diff.arithmetic else ()
    return section("Arithmetic", [tag("p", arrows(says)) for says in told]) if told else None


def _findings(diff: Diff) -> Html | None:
    if not diff.findings:
        return None
    names = {"a": diff.a.name, "b": diff.b.name}
    rows = ((names[it.side], [tag("p", it.finding.says), tag("p", it.finding.do, class_="do")]) for it in diff.findings)
    return section("Found in one run alone", listing(rows), aside="odd by itself, not only beside the other run")


def _said(diff: Diff) -> Html | None:
    if not diff.said:
        return None
    names = {"a": diff.a.name, "b": diff.b.name}
    rows = [(names[it.side], f"{it.says}.") for it in diff.said]
    return section("Said by one run alone", listing(rows), aside="known messages; only that they were said is kept")


def _held_up(diff: Diff) -> Html | None:
    if not diff.held_up:
        return None
    rows = []
    for item in diff.held_up:
        by = [f"{it.program}: {took(it.a)} beside {diff.a.name}, {took(it.b)} beside {diff.b.name}" for it in item.by]
        rows.append((path(item.fact), [tag("p", line) for line in (item.says, *by)]))
    return section("Held up", listing(rows, broad=True))


def _changes(diff: Diff) -> Html | None:
    """Every change, also those of suspects: here they stand beside each other."""
    kept = sorted(diff.changes, key=lambda it: (it.suspect is None, it.suspect or 0, it.context, bool(it.follows)))
    during = [change for change in kept if change.verdict == DURING]
    others = [change for change in kept if change.verdict != DURING]
    tables = [
        _change_table(title, changes)
        for title, changes in (("Changed while a run ran", during), ("Changed", others), ("Intended", diff.intended))
        if changes
    ]
    return section("What changed", tables) if tables else None


def _change_table(title: str, changes: Sequence[ChangedFact]) -> Html:
    """One table, of which the rest is folded."""
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in ("Fact", "A to B", "Of it")]))
    rows = [_change(change) for change in changes]
    whole = tag("table", tag("caption", f"{title}: {len(rows)}"), head, tag("tbody", rows[:SHOWN]), class_="changes")
    if not rows[SHOWN:]:
        return whole
    rest = tag("table", head, tag("tbody", rows[SHOWN:]), class_="changes")
    return join([whole, folded(f"{len(rows) - SHOWN} more", rest)])


def _change(change: ChangedFact) -> Html:
    notes = [
        "" if change.verdict in ("changed", DURING) else change.verdict,
        on_which(change),
        f"suspect {change.suspect}" if change.suspect else "",
        "follows from another" if change.follows else "context" if change.context else "",
    ]
    sides = "" if change.verdict == "was reset" else arrows(values(change))
    return tag(
        "tr",
        tag("th", path(change.fact), scope="row"),
        tag("td", tag("p", sides), tag("p", change.says, class_="note") if change.says else None),
        tag("td", "; ".join(filter(None, notes)), class_="note"),
    )


def _seen(diff: Diff) -> Html | None:
    """But for what stands under a suspect already."""
    under = {area_and_name(it.fact) for it in chain.from_iterable(suspect.evidence for suspect in diff.suspects)}
    rows = [
        (path(item.fact), [arrows(in_both(item)), f", {item.on}" if item.on else ""])
        for item in diff.during
        if area_and_name(item.fact) not in under
    ]
    if not rows:
        return None
    rest = folded(f"{len(rows) - SEEN} more", listing(rows[SEEN:], broad=True)) if rows[SEEN:] else None
    return section("Seen while they ran", listing(rows[:SEEN], broad=True), rest)


def _ruled_out(diff: Diff) -> Html:
    out, noise = diff.ruled_out, diff.own_noise
    rows = [tag("div", tag("dt", it.title), tag("dd", it.says)) for it in out.groups]
    neither = [folded(f"{len(out.absent)} looked for, and there in neither", paths(out.absent))] if out.absent else []
    if noise and noise.left_out:
        title = f"{len(noise.left_out)} left out: this host moves as much by itself, {noise.says}"
        neither.append(folded(title, paths(noise.left_out)))
    return section("Ruled out", tag("dl", rows), neither, aside=f"{out.count} facts, seen equal in both")


def paths(facts: Sequence[str]) -> Html:
    return tag("p", [[path(fact), " "] for fact in facts], class_="paths")


def _not_known(diff: Diff) -> Html | None:
    """By why; first what may have moved the metric."""
    alike: dict[tuple[bool, str, str, str], list[str]] = {}
    for unknown in diff.not_known:
        alike.setdefault(why_unknown(unknown), []).append(counted(unknown))
    rows = [_unknown(*key, facts) for key, facts in alike.items()]
    rest = folded(f"{len(rows) - REASONS} more", rows[REASONS:]) if rows[REASONS:] else None
    aside = "equal or not, nobody can tell"
    return section("Not known", rows[:REASONS], rest, aside=aside) if rows else None


def _unknown(leads: bool, a: str, b: str, says: str, facts: Sequence[str]) -> Html:
    where = f"{a} in both" if a == b else f"A {a}, B {b}"
    because = (f"{where}: {says}" if says else where).replace("_", " ")
    named = len(facts) if len(facts) <= NAMED else 1
    rest = folded(f"and {len(facts) - named} more", paths(facts[named:])) if facts[named:] else None
    kind = "unknown leads" if leads else "unknown"
    return tag("div", paths(facts[:named]), tag("p", because, class_="note"), rest, class_=kind)


def _blind(diff: Diff) -> Html | None:
    if not diff.blind:
        return None
    rows = listing(((sight.what, sight.look) for sight in diff.blind), broad=True)
    return section("Not read at all", rows, aside="it can move the metric, and no probe sees it")


def _next(diff: Diff) -> Html | None:
    steps = tag("ol", [tag("li", arrows(step)) for step in diff.next])
    return section("Next", steps, id_="next") if diff.next else None
