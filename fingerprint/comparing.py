"""From references to a diff: what the command line and the service share."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.explain import Subject
    from fingerprint.explain.contract import Diff
    from fingerprint.gate.baseline import Baseline
    from fingerprint.noise import Learned
    from fingerprint.runs.run import Run
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import Found, Store, Stores

HISTORY = 50


def compared(
    stores: "Stores",
    one: "Found",
    other: "Found",
    noise_of: "Callable[[str], Learned | None]" = lambda _host: None,
    *,
    metric: str | None = None,
    vary: Sequence[str] = (),
) -> "Diff":
    """The diff of two that were found. noise_of: what was learned of a host. Raises Trouble."""
    from fingerprint.explain import explain

    sides = told_apart(subject(one), subject(other))
    if metric is not None:
        _check_metric(metric, sides)
    noise = noise_of(sides[0].state.host)
    return explain(*_watched(stores, *sides), history(stores, one, other), metric=metric, waivers=vary, noise=noise)


def _watched(stores: "Stores", a: "Subject", b: "Subject") -> "tuple[Subject, Subject]":
    """With what the service noticed from one to the other."""
    from msgspec.structs import replace

    from fingerprint.explain import Noticed

    if a.state.host != b.state.host:
        return a, b
    since, until = min(a.state.first, b.state.first), max(a.state.last, b.state.last)
    each = (it.events(host=b.state.host, kinds=("state",), since=since, until=until) for it in stores.stores)
    events = sorted((event for events in each for event in events), key=lambda event: event.until)
    return a, replace(b, noticed=tuple(Noticed(it.what, it.since, it.until, it.is_) for it in events))


def _check_metric(name: str, sides: "Sequence[Subject]") -> None:
    measured = sorted({known for side in sides for run in side.attempts for known in run.metrics})
    if name not in measured:
        raise Trouble(f"--metric {name} was measured in neither run: there are {', '.join(measured) or 'none'}")


def both(stores: "Stores", a: str | None, b: str | None) -> tuple["Found", "Found"]:
    """What two run arguments mean; the last two runs of one benchmark without any. Raises Trouble."""
    if a is not None and b is not None:
        return stores.resolve(a), stores.resolve(b)
    if a is not None:
        raise Trouble(f"diff needs two runs: name what to compare {a} with, or none for the last two of one benchmark")
    newest = stores.runs(service=False, limit=1)
    of_benchmark = stores.runs(benchmark=newest[0].benchmark, service=False, limit=2) if newest else ()
    if len(of_benchmark) < 2:
        raise Trouble("there are no two runs of one benchmark to compare yet: `fingerprint runs` lists what there is")
    return stores.resolve(of_benchmark[0].id), stores.resolve(of_benchmark[1].id)


def subject(found: "Found") -> "Subject":
    """One side, loaded: a run or all attempts of a series, or a snapshot as it stands."""
    from fingerprint.explain import Subject
    from fingerprint.runs.effective import effective, effective_of_snapshot
    from fingerprint.store import FoundSnapshot

    if isinstance(found, FoundSnapshot):
        return Subject(name=found.id, state=effective_of_snapshot(found.store.snapshot(found.id)))
    attempts = tuple(load(found.store, row.id) for row in found.attempts)
    *earlier, last = (effective(run, _snapshots(found.store, run)) for run in attempts)
    name = attempts[-1].label if len(attempts) == 1 else attempts[-1].opened.name
    return Subject(name=name, state=last, attempts=attempts, earlier=tuple(earlier))


def _snapshots(store: "Store", run: "Run") -> "dict[str, Snapshot]":
    return {id_: store.snapshot(id_) for ids in run.snapshots.values() for id_ in ids}


def told_apart(a: "Subject", b: "Subject") -> tuple["Subject", "Subject"]:
    """Attempts of one series by their numbers, as those of two times: its name alone means all of them."""
    if a.last is None or b.last is None or a.last.opened.name != b.last.opened.name:
        return a, b
    if len(a.attempts) > 1 and len(b.attempts) > 1:
        return _numbered(a), _numbered(b)
    return _numbered(a) if len(a.attempts) == 1 else a, _numbered(b) if len(b.attempts) == 1 else b


def _numbered(side: "Subject") -> "Subject":
    from msgspec.structs import replace

    numbers = dict.fromkeys(str(run.opened.attempt) for run in (side.attempts[0], side.attempts[-1]))
    return replace(side, name=f"{side.attempts[0].opened.name}#{'..'.join(numbers)}")


def load(store: "Store", run_id: str) -> "Run":
    from fingerprint.runs.run import fold

    return fold(run_id, store.records(run_id))


def history(stores: "Stores", one: "Found", other: "Found") -> list["Run"]:
    """Earlier runs of the same benchmark, the two in question left out."""
    from fingerprint.store import FoundRun

    if not (isinstance(one, FoundRun) and isinstance(other, FoundRun)):
        return []
    if one.latest.benchmark != other.latest.benchmark:
        return []
    asked = {attempt.id for found in (one, other) for attempt in found.attempts}
    return [run for run in of_benchmark(stores, one.latest.benchmark) if run.id not in asked]


def of_benchmark(stores: "Stores", benchmark: str) -> list["Run"]:
    """The newest runs of a benchmark that have ended, oldest first."""
    by_origin: dict[str, Store] = {store.origin: store for store in stores.stores}
    rows = stores.runs(benchmark=benchmark, limit=HISTORY)
    return [load(by_origin[row.origin], row.id) for row in rows if row.closed is not None]


def baseline(found: "Found", named: str) -> "Baseline":
    """What `gate` compares with. named: as it was asked for. Raises Trouble where nothing of before is kept."""
    from fingerprint.gate.baseline import Baseline
    from fingerprint.store import FoundSnapshot

    if isinstance(found, FoundSnapshot):
        return Baseline(found.id, found.store.snapshot(found.id))
    run = load(found.store, found.latest.id)
    before = run.snapshots.get("before", ())
    if not before:
        raise Trouble(f"--baseline {named}: {run.label} kept nothing of before it began: name another run")
    return Baseline(run.label, found.store.snapshot(before[-1]), run.passed.get("process"))
