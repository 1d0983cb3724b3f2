"""GPUs that are as far apart by the kernel's bus as NVML does not say."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from fingerprint.findings.finding import Finding, named
from fingerprint.findings.state import State
from probes.gpu import Gpus
from probes.kit.facts import Map, Seen
from probes.pcie.sections import Pcie

SAME: Mapping[str, tuple[str, ...]] = {"PSB": ("PIX", "PXB")}
"""What NVML says -> what it may be on the bus: two GPUs of one board are below that board's own switch."""
_HOST = ""
Pair = tuple[str, str]


def of_buses(state: State) -> Iterator[Finding]:
    """One for each two distances that stand against each other, with all pairs of which that holds."""
    pcie, gpus = state.sections("pcie", Pcie).get(_HOST), state.sections("gpu", Gpus).get(_HOST)
    if pcie is None or gpus is None:
        return
    unlike: dict[tuple[str, str], list[Pair]] = {}
    on_the_bus, by_nvml = _on_the_bus(pcie), _by_nvml(gpus)
    for pair in combinations(sorted(on_the_bus.keys() & by_nvml.keys()), 2):
        bus, nvml = _of(on_the_bus, pair), _of(by_nvml, pair)
        if isinstance(bus, str) and isinstance(nvml, str) and bus != nvml and bus not in SAME.get(nvml, ()):
            unlike.setdefault((bus, nvml), []).append(pair)
    for (bus, nvml), pairs in sorted(unlike.items()):
        yield _finding(bus, nvml, pairs)


def _on_the_bus(pcie: Pcie) -> Mapping[str, Mapping[str, Seen[str]]]:
    if not isinstance(pcie.gpus, Map):
        return {}
    return {key: gpu.distances.items for key, gpu in pcie.gpus.items.items() if isinstance(gpu.distances, Map)}


def _by_nvml(gpus: Gpus) -> Mapping[str, Mapping[str, Seen[str]]]:
    if not isinstance(gpus.gpus, Map):
        return {}
    return {
        key: {other: peer.topology for other, peer in gpu.peers.items.items()}
        for key, gpu in gpus.gpus.items.items()
        if isinstance(gpu.peers, Map)
    }


def _of(told: Mapping[str, Mapping[str, Seen[str]]], pair: Pair) -> Seen[str] | None:
    one, other = pair
    return told[one].get(other)


def _finding(bus: str, nvml: str, pairs: list[Pair]) -> Finding:
    facts = [(f"pcie/gpus/{one}/distances/{other}", f"gpu/{one}/peers/{other}/topology") for one, other in pairs]
    which = named([f"{one} and {other}" for one, other in pairs])
    return Finding(
        rule="distance-told-otherwise",
        about=f"{bus} as {nvml}",
        facts=tuple(fact for both in facts for fact in both),
        values={"the kernel's bus": bus, "NVML": nvml},
        says=f"{which}: {bus} apart by the kernel's bus, and {nvml} as NVML says.",
        do="Compare `nvidia-smi topo -m` with `lspci -tv`: NCCL goes by the bus, which a hypervisor may lay otherwise "
        "than it is; NCCL_TOPO_FILE tells it better.",
    )
