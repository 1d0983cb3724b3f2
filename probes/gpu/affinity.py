"""Which CPUs and which memory of the host are near to the GPU, by NVML's own account."""

from collections.abc import Sequence

from probes.gpu.asking import UNSUPPORTED, Device
from probes.kit.facts import Section, Seen, state, then
from probes.kit.knobs import read_each
from probes.kit.parse import as_cpu_list

WORD_BITS = 64


class Affinity(Section):
    """Lists in the kernel's format, `0-15,64-79`; up to 1,024 CPUs and nodes."""

    cpus: Seen[str] = state(
        "Where the threads that feed this GPU should run: bound elsewhere, each launch and copy crosses sockets",
        "nvmlDeviceGetCpuAffinityWithinScope(16,0)",
        settled="always",
        follows=("cpu/online",),
    )
    memory: Seen[str] = state(
        "Where host buffers of this GPU should lie: up to 1.8x for pages on another node",
        "nvmlDeviceGetMemoryAffinity(16,0)",
        settled="always",
    )
    numa_node: Seen[int] = state(
        "The node that the GPU's own memory is, where it is one (Grace): pages of the host may land there",
        "nvmlDeviceGetNumaNodeId",
        settled="always",
    )


def read_affinity(device: Device) -> Affinity:
    return read_each(
        Affinity,
        device.answer,
        cpus=then(device.answer("nvmlDeviceGetCpuAffinityWithinScope(16,0)"), as_list),
        memory=then(device.answer("nvmlDeviceGetMemoryAffinity(16,0)"), as_list),
    )


def as_list(words: Sequence[int]) -> Seen[str]:
    """The set bits of 64-bit words, the lowest first. None set is what NVML answers where it does not know."""
    bits = (WORD_BITS * at + bit for at, word in enumerate(words) for bit in range(WORD_BITS) if word >> bit & 1)
    return as_cpu_list(bits) or UNSUPPORTED
