"""What moves on a host by itself: learned from snapshots taken while nobody changes anything.

State, counters and telemetry may move, and how far is learned. A lasting fact that somebody sets, or that says which
part this is, does not move by itself: where one did, that is a finding and never noise. What settles in a condition is
learned while it holds: how an idle GPU's clock moves excuses nothing under load.
"""

import math
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec.structs import replace

from fingerprint.conditions import Conditions
from fingerprint.diff.changes import SEEN_TO_CHANGE, Verdict
from fingerprint.diff.known import ProbeOf, probe_of
from fingerprint.diff.verdicts import is_unknown, verdict_of
from fingerprint.folders import state_folder
from fingerprint.sections import leaves
from fingerprint.snapshot import Key, Snapshot
from fingerprint.trouble import Trouble
from fingerprint.walk import Difference, differences, within_tolerance
from probes.kit.facts import Fact, Gap, Section

Noisy = Literal["state", "counter", "telemetry"]
COMES_OR_GOES = ("appeared", "vanished")
HOSTS, FACTS, FINDINGS, VALUES, VALUE_LENGTH = 32, 4096, 256, 16, 400
"""What is kept of each at most: what is left out is told as a difference."""
MOST_BYTES = 64 << 20
NO_PLACE = "no place to keep what was learned: set HOME or XDG_STATE_HOME"


