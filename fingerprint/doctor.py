"""What cannot be read here, why, and what would help; and what is wrong with fingerprint's own house."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from fingerprint.sections import Leaf, leaves
from fingerprint.snapshot import Key, Reading, Snapshot
from fingerprint.version import __version__
from probes.kit.facts import Gap, GapCode, Seen, then
from probes.kit.lazy import lazy_regex
from probes.kit.probe import areas, discover
from probes.kit.user import WHOSE

Level = Literal[
    "problem",  # something is wrong: what it costs is said
    "limit",  # a value that is there and cannot be read as things are
    "note",  # nothing to be done
]
LEVELS: tuple[Level, ...] = ("problem", "limit", "note")
CPUID_SECONDS = 15.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """about: a section, or `store`, `redaction`, `installation`, `cpuid`, `nvml`. facts: the paths concerned."""

    level: Level
    about: str
    says: str
    why: str = ""
    remedy: str = ""
    facts: tuple[str, ...] = ()


class House(NamedTuple):
    """What fingerprint itself stands on.

    network      the network file system that holds the store; empty for a local one
    key_trouble  what is wrong with the redaction key; empty for nothing
    installed    the distributions of our own environment: name -> version
    """

    store: str = ""
    network: str = ""
    key_trouble: str = ""
    installed: Mapping[str, str] = {}


class _Reason(NamedTuple):
    """What gaps are folded by. area: of the section; empty for what is told of all areas as one."""

    area: str
    code: GapCode
    detail: str
    remedy: str


_LEVEL_OF: Mapping[GapCode, Level] = {
    "denied": "limit",
    "failed": "problem",
    "timed_out": "problem",
    "lost": "problem",
    "asleep": "note",
    "unsupported": "note",
    "retired": "note",
    "not_observable": "note",
}
_SAYS: Mapping[GapCode, str] = {
    "denied": "may not be read",
    "failed": "read, but it made no sense",
    "timed_out": "given up",
    "lost": "there before, and gone",
    "asleep": "suspended, and asking would have woken it",
    "unsupported": "not offered by this kernel or device",
    "retired": "no longer reported",
    "not_observable": "told by no interface",
}
_RECORD = "report it: `fingerprint record DIR` writes what was read, private values redacted"
_MOUNTS = {
    "/sys/kernel/debug": "mount -t debugfs none /sys/kernel/debug",
    "/sys/kernel/tracing": "mount -t tracefs none /sys/kernel/tracing",
    "/sys/fs/resctrl": "mount -t resctrl none /sys/fs/resctrl",
    "/sys/fs/cgroup": "mount -t cgroup2 none /sys/fs/cgroup",
}
# ptrace(2), "Ptrace access mode checking": these files of another user's process need PTRACE_MODE_READ.
_PTRACE_READ = lazy_regex(
    r"^/proc/.*/(?:environ|exe|cwd|root|io|maps|smaps|smaps_rollup|numa_maps|auxv|fd|map_files|personality|syscall|stack)\b"
)
_TIMER_SLACK = lazy_regex(r"^/proc/.*/timerslack_ns\b")  # proc_pid_timerslack_ns(5): CAP_SYS_NICE for another's
# What a gap of NVML says (probes/kit/nvml) -> what helps; the first that is found.
_NVML_REMEDIES = {
    "nvidia-ml-py is not installed": f"{sys.executable} -m pip install nvidia-ml-py",
    "NVML: ": "look for Xid 79, 119 and 120 in the kernel's log; what hangs in state D ends with a reset of the GPU "
    "or a reboot. Where NVML is only slow, give it more time: nvml_budget_s, nvml_gpu_budget_s",
    "(NVML 18)": "reboot, or unload and load the modules: the library was upgraded and the module was not",
    "(NVML 999)": "in a container, make it anew: `systemctl daemon-reload` on the host takes its devices away",
}
_ASLEEP = "while it is measured, keep it awake: echo on > /sys/bus/pci/devices/ADDRESS/power/control"
# Facts of area driver that are False where something does not fit: what to say of it.
_MISFITS = {
    ("libraries", "match_module"): (
        "the driver's libraries are of another version than its module",
        "new processes are refused with `Driver/library version mismatch`, and old ones run on",
        "reboot, or unload and load the modules",
    ),
    ("fabricmanager", "matches_module"): (
        "the fabric manager is of another version than the driver",
        "without it no job gets NVLink across the switches: CUDA error 802",
        "install nvidia-fabricmanager of the driver's version, and restart it",
    ),
}
_ITS_USER = "let that user read it, if it is to be told: links of his are not followed to what only root may read"
_PTRACE = "run as the process's own user, as root, or with CAP_SYS_PTRACE"


def examine(snapshot: Snapshot, house: House) -> tuple[Finding, ...]:
    """All findings, the worst first; those of one level by what they are about."""
    found = [
        *_of_house(house),
        *_of_sections(snapshot),
        *_of_gaps(snapshot),
        *_of_driver(snapshot),
        _of_version(snapshot),
    ]
    return tuple(sorted(found, key=lambda finding: (LEVELS.index(finding.level), finding.about)))


def _of_house(house: House) -> Iterator[Finding]:
    if house.network:
        yield Finding(
            level="problem",
            about="store",
            says=f"the store {house.store} lies on a network file system ({house.network})",
            why="its write-ahead log needs memory shared by one kernel, so writers wait for each other there",
            remedy="set FINGERPRINT_STORE to a file on a local disk",
        )
    if house.key_trouble:
        yield Finding(
            level="problem",
            about="redaction",
            says=house.key_trouble,
            why="private values are kept as keyed digests: under another key they are not comparable",
        )
    if version := house.installed.get("pynvml"):
        yield Finding(
            level="problem",
            about="installation",
            says=f"the deprecated distribution pynvml {version} is installed beside fingerprint",
            why="it warns in every process of its environment and hides the module of nvidia-ml-py",
            remedy=f"{sys.executable} -m pip uninstall pynvml, then install nvidia-ml-py again",
        )


def _of_version(snapshot: Snapshot) -> Finding:
    who = "root" if snapshot.provenance.uid == 0 else f"the plain user {snapshot.provenance.uid}"
    says = f"fingerprint {__version__} on Python {snapshot.provenance.python}, read as {who}"
    return Finding(level="note", about="installation", says=says)


def _of_sections(snapshot: Snapshot) -> Iterator[Finding]:
    for key, reading in snapshot.readings.items():
        if reading.outcome != "ok":
            yield Finding(
                level="problem",
                about=str(key),
                says=f"the whole section is missing: {reading.outcome.replace('_', ' ')}",
                why=reading.detail,
                remedy=_section_remedy(reading),
            )


def _section_remedy(reading: Reading) -> str:
    if reading.outcome == "failed":
        return _RECORD
    return "find what hangs (a device, a mount), or give more time: budget_s in config.toml"


def _of_driver(snapshot: Snapshot) -> Iterator[Finding]:
    for key, leaf in _leaves(snapshot):
        if key.area == "driver" and leaf.value is False and leaf.names in _MISFITS:
            says, why, remedy = _MISFITS[leaf.names]
            path = str(key.path(leaf.names))
            yield Finding(level="problem", about="driver", says=says, why=why, remedy=remedy, facts=(path,))


def _of_gaps(snapshot: Snapshot) -> Iterator[Finding]:
    is_root = snapshot.provenance.uid == 0
    folded: dict[_Reason, dict[str, Key]] = {}
    for key, leaf in _leaves(snapshot):
        reason = _reason(key, leaf, is_root) if isinstance(leaf.value, Gap) else None
        if reason is not None:
            folded.setdefault(reason, {})[str(key.path(leaf.names))] = key
    for reason, keys in folded.items():
        yield _finding(reason, keys)


def _leaves(snapshot: Snapshot) -> Iterator[tuple[Key, Leaf]]:
    known = areas()
    for key, reading in snapshot.readings.items():
        if key.area not in known:
            continue
        section = reading.section(discover([key.area])[key.area].section)
        if section is not None:
            yield from ((key, leaf) for leaf in leaves(section))


def _reason(key: Key, leaf: Leaf, is_root: bool) -> _Reason | None:
    """Why this gap is worth telling; None where nothing is amiss: what is absent, settling or was not read."""
    gap: Gap = leaf.value
    if remedy := next((words for told, words in _NVML_REMEDIES.items() if told in gap.detail), ""):
        return _Reason("", gap.code, gap.detail, remedy)
    if gap.code == "absent":
        mount = _missing_mount(leaf.fact.source)
        return _Reason(key.area, "absent", "its file system is not mounted", mount) if mount else None
    if gap.code not in _LEVEL_OF:
        return None
    if WHOSE in gap.detail:
        return _Reason(key.area, gap.code, gap.detail, _ITS_USER)
    return _Reason(key.area, gap.code, gap.detail, _remedy(gap.code, leaf.fact.source, is_root))


def _missing_mount(source: str) -> str:
    """What mounts the file system that holds `source`; empty where it is mounted or the kernel lacks it."""
    place = next((place for place in _MOUNTS if source.startswith(place)), None)
    if place is None or not Path(place).is_dir() or Path(place).is_mount():
        return ""
    return _MOUNTS[place]


def _remedy(code: GapCode, source: str, is_root: bool) -> str:
    if code == "failed":
        return _RECORD
    if code == "asleep":
        return _ASLEEP
    if code in ("timed_out", "lost"):
        return f"see whether it answers at all: {source}"
    if code != "denied":
        return ""
    if is_root:
        return "even root may not: run outside the container, or see whether the kernel is locked down"
    if _TIMER_SLACK.match(source):
        return "run as root, or with CAP_SYS_NICE"
    return _PTRACE if _PTRACE_READ.match(source) else "run as root"


def _finding(reason: _Reason, keys: Mapping[str, Key]) -> Finding:
    """keys: of the sections, by fact path."""
    paths = tuple(keys)
    about = _sections([*dict.fromkeys(keys.values())]) if reason.area else "nvml"
    what = paths[0] if len(paths) == 1 else f"{len(paths)} facts of {about}, {paths[0]} among them"
    return Finding(
        level=_LEVEL_OF.get(reason.code, "limit"),
        about=about,
        says=f"{what}: {_SAYS.get(reason.code, 'cannot be read')}",
        why=reason.detail,
        remedy=reason.remedy,
        facts=paths,
    )


def _sections(keys: Sequence[Key]) -> str:
    """`process/main`; with others of its area `process/main and 7 more`."""
    return str(keys[0]) if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"


def installed() -> Mapping[str, str]:
    """The distributions of our own environment that doctor has an opinion on."""
    from importlib import metadata

    named = (next(iter(metadata.distributions(name=name)), None) for name in ("pynvml", "nvidia-ml-py"))
    return {found.name: found.version for found in named if found}


def cpuid(folder: Path, boot_id: str, budget: float = CPUID_SECONDS) -> Seen[Mapping[str, Any]]:
    """What py-cpuinfo tells of this CPU, read in a child that may be given up, and kept in `folder` for this boot."""
    kept = folder / f"cpuid-{boot_id}.json"
    try:
        cached: Mapping[str, Any] = msgspec.json.decode(kept.read_bytes(), type=dict[str, Any])
        return cached
    except (OSError, msgspec.DecodeError):
        pass
    answer = then(_cpuid_of_child(budget), lambda text: msgspec.json.decode(text, type=dict[str, Any]))
    if not isinstance(answer, Gap):
        _keep(kept, msgspec.json.encode(answer))
    return answer


def _cpuid_of_child(budget: float) -> Seen[str]:
    import probes
    from probes.kit.child import output_of

    program = (
        "import sys, msgspec; from probes.kit.facts import Gap; from probes.kit.host import Host\n"
        "told = Host().cpuid()\n"
        "sys.exit(told.detail) if isinstance(told, Gap) else sys.stdout.buffer.write(msgspec.json.encode(told))"
    )
    return output_of([sys.executable, "-c", program], cwd=str(Path(probes.__path__[0]).parent), budget=budget)


def _keep(file: Path, content: bytes) -> None:
    """Replaces what an earlier boot left. A folder that cannot be written costs the cache, not the answer."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in file.parent.glob("cpuid-*.json"):
            old.unlink(missing_ok=True)
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(content)
        unfinished.replace(file)
    except OSError:
        pass


def of_cpuid(told: Seen[Mapping[str, Any]]) -> Finding:
    """The one finding of `doctor --deep`."""
    if isinstance(told, Gap):
        return Finding(level="problem", about="cpuid", says="CPUID could not be read", why=told.detail, remedy=_RECORD)
    words = ("brand_raw", "hz_advertised_friendly", "l2_cache_size", "l3_cache_size")
    known = ", ".join(f"{word.partition('_')[0]} {told[word]}" for word in words if word in told)
    return Finding(level="note", about="cpuid", says=f"the CPU says of itself: {known or 'nothing'}")
