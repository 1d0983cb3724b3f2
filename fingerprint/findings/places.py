"""Models and caches on file systems that another host or program answers for: that it does not, and weights that are
yet to come from there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from fingerprint.findings.finding import Finding, named, plain
from fingerprint.findings.state import State
from probes.kit.facts import Gap, Map, Seen
from probes.storage.sections import InMemory, Mount, Storage

V = TypeVar("V")

_HELD: Mapping[InMemory, str] = {"none": "Next to none", "part": "Only a part"}


def of_storage(state: State) -> Iterator[Finding]:
    storage = state.sections("storage", Storage)
    silent: dict[Seen[str], list[str]] = {}
    for place, mount in _mounts(storage):
        if mount.answers is False:
            silent.setdefault(mount.type, []).append(place)
    yield from (_silent(str(plain(kind)), places) for kind, places in silent.items())
    for target, section in storage.items():
        for role, model in _items(section.models).items():
            held = model.in_memory
            if model.mount.answers is True and not isinstance(held, Gap) and held in _HELD:
                yield _to_come(target, role, str(plain(model.mount.type)), held)


def _items(seen: Seen[Map[V]]) -> Mapping[str, V]:
    return seen.items if isinstance(seen, Map) else {}


def _mounts(storage: Mapping[str, Storage]) -> Iterator[tuple[str, Mount]]:
    for target, section in storage.items():
        for role, model in _items(section.models).items():
            yield f"storage/{target}/models/{role}", model.mount
        for name, cache in _items(section.caches).items():
            yield f"storage/{target}/caches/{name}", cache.mount


def _silent(kind: str, places: Sequence[str]) -> Finding:
    facts = tuple(f"{place}/mount/answers" for place in places)
    which = named([place.removeprefix("storage/") for place in places])
    return Finding(
        rule="file-system-silent",
        about=kind,
        facts=facts,
        values=dict.fromkeys(facts, False),
        says=f"The {kind} below {which} does not answer: whoever reads there waits without an end, or fails.",
        do="See to its server. Until it is back, `umount -l` lets others go on, and who waits already waits on.",
    )


def _to_come(target: str, role: str, kind: str, held: InMemory) -> Finding:
    place = f"storage/{target}/models/{role}"
    return Finding(
        rule="weights-to-come",
        about=f"{kind} {role}",
        facts=(f"{place}/in_memory", f"{place}/mount/type"),
        values={target: held},
        says=f"{_HELD[held]} of the weights of {target}'s {role} model lies in memory: {kind} has the rest to send.",
        do="Before a start that is timed read all of them once, `cat FILES > /dev/null`, or copy them to a local disk.",
    )
