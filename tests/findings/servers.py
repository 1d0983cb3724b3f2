"""Servers as a run holds them: a launcher and eight ranks, each a section of every area that is about processes."""

from collections.abc import Mapping
from typing import Any

from fingerprint.diff.known import probe_of
from fingerprint.findings import Finding, findings
from fingerprint.runs.effective import Effective
from probes.kit.facts import Gap, Map, Section
from probes.mapped.sections import File, Library, Mapped
from probes.process.sections import Cgroup, Process
from tests.diff.made_up import state_of

SHARED = {"NCCL_PROTO": "LL", "OMP_NUM_THREADS": "8"}
RANKS = tuple(f"tp{rank}" for rank in range(8))
NOBODY: Mapping[str, Process] = {}


def section_of(area: str) -> type[Section] | None:
    probe = probe_of(area)
    return probe.section if probe else None


def process(env: Mapping[str, Any] = SHARED, **facts: Any) -> Process:
    """With what all ranks of a server have alike."""
    alike = {
        "affinity": "0-63",
        "nice": 0,
        "cgroup": Cgroup(cpu_max="max 100000"),
        "limits": Map({"nofile": (1048576, 1048576), "memlock": ("unlimited", "unlimited")}),
    }
    return Process(env=Map({"RANK": "of-its-own", **env}), **{**alike, **facts})


def server(
    others: Mapping[str, Process] = NOBODY,
    name: str = "sglang-30000",
    top: str = "",
    ranks: tuple[str, ...] = RANKS,
    **named: Process,
) -> dict[str, Section]:
    """By `process/TARGET`. others, named: by rank or `launcher`, in place of the usual one. top: the launcher's target,
    else the server's name."""
    others = {**others, **named}
    numbered = {
        rank: others.get(rank, process({**SHARED, "CUDA_VISIBLE_DEVICES": str(at)})) for at, rank in enumerate(ranks)
    }
    sections: dict[str, Section] = {f"process/{top or name}": others.get("launcher", process())}
    sections.update({f"process/{name}.{rank}": numbered[rank] for rank in ranks})
    return sections


def env(**variables: str | None) -> Process:
    """What is None is not set."""
    return process({name: value for name, value in {**SHARED, **variables}.items() if value is not None})


def library(path: str, version: str | Gap = "2.27.3", *others: str, **facts: Any) -> Library:
    further = {str(at): File(path=place, version="2.21.5") for at, place in enumerate(others, start=2)}
    return Library(path=path, version=version, copies=1 + len(others), others=Map(further), **facts)


def mapping(**libraries: Library) -> Mapped:
    return Mapped(libraries=Map(libraries))


def found(sections: Mapping[str, Section]) -> tuple[Finding, ...]:
    return findings(effective(sections), section_of)


def effective(sections: Mapping[str, Section]) -> Effective:
    return state_of(sections)


def told(sections: Mapping[str, Section]) -> list[tuple[str, str]]:
    return [finding.identity for finding in found(sections)]
