"""What was seen equal in both, in a reader's terms: `gpu: 412 equal on 8 GPUs, power limits and clocks included`."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fingerprint.diff.changes import Changes
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Group, RuledOut
from fingerprint.explain.sameness import listed
from fingerprint.explain.subject import Subject
from fingerprint.explain.unknown import in_neither
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Key
from fingerprint.walk import matching, value_at
from probes.kit.facts import NOT_READ, Gap, Section
from probes.kit.paths import FactPath, parse_glob
from probes.kit.probe import MAIN

GPU = "gpu"
EDITED = "edited files"
NAMED = 3
"""Packages at most whose files were looked at: those that can move a number, unless all were."""
NO_SUCH_VALUE = ("absent", "unsupported")
"""Gaps that both have where there is nothing to compare, and that is known."""
THEMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gpu": {
        "power limits": ("gpu/*/power_limit", "gpu/*/enforced_power_limit"),
        "clock settings": ("gpu/*/clocks/*/graphics", "gpu/*/clocks/*/sm", "gpu/*/clocks/*/mem"),
        "links": ("gpu/*/pcie/link_width_max", "gpu/*/pcie/link_gen_max", "gpu/*/nvlink/active"),
        "ECC": ("gpu/*/ecc/mode_current",),
        "MIG": ("gpu/*/mig/mode_current",),
    },
    "driver": {
        "version": ("driver/module/version", "driver/nvml/driver_version"),
        "options": ("driver/module/parameters", "driver/module/parameters/*"),
    },
    "process": {
        "program": ("process/*/program/sha256", "process/*/git/commit"),
        "arguments": ("process/*/flags", "process/*/flags/*", "process/*/operands"),
        "environment": ("process/*/env", "process/*/env/*"),
        "CPU set": ("process/*/affinity",),
        "quotas": ("process/*/cgroup/cpu_max", "process/*/cgroup/memory_max"),
    },
    "mapped": {
        "libraries": (
            "mapped/*/libraries/*/version",
            "mapped/*/libraries/*/build_id",
            "mapped/*/libraries/*/sha256",
            "mapped/*/libraries/*/copies",
        ),
        "page placement": ("mapped/*/memory/policies", "mapped/*/memory/node"),
    },
    "libraries": {
        "versions": ("libraries/*/packages/*/version",),
        EDITED: ("libraries/*/packages/*/modified/digest",),
    },
    "container": {
        "runtime": ("container/*/runtime",),
        "image": ("container/*/image", "container/*/image_id"),
        "shared memory": ("container/*/shm_size",),
        "capabilities": ("container/*/capabilities",),
    },
    "kernel": {
        "release": ("kernel/release", "kernel/version"),
        "boot line": ("kernel/cmdline", "kernel/cmdline/*"),
        "scheduler": ("kernel/sched/*", "kernel/sysctl/kernel/numa_balancing"),
    },
    "cpu": {
        "model": ("cpu/processor/model_name", "cpu/processor/microcode"),
        "governor": ("cpu/policies/*/scaling_governor",),
        "SMT": ("cpu/smt/active",),
        "mitigations": ("cpu/mitigations", "cpu/mitigations/*"),
    },
    "memory": {
        "size": ("memory/total",),
        "huge pages": ("memory/transparent_hugepage/enabled", "memory/hugepages/*/nr_hugepages"),
    },
    "numa": {"nodes": ("numa/online", "numa/nodes/*/cpus", "numa/nodes/*/size")},
    "pcie": {
        "links": ("pcie/*/*/max_link_width", "pcie/*/*/max_link_speed", "pcie/*/*/narrowest/bandwidth"),
        "access control": ("pcie/bridges/*/acs_control",),
        "IOMMU": ("pcie/iommu/mode",),
    },
    "network": {
        "speeds": ("network/interfaces/*/speed", "network/rdma/*/ports/*/rate"),
        "MTU": ("network/interfaces/*/mtu",),
        "peer memory": ("network/peer_memory/module", "network/peer_memory/registered"),
    },
    "block": {
        "disks": ("block/*/model", "block/*/firmware", "block/*/members"),
        "queues": ("block/*/scheduler", "block/*/read_ahead_kb", "block/*/nr_requests"),
    },
    "storage": {
        "file systems": ("storage/*/models/*/mount/type", "storage/*/models/*/mount/options/*"),
        "weights in memory": ("storage/*/models/*/in_memory",),
        "compile caches": ("storage/*/caches/*/at_start", "storage/*/caches/*/digest"),
        "tuned kernels": ("storage/*/tuned/*/files/*",),
    },
    "platform": {
        "CUDA toolkits": ("platform/cuda/default", "platform/cuda/toolkits/*/version"),
        "container toolkit": ("platform/containers/toolkit_version", "platform/containers/toolkit/*"),
        "daemons": ("platform/daemons/programs/*/running", "platform/daemons/tuned_profile"),
    },
}
"""By area, what a reader would ask for first; a theme is told where all of it that was seen was equal."""


def ruled_out(changes: Changes, a: Subject, known: ProbeOf) -> RuledOut:
    """a: either side; what is equal is so in both."""
    counts = sorted(changes.ruled_out.items(), key=lambda item: (-item[1], item[0]))
    absent = tuple(sorted(str(u.key.path(u.names)) for u in changes.not_known if in_neither(u)))
    groups = tuple(_group(area, count, changes, a, known) for area, count in counts)
    return RuledOut(count=sum(changes.ruled_out.values()), groups=groups, absent=absent)


def _group(area: str, count: int, changes: Changes, a: Subject, known: ProbeOf) -> Group:
    devices = sum(1 for pair in changes.pairing if pair.area == area and pair.a and pair.b)
    themes = tuple(_themes(area, changes, a, known))
    on = f" on {devices} {'GPU' if area == GPU else 'device'}{'s' * (devices > 1)}" if devices else ""
    including = f", {listed(themes)} included" if themes else ""
    return Group(title=area, facts=count, devices=devices, themes=themes, says=f"{count} equal{on}{including}")


def _themes(area: str, changes: Changes, a: Subject, known: ProbeOf) -> Iterator[str]:
    """Those of which something was seen, and nothing is among the changes or could not be compared."""
    probe, declared = known(area), THEMES.get(area, {})
    key = Key(area, MAIN) if probe and probe.of != "host" else Key(area)
    standing = a.state.sections.get(key)
    if probe is None or not declared or standing is None or standing.blob is None:
        return
    try:
        section = decoder_of(probe.section)(standing.blob.body)
    except msgspec.ValidationError:  # of another release; what was compared says so
        return
    elsewhere = [path for path in _not_equal(changes) if path[0] == area]
    for theme, globs in declared.items():
        if _was_seen(section, globs, key) and not any(_is_of(globs, path) for path in elsewhere):
            yield from _edited(section) if theme == EDITED else (theme,)


def _edited(section: Section) -> Iterator[str]:
    """Of which packages the files were held against RECORD: of those that can move a number, unless all were asked
    for. What has no RECORD, and more bytes than were read, leaves it open."""
    packages = {names[-1]: value_at(section, (*names, "modified")) for names in matching(section, ("packages", "*"))}
    checked = sorted(name for name, told in packages.items() if isinstance(told.digest, str) and told.unsettled == 0)
    if len(checked) == len(packages):
        yield EDITED
    elif checked and any(told.digest == NOT_READ for told in packages.values()):
        more = f" and {len(checked) - NAMED} more" if len(checked) > NAMED else ""
        yield f"{EDITED} of {', '.join(checked[:NAMED])}{more} (--deep: of all {len(packages)} packages)"
    elif checked:
        yield f"{EDITED} of {len(checked)} of {len(packages)} packages"


def _not_equal(changes: Changes) -> Iterator[FactPath]:
    for folded in (*changes.changes, *changes.intended):
        yield from (change.path for change in folded.changes)
    for unknown in changes.not_known:
        if unknown.a != unknown.b or unknown.a not in NO_SUCH_VALUE:
            yield unknown.key.path(unknown.names)


def _is_of(globs: Sequence[str], path: FactPath) -> bool:
    return any(parse_glob(glob).matches(path) for glob in globs)


def _was_seen(section: Section, globs: Sequence[str], key: Key) -> bool:
    above = len(key.path())
    found = (names for glob in globs for names in matching(section, glob.split("/")[above:]))
    return any(not isinstance(value_at(section, names), Gap) for names in found)
