"""One section of A against one of B.

Every lasting fact of A or B ends in exactly one place: among the changes, not known, or ruled out. What an item
that came or went consists of, and the key set that it came to, are told by that item.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

import msgspec

from fingerprint.diff.changes import Change, NotKnown, Paired, Unsteady, Verdict
from fingerprint.diff.documents import changed_parts
from fingerprint.diff.known import UNIT_FACTS, holds_devices, waiting
from fingerprint.diff.owned import package_of
from fingerprint.diff.pairing import SectionPair, device_depth, keys_of_b, under_key_of_a, under_keys_of
from fingerprint.diff.retired import NEWLY, NO_LONGER, following_releases, is_retired, is_up_to_the_reporter
from fingerprint.diff.settling import TOO_FEW, Settled, Told, settled
from fingerprint.diff.tally import seen_in
from fingerprint.diff.verdicts import is_unknown, only_temporary, verdict_of
from fingerprint.diff.why_dark import why_dark
from fingerprint.lost import is_below, is_whole, told_whole, went_dark
from fingerprint.runs.effective import Resolved, Standing, assumed_of, given_at, resolve
from fingerprint.sections import Blob, blob_of, decoder_of, seen
from fingerprint.snapshot import Key
from fingerprint.walk import MISSING, Difference, Names, differences, spread, value_at, without
from probes.kit.facts import NOT_READ, Document, Fact, Gap, Section
from probes.kit.paths import parse_path
from probes.kit.probe import Probe

ENDED_UNREAD = (
    "the command ended before it was read: what it was given is compared, and nobody knows which packages, libraries "
    "and container it had"
)


class Compared(msgspec.Struct, frozen=True):
    changes: tuple[Change, ...] = ()
    not_known: tuple[NotKnown, ...] = ()
    ruled_out: int = 0
    pairing: tuple[Paired, ...] = ()


def compare_sections(pair: SectionPair, probe: Probe[Section] | None, *, same_host: bool) -> Compared:
    """Prunes by digest where it can; `probe` is None for an area that this release does not know."""
    key, a, b = pair
    if a is None or b is None or a.blob is None or b.blob is None:
        return Compared(not_known=(NotKnown(key, (), _outcome(a), _outcome(b), _detail(a) or _detail(b)),))
    if a.parts == b.parts and a.later is None and not _needs_a_look(probe):
        not_known = (*_unread(key, a, b), *_same_gaps(key, a.blob, a.blob))
        return Compared(not_known=not_known, ruled_out=a.blob.seen)
    if probe is None:
        return Compared(not_known=(NotKnown(key, (), "seen", "seen", "this release does not know the area"),))
    try:
        return _Walk(key, probe, a, b, same_host).compared()
    except msgspec.ValidationError as error:
        return Compared(not_known=(NotKnown(key, (), "seen", "seen", f"stored by another release: {error}"),))


def _outcome(side: Standing | None) -> str:
    if side is None:
        return "not_read"
    return side.outcome if side.blob is None else "seen"


def _detail(side: Standing | None) -> str:
    return side.detail if side is not None else ""


def _needs_a_look(probe: Probe[Section] | None) -> bool:
    """Whether equal digests do not tell all: a state of the volatile half, or devices whose pairing is to be said."""
    return probe is not None and (bool(waiting(probe.section)) or holds_devices(probe.section))


def _unread(key: Key, a: Standing, b: Standing) -> Iterator[NotKnown]:
    """Where nobody read a process there is nothing but what it was given."""
    unread = [side.given is not None and side.given is side.blob for side in (a, b)]
    if any(unread):
        x, y = ("not_read" if it else "seen" for it in unread)
        yield NotKnown(key, (), x, y, ENDED_UNREAD)


def _same_gaps(key: Key, a: Blob, b: Blob) -> Iterator[NotKnown]:
    for path, code in a.gaps.items():
        if b.gaps.get(path) == code:
            yield NotKnown(key, _names(path), code, code)


@lru_cache(maxsize=4096)
def _names(path: str) -> Names:
    return parse_path(path) if path else ()


class _Walk:
    """The typed walk of two sections that differ, or may."""

    def __init__(self, key: Key, probe: Probe[Section], a: Standing, b: Standing, same_host: bool) -> None:
        self.key, self.probe = key, probe
        self.standing = (a, b)
        self.a, self.b = resolve(a, probe.section), resolve(b, probe.section)
        self.stored = (self.a.section, self.b.section)
        self.pairing: tuple[Paired, ...] = ()
        if holds_devices(probe.section):
            section, self.pairing = under_keys_of(self.a.section, self.b.section, same_host=same_host)
            self.b = msgspec.structs.replace(self.b, section=section, unsteady=self._under_keys_of_a(self.b.unsteady))
        unsteady = [*self.a.unsteady, *self.b.unsteady]
        self.left, self.right = (without(s, unsteady) if unsteady else s for s in (self.a.section, self.b.section))
        self.spreads: dict[tuple[str | None, ...], int] = {}
        self.dark: set[str] = set()
        self.lost = [d.names for side in (self.a, self.b) for d in side.unsteady.values() if is_whole(d)]

    def _under_keys_of_a(self, found: Mapping[Names, Difference]) -> Mapping[Names, Difference]:
        keys, cls = keys_of_b(self.pairing), self.probe.section
        moved = (
            d._replace(names=under_key_of_a(d.names, cls, keys), item=keys.get(d.item, d.item)) for d in found.values()
        )
        return {d.names: d for d in moved}

    def compared(self) -> Compared:
        found, lost = told_whole([*differences(self.left, self.right)], self.left, self.right)
        told = [self._as_given(self._left_open(d)) for d in found]
        equal = [d for d, answer in zip(found, told, strict=True) if answer is None]
        differing = [d for d in told if d is not None]
        self.lost += lost
        self.dark = {d.item for d in found if went_dark(d)}
        states = self._states([*lost, *self.a.unsteady, *self.b.unsteady])
        changed = (self._change(d) for d in differing if not is_unknown(d))
        return Compared(
            changes=(*changed, *self._unsteady(), *self._of_states(states)),
            not_known=tuple(self._unknown([d for d in differing if is_unknown(d)], lost, states)),
            ruled_out=self._seen_equal(found, lost) + sum(seen(d.before) for d in equal) + len(states.equal),
            pairing=tuple(msgspec.structs.replace(pair, area=self.key.area) for pair in self.pairing),
        )

    def _left_open(self, d: Difference) -> Difference:
        """An item that a collection lacks may be there where not all of them could be told."""
        if not d.fact.complete_by or (d.before is not MISSING and d.after is not MISSING):
            return d
        before, after = (value_at(side, _completing(d)) for side in (self.left, self.right))
        return d._replace(before=_or_why(d.before, before), after=_or_why(d.after, after))

    def _seen_equal(self, found: Sequence[Difference], lost: Sequence[Names]) -> int:
        elsewhere = [d for d in found if d.names not in lost]
        return self._blob(0).seen - seen_in(elsewhere) - sum(seen(value_at(self.left, item)) for item in lost)

    def _unknown(self, found: Sequence[Difference], lost: Sequence[Names], states: Settled) -> Iterator[NotKnown]:
        yield from _unread(self.key, *self.standing)
        yield from (n for n in _same_gaps(self.key, self._blob(0), self._blob(1)) if not is_below(n.names, lost))
        yield from (_not_known(self.key, d) for d in found)
        yield from (_state_not_known(self.key, state) for state in states.unknown)
        yield from (_alike_at_rest(self.key, state) for state in states.alike)

    def _states(self, told: Sequence[Names]) -> Settled:
        """Those that settle under load; none of an item that is told already."""
        states = settled(*self.standing, self.probe.section, self.pairing, told)
        self.spreads.update(states.spread)
        return states

    def _of_states(self, states: Settled) -> Iterator[Change]:
        yield from (self._change(*state) for state in states.changed)
        for d, says in states.unsteady:
            x, y = d.before, d.after
            alike = isinstance(x, Unsteady) and isinstance(y, Unsteady) and {x.first, x.last} == {y.first, y.last}
            change = self._made(d, "changed during the run", x, y, says)
            yield msgspec.structs.replace(change, context=change.context or alike)
        for d, says in states.unlike:
            needed = f"compared only while {d.fact.settled}"
            yield self._made(d, "not comparable", d.before, d.after, f"{needed}; {says}" if says else needed)

    def _blob(self, side: int) -> Blob:
        """Of what was walked: the stored one, unless something was taken out or laid over."""
        standing = self.standing[side]
        walked = (self.left, self.right)[side]
        assert standing.blob is not None
        as_stored = walked is self.stored[side] and standing.later is None and standing.given in (None, standing.blob)
        return standing.blob if as_stored else blob_of(walked)

    def _as_given(self, d: Difference) -> Difference | None:
        """Where only one side was read while it ran, what exec was given is compared with what exec was given."""
        a, b = assumed_of(self.a, d.names), assumed_of(self.b, d.names)
        if a == b or is_unknown(d):
            return d
        x = d.before if a else given_at(self.a, d.names)
        y = d.after if b else given_at(self.b, d.names)
        if _is_silent(x) or _is_silent(y) or (x is MISSING and y is MISSING):
            return d._replace(before=NOT_READ if a else d.before, after=d.after if a else NOT_READ)
        return None if x == y else d._replace(before=x, after=y)

    def _change(self, d: Difference, says: str = "") -> Change:
        verdict = self._verdict(d)
        before, after = d.before, d.after
        if isinstance(before, Document) and isinstance(after, Document):
            before, after = changed_parts(before, after)
        before, after = _brief(before), _brief(after)
        if verdict == "not comparable":
            says = "the digests were made under two redaction keys"
        if is_up_to_the_reporter(before) or is_up_to_the_reporter(after):
            d = d._replace(fact=following_releases(d.fact))
        if is_retired(before) or is_retired(after):
            says = NO_LONGER if is_retired(after) else NEWLY
        if verdict == "went dark":
            names = _completing(d) if value_at(self.right, d.names) is MISSING else d.names
            says = says or why_dark(self._volatile, tuple(map(self._now, names)))
        return self._made(d, verdict, before, after, says)

    def _verdict(self, d: Difference) -> Verdict:
        """What is missing together with an item that nobody could read is not known to be gone."""
        if self.dark.intersection(d.names[1:]):
            return "went dark" if d.after is MISSING else "came to light"
        return verdict_of(d, of_process=self.probe.of != "host")

    def _made(self, d: Difference, verdict: Verdict, before: Any, after: Any, says: str = "") -> Change:
        temporary = self.key.is_descendant and (only_temporary(before, after) or self._is_same_script(d))
        return Change(
            key=self.key, names=d.names, pattern=d.pattern, item=d.item, now=self._now(d.item), fact=self._fact(d),
            verdict=verdict, before=before, after=after, among=self._among(d.pattern, verdict),
            context=d.fact.context or temporary,
            says="only paths below folders for temporary files differ" if temporary else says,
        )  # fmt: skip

    def _is_same_script(self, d: Difference) -> bool:
        """Whether it is written anew for each start under a name that is drawn, as `conda run` does with what it is
        given; what it holds is the same."""
        if d.names != ("program", "path") or not only_temporary((d.before,), (d.after,)):
            return False
        held = [value_at(side, ("program", "sha256")) for side in (self.left, self.right)]
        return isinstance(held[0], str) and held[0] == held[1]

    @cached_property
    def _volatile(self) -> Section:
        """The other half of B."""
        half: Section = decoder_of(self.probe.section)(self.standing[1].volatile)
        return half

    def _now(self, name: str) -> str:
        """A device's key, or any other name, as B has it."""
        return next((theirs for theirs, ours in keys_of_b(self.pairing).items() if ours == name), name)

    def _fact(self, d: Difference) -> Fact:
        """What others lost by a lost device is its consequence, what another unit brought that of the swap, and what a
        package brought that of another release or build of it."""
        leaders = [item for item in self.lost if item[-1] in d.names[1:] and not is_below(d.names, [item])]
        leaders += self._another_unit(d) if d.fact.kind == "identity" else []
        follows = (*(str(self.key.path(item)) for item in leaders), *self._package(d))
        return msgspec.structs.replace(d.fact, follows=(*d.fact.follows, *follows)) if follows else d.fact

    def _package(self, d: Difference) -> tuple[str, ...]:
        items = (value_at(side, names) for side in (self.right, self.left) for names in (d.names, d.names[:-1]))
        return next((globs for item in items if (globs := package_of(item))), ())

    def _another_unit(self, d: Difference) -> list[Names]:
        """The facts, before this one, by which the slot is known to have another unit."""
        device = d.names[: device_depth(self.probe.section) + 1]
        if not any(pair.how == "slot has another unit" and pair.a == device[-1] for pair in self.pairing):
            return []
        before = takewhile(lambda name: name != d.names[-1], UNIT_FACTS)
        return [(*device, name) for name in before]

    def _among(self, pattern: tuple[str | None, ...], verdict: Verdict) -> int:
        if None not in pattern:
            return 1
        if pattern not in self.spreads:
            counts = (spread(self.a.section, pattern), spread(self.b.section, pattern))
            self.spreads[pattern] = max(1, counts[0 if verdict == "vanished" else 1])
        return self.spreads[pattern]

    def _unsteady(self) -> Iterator[Change]:
        """Facts that changed while one of the runs ran; unlike on the other side, or they say nothing."""
        for names in dict.fromkeys((*self.a.unsteady, *self.b.unsteady)):
            x, y = _side(self.a, names), _side(self.b, names)
            d = self.a.unsteady.get(names) or self.b.unsteady[names]
            alike = isinstance(x, Unsteady) and x == y
            says = "it changed alike in both runs" if alike else ""
            change = self._made(d, "changed during the run", _brief(x), _brief(y), says)
            yield msgspec.structs.replace(change, context=change.context or alike)


