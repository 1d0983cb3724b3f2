"""The environment of one process, from its import path to the files of its packages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from probes.kit.answering import answering
from probes.kit.facts import Gap, Map, Seen, seen_or, then
from probes.kit.filepaths import absolute
from probes.kit.finders import imported_from
from probes.kit.host import Host
from probes.kit.imports import Folder, Python, python, started
from probes.kit.processes import family
from probes.kit.written import written_since
from probes.libraries.distributions import Distribution, distributions
from probes.libraries.engines import engines
from probes.libraries.hooks import Path, customisations, path
from probes.libraries.origins import Origins
from probes.libraries.record import Checker, Record, Rows, record
from probes.libraries.sections import Customisation, Libraries, Modified, Package
from probes.libraries.watched import is_watched

MOST_BELOW = 64
_NO_RECORD = Gap("absent", "no RECORD: nobody wrote down what it was installed with")
_CONDA = Gap("not_observable", "conda changes files after their RECORD was written")


def libraries(host: Host, pid: int) -> Libraries:
    how = started(host, pid)
    if isinstance(how, Gap):
        return _nothing(how, how)
    files = answering(host, pid)
    told = python(files, how)
    if isinstance(told.folders, Gap):
        return _nothing(told.prefix, told.folders)
    names, written = partial(_variables, host, pid, how.names), partial(written_since, host, pid, files)
    return _of(files, told, told.folders, names, written)


def _nothing(environment: Seen[str], why: Gap) -> Libraries:
    return Libraries(
        environment=environment, python=why, folders=why, packages=why, origins=why, shadowed=why, hooks=why,
        customisations=why, engines=why, written_since=why,
    )  # fmt: skip


def _variables(host: Host, pid: int, own: Iterable[str]) -> frozenset[str]:
    """Their names, of the process and of those below it, which a start script may give more: their own environment is
    the same, and is not read again. Whoever waits in the kernel may not answer."""
    names = set(own)
    below = sorted((seen.started, member) for member, seen in family(host, pid) if seen.state != "D" and member != pid)
    for _, member in below[:MOST_BELOW]:
        environ = host.environ(member)
        names.update(() if isinstance(environ, Gap) else environ.items)
    return frozenset(names)


def _of(
    host: Host,
    told: Python,
    before: Sequence[Folder],
    variables: Callable[[], Iterable[str]],
    written: Callable[[Iterable[tuple[str, str]]], Seen[tuple[str, ...]]],
) -> Libraries:
    searched = path(host, before)
    found = distributions(host, searched.folders)
    first = {name: same[0] for name, same in sorted(found.items())}
    checker = Checker(host)
    came = Origins(host)
    origins = {name: came.of(one) for name, one in first.items()}
    below = partial(_below, told.prefix)
    packages = {name: _package(host, checker, one) for name, one in first.items()}
    run_first = customisations(host, tuple(searched.folders), below)
    return Libraries(
        environment=told.prefix,
        python=told.version,
        folders=told.untold or searched.silent or tuple(below(folder.path) for folder in searched.folders),
        packages=Map(packages),
        origins=Map({name: one for name, one in origins.items() if one}),
        shadowed=Map({name: _hidden(same[1:], below) for name, same in found.items() if same[1:]}),
        hooks=Map(searched.hooks),
        customisations=run_first,
        engines=engines(host, variables, _holding(searched), origins),
        written_since=written((*_of_packages(first, packages), *_of_hooks(searched, run_first, told.prefix))),
    )


def _of_packages(found: Mapping[str, Distribution], packages: Mapping[str, Package]) -> Iterator[tuple[str, str]]:
    """RECORD, which installers write last, and what was edited since."""
    for name, package in packages.items():
        yield f"packages/{name}", f"{found[name].info}/RECORD"
        edited = package.modified.files
        for file in () if isinstance(edited, Gap) else edited:
            yield f"packages/{name}", f"{found[name].folder.path}/{file}"


def _of_hooks(searched: Path, run_first: Map[Customisation], prefix: Seen[str]) -> Iterator[tuple[str, str]]:
    for name, place in searched.places.items():
        yield f"hooks/{name}", place
    for name, one in run_first.items.items():
        yield f"customisations/{name}", absolute(seen_or(one.path, ""), seen_or(prefix, "/"))


def _holding(searched: Path) -> dict[str, tuple[str, ...]]:
    """By folder what lies in it, or the packages that are imported from there without it being on the path."""
    holding = {folder.path: names for folder, names in searched.folders.items()}
    for hook in searched.hooks.values():
        for folder, name in imported_from(hook.maps):
            holding[folder] = (*holding.get(folder, ()), name)
    return holding


def _below(prefix: Seen[str], path: str) -> str:
    """Without the environment's own folder, so that two environments compare by what they hold."""
    return path if isinstance(prefix, Gap) else path.removeprefix(f"{prefix}/")


def _hidden(same: Sequence[Distribution], below: Callable[[str], str]) -> tuple[str, ...]:
    versions = (one.version if isinstance(one.version, str) else "an unknown version" for one in same)
    return tuple(f"{version} in {below(one.folder.path)}" for version, one in zip(versions, same, strict=True))


def _package(host: Host, checker: Checker, one: Distribution) -> Package:
    checked = host.deep or is_watched(one.name)
    rows: Rows = "none" if not checked else "all" if host.deep else "of what runs"
    told = _record(host, one, rows)
    return Package(
        version=one.version,
        record=then(told, lambda known: known.digest),
        modified=_modified(host, checker, one, told) if checked else Modified(),
        requested=then(one.files, lambda files: "REQUESTED" in files),
        found_in=one.folder.kind,
    )


def _record(host: Host, one: Distribution, rows: Rows) -> Seen[Record]:
    if isinstance(one.files, Gap):
        return _NO_RECORD if one.files.code == "absent" else one.files  # an .egg-info may be a file
    return record(host, f"{one.info}/RECORD", rows) if "RECORD" in one.files else _NO_RECORD


def _modified(host: Host, checker: Checker, one: Distribution, told: Seen[Record]) -> Modified:
    conda = one.has("INSTALLER") and host.line(f"{one.info}/INSTALLER") == "conda"
    why = _CONDA if conda else told
    if isinstance(why, Gap):
        return Modified(digest=why, count=why, files=why, unsettled=why)
    return checker.modified(one.folder.path, why)
