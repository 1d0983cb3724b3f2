"""What a program has around it beside its machine: its environment, what it mapped, its container, model and NCCL."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

import msgspec

from benchmarks.incidents.environments import PREFIX, SITE, digest, libraries, packages_of, record_wheels
from benchmarks.incidents.machines import MACHINES, copied, standing
from benchmarks.incidents.programs import is_interpreted, name_of
from benchmarks.incidents.putting import Plain, Sections
from benchmarks.incidents.rows import DATA
from fingerprint.snapshot import Key
from probes.kit.probe import MAIN
from probes.mapped.objects import name_of as library_of

PROCESS, MAPPED, MODEL, NCCL, CONTAINER, LIBRARIES, STORAGE = (
    Key(area, MAIN) for area in ("process", "mapped", "model", "nccl", "container", "libraries", "storage")
)
_OF_TORCH = ("torch", "triton", "xgrammar")
_MODEL_FLAGS = ("-m", "--model", "--model-path")
_OF_NCCL = "NCCL_"


class Mappable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library: of a package, below the site folder and as its version says; or of compiled programs, by their names.
    version: that the file tells of itself; of a package's, what stands before `{}`, its version, and behind it."""

    path: str
    package: str = ""
    programs: tuple[str, ...] = ()
    version: str = ""


@cache
def mappable() -> tuple[Mappable, ...]:
    return tuple(msgspec.json.Decoder(Mappable).decode_lines((DATA / "mapped.jsonl").read_bytes()))


def scene_of(machine: str, program: Sequence[str]) -> Sections:
    """As `scene`, the caller's own to change."""
    return copied(scene(machine, tuple(program)))


@cache
def scene(machine: str, program: tuple[str, ...]) -> Sections:
    """A machine with the program in it, before anything changed: to be read, and never changed."""
    packages = packages_of(program, bool(MACHINES[machine].gpus))
    found = {**standing(machine), CONTAINER: _no_container(), MAPPED: _mapped(program, packages)}
    found |= {LIBRARIES: libraries(packages)} if packages else {}
    found |= {MODEL: _model(name)} if (name := _model_named(program)) else {}
    found |= {STORAGE: {name: _map({}) for name in ("models", "caches", "tuned")}}
    found |= {NCCL: {name: _map({}) for name in ("variables", "origins", "files")} | {"unknown": []}}
    return found


def not_imported(computes: str) -> Sequence[str]:
    """Packages of the environment with machine code that a script does without, by what it computes with."""
    if computes == "torch":
        return ()
    return tuple({each.package for each in mappable() if each.package}) if computes == "nothing" else _OF_TORCH


def load(sections: Sections, imported: Iterable[str], others: Iterable[str]) -> None:
    """What a row is about was in memory; others of the environment, which its program does not import, were not."""
    files, unloaded = sections[MAPPED]["libraries"]["items"], {f"pip {package}" for package in others}
    kept = {name: file for name, file in files.items() if file.get("owner") not in unloaded}
    owners = {file.get("owner") for file in kept.values()}
    new = [Mappable(f"{package}/lib{package}.so", package) for package in sorted(imported)]
    kept |= {library_of(each.path): _file(each, {}) for each in new if f"pip {each.package}" not in owners}
    sections[MAPPED]["libraries"]["items"] = kept


def follow(sections: Sections) -> None:
    """What follows from all that was changed: wheels and mapped files from versions, NCCL's settings from variables."""
    packages: Mapping[str, Plain] = {}
    if LIBRARIES in sections:
        record_wheels(sections[LIBRARIES])
        packages = sections[LIBRARIES]["packages"]["items"]
    for library in mappable():
        section = sections[MAPPED]["libraries"]["items"].get(library_of(library.path))
        if section is not None and library.package in packages:
            section.update(_told(library, packages[library.package].get("version", "")))
    variables = sections[PROCESS]["env"]["items"].items()
    preloaded = dict(variables).get("LD_PRELOAD")
    for path in preloaded.split() if isinstance(preloaded, str) else ():
        sections[MAPPED]["libraries"]["items"].setdefault(library_of(path), _file(Mappable(path), {}))
    held = sections[NCCL]["variables"]["items"]
    held.update({name: value for name, value in variables if name.startswith(_OF_NCCL)})


def _mapped(program: Sequence[str], packages: Mapping[str, str]) -> Plain:
    files = {library_of(each.path): _file(each, packages) for each in _mapped_by(program, packages)}
    memory = {"policies": [], "node": 0}
    return {"libraries": _map(files), "preloaded": [], "memory": memory}


def _mapped_by(program: Sequence[str], packages: Mapping[str, str]) -> Iterator[Mappable]:
    of = "python" if is_interpreted(program) else name_of(program)
    return (each for each in mappable() if each.package in packages or of in each.programs)


def _file(library: Mappable, packages: Mapping[str, str]) -> Plain:
    place = str(PurePosixPath(PREFIX, SITE, library.path)) if library.package else library.path
    told = _told(library, packages.get(library.package, library.version))
    owner = {"owner": f"pip {library.package}"} if library.package else {}
    return {"path": place, "deleted": False, "copies": 1, "others": _map({}), **owner, **told}


def _told(library: Mappable, version: str) -> Plain:
    """Of files that say so, their version; of each, what tells its build from another one's."""
    build = digest(library.path, version)
    telling = {"version": library.version.format(version)} if library.version else {}
    return {**telling, "build_id": build, "size": 1_000_000 + int(build[:4], 16)}


def _model_named(program: Sequence[str]) -> str:
    flags = dict(pairwise(program))
    return next((flags[flag] for flag in (*_MODEL_FLAGS, "serve") if flags.get(flag, "-")[:1] == "/"), "")


def _model(name: str) -> Plain:
    stored = "gguf" if name.endswith(".gguf") else "safetensors"
    weights = {"format": stored, "count": 1, "bytes": 16_060_522_496, "headers": digest(name)}
    return {"models": _map({"target": {"name": name, "path": name, "weights": weights}})}


def _no_container() -> Plain:
    return {
        "runtime": "none",
        "namespaces": [],
        "root_type": "ext4",
        "shm_size": 67_446_489_088,
        "capabilities": ["all"],
        "label": "unconfined",
        "cgroup": {"version": 2, "io_max": _map({}), "hugetlb_max": _map({})},
    }


def _map(items: Mapping[str, object]) -> Plain:
    found: Plain = json.loads(json.dumps({"$": "map", "items": items}))
    return found