class Own(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one fact does by itself.

    moved      how often, of `looks` pairs of readings in a row
    low, high  of a number; of a counter, of its growth per second
    values     of what is no number, as JSON, in the order seen
    """

    kind: Noisy
    unit: str
    moved: int
    looks: int
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()

    def spans(self, low: float, high: float) -> bool:
        return self.low is not None and self.high is not None and self.low <= low and high <= self.high


class Moved(msgspec.Struct, frozen=True):
    """A finding: a lasting fact that did not last.

    before, after, at: of the first time; `at` is when the snapshot that showed it was taken, ns since 1970
    times: how often, of all pairs of readings in a row
    """

    path: str
    fact: Fact
    verdict: Verdict
    before: Any
    after: Any
    at: int
    times: int = 1


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """Of one host. at: ns since 1970, of the first snapshot. changed: paths of lasting facts that moved meanwhile."""

    host: str
    at: int
    seconds: float
    snapshots: int
    facts: Mapping[str, Own]
    changed: tuple[str, ...] = ()

    def showed(self, path: str, unit: str, values: tuple[Any, ...]) -> bool:
        """Whether the state of this path took all these values, or lay on both sides of them, by itself."""
        own = self._own("state", path, unit)
        return own is not None and all(_shown_by(own, value) for value in values)

    def spans(self, kind: Noisy, path: str, unit: str, low: float, high: float) -> bool:
        """Whether that much of a telemetry fact, or growth per second of a counter, lies within what was learned."""
        own = self._own(kind, path, unit)
        return own is not None and own.spans(low, high)

    def _own(self, kind: Noisy, path: str, unit: str) -> Own | None:
        """None too where another release learned it as another kind, or in another unit."""
        own = self.facts.get(path)
        return own if own and (own.kind, own.unit) == (kind, unit) else None


def _shown_by(own: Own, value: Any) -> bool:
    if _is_number(value):
        return own.spans(value, value)
    return not isinstance(value, Gap) and _text(value) in own.values


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


class Learner:
    """Takes in one snapshot after the other, all of one host. Its memory does not grow with their number."""

    def __init__(self, known: ProbeOf = probe_of) -> None:
        self._findings: dict[str, Moved] = {}
        self.unread: dict[str, str] = {}
        """By section, why it was not read whenever it was not."""
        self._known = known
        self._facts: dict[str, _Level | _Growth] = {}
        self._before: dict[Key, Section] = {}
        self._taken = self._pairs = 0
        self._first: tuple[str, int, int] | None = None
        self._last_ns = 0

    @property
    def findings(self) -> tuple[Moved, ...]:
        return tuple(self._findings.values())

    def add(self, snapshot: Snapshot, at_ns: int) -> None:
        """at_ns: monotonic, of the snapshot's beginning."""
        self._taken += 1
        self._first = self._first or (snapshot.host, snapshot.taken_at, at_ns)
        self._last_ns = at_ns
        for key, reading in snapshot.readings.items():
            probe = self._known(key.area)
            section = reading.section(probe.section) if probe else None
            if section is None:
                self.unread[str(key)] = reading.detail or reading.outcome.replace("_", " ")
                continue
            self._compare(key, section, snapshot.taken_at)
            self._fold(key, section, at_ns)

    def learned(self) -> Learned:
        """Of all that was added. Raises ValueError where that is no pair of readings."""
        if self._first is None or not self._pairs:
            raise ValueError("no section was read twice")
        host, taken_at, began_ns = self._first
        found = {path: own for path, fact in sorted(self._facts.items()) if (own := fact.own())}
        return Learned(
            host=host,
            at=taken_at,
            seconds=round((self._last_ns - began_ns) / 1e9, 3),
            snapshots=self._taken,
            facts=dict(islice(found.items(), FACTS)),
            changed=tuple(self._findings),
        )

    def _compare(self, key: Key, section: Section, at: int) -> None:
        before = self._before.get(key)
        self._before[key] = section
        if before is None:
            return
        self._pairs += 1
        for moved in (_finding(key, d, at) for d in differences(before, section) if _does_not_move(d)):
            known = self._findings.get(moved.path)
            if known is not None:
                self._findings[moved.path] = replace(known, times=known.times + 1)
            elif len(self._findings) < FINDINGS:
                self._findings[moved.path] = moved

    def _fold(self, key: Key, section: Section, at_ns: int) -> None:
        found = list(leaves(section))
        conditions = Conditions(found)
        for leaf in found:
            if leaf.fact.kind not in get_args(Noisy) or isinstance(leaf.value, (Gap, frozenset)):
                continue
            if not conditions.hold_for(leaf):
                continue
            path = str(key.path(leaf.names))
            if path not in self._facts:
                self._facts[path] = _Growth(leaf.fact) if leaf.fact.kind == "counter" else _Level(leaf.fact)
            self._facts[path].add(leaf.value, at_ns)


def _does_not_move(d: Difference) -> bool:
    """A settled state may move between values, but the part that has it may not come and go."""
    if is_unknown(d):
        return False
    verdict = verdict_of(d, of_process=False)
    if d.fact.kind == "state":
        return d.fact.lasting and verdict in COMES_OR_GOES
    return d.fact.lasting and verdict in SEEN_TO_CHANGE


def _finding(key: Key, d: Difference, at: int) -> Moved:
    return Moved(str(key.path(d.names)), d.fact, verdict_of(d, of_process=False), d.before, d.after, at)


class _Level:
    """A value that may be another one each time."""

    def __init__(self, fact: Fact) -> None:
        self._looks = self._moved = 0
        self._fact = fact
        self._low, self._high = math.inf, -math.inf
        self._values: dict[str, None] = {}
        self._last: Any = None

    def add(self, value: Any, at_ns: int) -> None:
        if self._last is not None:
            self._looks += 1
            self._moved += value != self._last and not within_tolerance(self._fact, self._last, value)
        self._last = value
        if _is_number(value):
            self._low, self._high = min(self._low, value), max(self._high, value)
        elif len(self._values) < VALUES and len(text := _text(value)) <= VALUE_LENGTH:
            self._values[text] = None

    def own(self) -> Own | None:
        return _own(self._fact, (self._moved, self._looks), (self._low, self._high), tuple(self._values))


class _Growth:
    """A counter; where it fell, what was counted in between is not known."""

    def __init__(self, fact: Fact) -> None:
        self._looks = self._moved = 0
        self._fact = fact
        self._low, self._high = math.inf, -math.inf
        self._last: tuple[int, int] | None = None

    def add(self, value: int, at_ns: int) -> None:
        last, self._last = self._last, (value, at_ns)
        if last is None or value < last[0] or at_ns <= last[1]:
            return
        self._looks += 1
        self._moved += value > last[0]
        rate = (value - last[0]) / ((at_ns - last[1]) / 1e9)
        self._low, self._high = min(self._low, rate), max(self._high, rate)

    def own(self) -> Own | None:
        return _own(self._fact, (self._moved, self._looks), (self._low, self._high), ())


def _own(fact: Fact, counts: tuple[int, int], ends: tuple[float, float], values: tuple[str, ...]) -> Own | None:
    """None for what stood still."""
    moved, looks = counts
    if not moved:
        return None
    low, high = ends if ends[0] <= ends[1] else (None, None)
    kind: Any = fact.kind
    return Own(kind, fact.unit, moved, looks, low, high, values)


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """noise.json: what was learned last of each host that shares this state folder."""

    version: Literal[1] = 1
    hosts: Mapping[str, Learned] = {}


def learned_of(host: str, environ: Mapping[str, str]) -> Learned | None:
    """What was learned last of this host; None where nothing was. Raises Trouble for a file that cannot be used."""
    return _read(path).hosts.get(host) if (path := _path(environ)) else None


def keep(learned: Learned, environ: Mapping[str, str]) -> None:
    """In place of what was known of this host. Raises Trouble where it cannot be kept, or the file be used."""
    path = _path(environ)
    if path is None:
        raise Trouble(NO_PLACE)
    others = {name: known for name, known in _read(path).hosts.items() if name != learned.host}
    newest = sorted((learned, *others.values()), key=lambda known: (known is learned, known.at))[-HOSTS:]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, msgspec.json.encode(_File(hosts={known.host: known for known in newest})))
    except OSError as error:
        raise Trouble(f"{path} cannot be written ({error.strerror}): what was learned is not kept") from None


def check_place(environ: Mapping[str, str]) -> None:
    """Raises Trouble where what is learned could not be kept, or what is kept there not be used."""
    path = _path(environ)
    if path is None:
        raise Trouble(NO_PLACE)
    _read(path)
    there = next(folder for folder in path.parents if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise Trouble(f"{there} cannot be written: nothing could be kept there, so nothing was learned")


def _path(environ: Mapping[str, str]) -> Path | None:
    folder = state_folder(environ)
    return folder / "noise.json" if folder else None


def _read(path: Path) -> _File:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return msgspec.json.decode(file.read(MOST_BYTES), type=_File)
    except (FileNotFoundError, NotADirectoryError):
        return _File()
    except OSError as error:
        raise Trouble(f"{path} cannot be read ({error.strerror}): check who may read it, or delete it") from None
    except msgspec.DecodeError as error:
        raise Trouble(
            f"{path} is damaged, or of another release ({error}): delete it, and let `fingerprint noise` learn anew"
        ) from None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _replace(path: Path, content: bytes) -> None:
    """Whole or not at all, and for its owner alone."""
    draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