def _completing(d: Difference) -> Names:
    """Of the field that tells whether all items of the collection are known."""
    return (*d.names[:-2], d.fact.complete_by) if d.fact.complete_by else d.names


def _or_why(value: Any, completing: Any) -> Any:
    return completing if value is MISSING and isinstance(completing, Gap) and completing != NOT_READ else value


def _not_known(key: Key, d: Difference) -> NotKnown:
    return NotKnown(key, d.names, _code(d.before), _code(d.after), _gap_detail(d.after) or _gap_detail(d.before))


def _state_not_known(key: Key, state: Told) -> NotKnown:
    """How many samples counted is said where that is why."""
    d = state.difference
    says = state.says if d.before is TOO_FEW or d.after is TOO_FEW else ""
    return msgspec.structs.replace(_not_known(key, d), says=says)


def _alike_at_rest(key: Key, state: Told) -> NotKnown:
    says = f"equal, and read while not {state.difference.fact.settled}"
    return NotKnown(key, state.difference.names, "seen", "seen", "", f"{says}; {state.says}" if state.says else says)


def _side(resolved: Resolved, names: Names) -> Any:
    change = resolved.unsteady.get(names)
    if change is None:
        return value_at(resolved.section, names)
    return Unsteady(_brief(change.before), _brief(change.after))


def _brief(value: Any) -> Any:
    """Of an item that came, went or went dark nothing is told but that it was there."""
    return "seen" if isinstance(value, Section) else value


def _code(value: Any) -> str:
    if isinstance(value, Gap):
        return value.detail if value is TOO_FEW else value.code
    return "seen"


def _is_silent(given: Any) -> bool:
    """Whether it does not tell even that there was nothing."""
    return isinstance(given, Gap) and given is not MISSING


def _gap_detail(value: Any) -> str:
    return value.detail if isinstance(value, Gap) else ""
