"""Machine code that is there twice or not the same for all ranks, deprecated packages, variables that nothing reads."""

from collections.abc import Iterator, Mapping, Sequence

from fingerprint.findings.finding import Finding, named, plain, spoken
from fingerprint.findings.seats import each_its_own, groups, partition, paths, variables
from fingerprint.findings.state import State
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, Map
from probes.libraries.sections import Libraries
from probes.mapped.objects import name_of
from probes.mapped.sections import File, Library, Mapped
from probes.process.sections import Process

TOLD_BY = ("build_id", "sha256", "size")
"""What tells one file from another, the first that both have; after its version."""


def of_mapped(state: State) -> Iterator[Finding]:
    mapped = {target: _libraries(it) for target, it in state.sections("mapped", Mapped).items()}
    yield from _twice(mapped)
    for group in groups(state.sections("process", Process)):
        ranks = {seat.target: mapped[seat.target] for seat in group.seats if seat.target in mapped}
        for name in sorted({name for libraries in ranks.values() for name in libraries}):
            told = {target: _told(it[name]) for target, it in ranks.items() if name in it}
            parts = partition(group.of(told))
            if parts and not each_its_own(parts):
                yield _unlike(name, told, spoken(parts, whole=True))


def _libraries(mapped: Mapped) -> Mapping[str, Library]:
    return {} if isinstance(mapped.libraries, Gap) else mapped.libraries.items


def _twice(mapped: Mapping[str, Mapping[str, Library]]) -> Iterator[Finding]:
    found: dict[str, dict[str, Mapping[str, Library]]] = {}
    for target, libraries in mapped.items():
        for name, files in _by_soname(libraries).items():
            if sum(len(_places(library)) for library in files.values()) > 1:
                found.setdefault(name, {})[target] = files
    for name, held in sorted(found.items()):
        yield _copies(name, held)


def _by_soname(libraries: Mapping[str, Library]) -> Mapping[str, Mapping[str, Library]]:
    """A copy that lies under another name (libnccl-2.27.so) is the library that it says to be; by name, in each."""
    found: dict[str, dict[str, Library]] = {}
    for name, library in libraries.items():
        own = name_of(library.soname) if isinstance(library.soname, str) else name
        found.setdefault(own if own.startswith("lib") else name, {})[name] = library
    return found


def _places(library: Library) -> tuple[str, ...]:
    """Path and version of each copy."""
    others = () if isinstance(library.others, Gap) else library.others.items.values()
    return tuple(_place(file) for file in (library, *others))


def _place(file: File) -> str:
    version = "" if isinstance(file.version, Gap) else f" ({file.version})"
    deleted = ", deleted" if file.deleted is True else ""
    return f"{'an unknown file' if isinstance(file.path, Gap) else file.path}{version}{deleted}"


def _copies(name: str, held: Mapping[str, Mapping[str, Library]]) -> Finding:
    values = {
        target: [place for library in files.values() for place in _places(library)] for target, files in held.items()
    }
    first, places = next(iter(values.items()))
    others = f" and {len(held) - 1} more" if held.keys() - {first} else ""
    facts = [
        str(Key("mapped", target).path(("libraries", own, "copies"))) for target, files in held.items() for own in files
    ]
    return Finding(
        rule="library-mapped-twice",
        about=name,
        facts=tuple(facts),
        values=values,
        says=f"{name} is mapped from {len(places)} places in {first}{others}: {', '.join(places)}. Which of them "
        "answers a call is an accident of loading order.",
        do="See who asks for each (LD_LIBRARY_PATH, LD_PRELOAD, a wheel's own copy; LD_DEBUG=libs tells at the start) "
        "and leave one of them.",
    )


def _told(library: Library) -> str:
    """What tells a copy from another of its name: version and path, and the build where these are alike."""
    builds = (str(value) for name in TOLD_BY if not isinstance(value := getattr(library, name), Gap))
    return f"{_place(library)}, build {next(builds, 'unknown')[:12]}"


def _unlike(name: str, told: Mapping[str, str], spread: str) -> Finding:
    return Finding(
        rule="library-unlike-other-ranks",
        about=name,
        facts=paths("mapped", told, "libraries", name, "path"),
        values=told,
        says=f"{name} is {spread}.",
        do="Compare LD_LIBRARY_PATH, LD_PRELOAD and the environment of these ranks, and start all of them alike; a "
        "file that was replaced meanwhile is another one for whoever started later.",
    )


def of_environments(state: State) -> Iterator[Finding]:
    environments = state.sections("libraries", Libraries)
    processes = state.sections("process", Process)
    yield from _deprecated(environments)
    for name, (engine, like, target) in sorted(_unknown(environments).items()):
        yield _not_read(name, engine, like, target, processes, environments[target])


def _deprecated(environments: Mapping[str, Libraries]) -> Iterator[Finding]:
    held = {
        target: it.packages.items["pynvml"].version
        for target, it in environments.items()
        if isinstance(it.packages, Map) and "pynvml" in it.packages.items
    }
    if held:
        yield Finding(
            rule="package-deprecated",
            about="pynvml",
            facts=paths("libraries", held, "packages", "pynvml", "version"),
            values={target: plain(version) for target, version in held.items()},
            says="The deprecated package pynvml is installed: its module of that name hides nvidia-ml-py's, and torch "
            "and the engines warn of it at each start.",
            do="pip uninstall pynvml; pip install nvidia-ml-py",
        )


def _unknown(environments: Mapping[str, Libraries]) -> Mapping[str, tuple[str, str, str]]:
    """By variable: the engine, what is called like it, and the environment's target."""
    found: dict[str, tuple[str, str, str]] = {}
    for target, it in environments.items():
        for engine, told in it.engines.items.items() if isinstance(it.engines, Map) else ():
            for name, like in told.unknown.items.items() if isinstance(told.unknown, Map) else ():
                found.setdefault(name, (engine, like if isinstance(like, str) else "none", target))
    return found


def _not_read(
    name: str, engine: str, like: str, target: str, processes: Mapping[str, Process], environment: Libraries
) -> Finding:
    held = {at: value for at, it in processes.items() if (value := variables(it).get(name)) is not None}
    meant = f"Did you mean {like}? Else look" if like != "none" else "Look"
    return Finding(
        rule="variable-not-read",
        about=name,
        facts=(
            str(Key("libraries", target).path(("engines", engine, "unknown", name))),
            *paths("process", held, "env", name),
        ),
        values={at: plain(value) for at, value in held.items()},
        says=f"{name} is set{_where(list(held))}, and no Python file of {_release(engine, environment)} names it: it "
        "does nothing.",
        do=f"{meant} for it in the release notes of {engine}: variables are renamed, dropped or become flags.",
    )


def _where(targets: Sequence[str]) -> str:
    return f" in {named(targets)}" if targets else ""


def _release(engine: str, environment: Libraries) -> str:
    packages = {} if isinstance(environment.packages, Gap) else environment.packages.items
    version = packages[engine].version if engine in packages else Gap("absent")
    return engine if isinstance(version, Gap) else f"{engine} {version}"
