"""Which phases of work a metric is about, by its name and unit."""

import re
from collections.abc import Mapping

from fingerprint.explain.mechanisms.graph import Phase, Resource

# The first that the name holds counts; names are joined by `_`, `.`, `-`, `/` or nothing.
_BY_NAME: tuple[tuple[str, frozenset[Phase]], ...] = (
    (r"^canary/.*gpu/.*/(copy|upload|p2p)$", frozenset(("transfer",))),
    (r"^canary/.*(cpu|memory_copy|system_call|matmul)$", frozenset(("any work",))),
    (r"^exit_status$", frozenset(("completion",))),
    (r"accept(ance|ed)?[_ ]?(len|length|rate)|accept$", frozenset(("accept length",))),
    (r"remote|locality|numa", frozenset(("any work",))),
    (r"optimi[sz]er|gradient|backward|train|epoch|iteration", frozenset(("any work",))),
    (r"verify", frozenset(("verify step",))),
    (r"(^|_)cycle(_|$)", frozenset(("verify step", "decode step"))),
    (r"ttft|first[_ ]?token|prefill|prompt", frozenset(("prefill",))),
    (r"tpot|itl|inter[_ ]?token|decode|per[_ ]?output[_ ]?token|draft|step", frozenset(("decode step",))),
    (
        r"(?<!work|down|over)(?<!up|ff)(?<!pay)load|start[_ -]?up|warm[_ -]?up|compile|cold|init",
        frozenset(("start-up",)),
    ),
    (r"busbw|algbw|bandwidth|all_?reduce|copy|h2d|d2h|p2p", frozenset(("transfer",))),
    (r"memory|vram|(^|_)(mem|rss|heap)(_|$)", frozenset(("memory use",))),
    (r"host|launch|scheduler?|queue|wake|tokeni[sz]", frozenset(("host latency",))),
)
_TOKENS: frozenset[Phase] = frozenset(("prefill", "decode step", "verify step", "accept length"))
_BY_UNIT: Mapping[str, frozenset[Phase]] = {"tok/s": _TOKENS, "tokens/s": _TOKENS, "GB/s": frozenset(("transfer",))}
ANY: frozenset[Phase] = frozenset(("any work",))
OF_MEMORY: frozenset[Phase] = frozenset(("memory use",))
"""How much was taken and how long it took say little of each other."""


def phases_of_metric(name: str, unit: str = "") -> frozenset[Phase]:
    """`any work` where the name tells no phase: such a number is reached by whatever moves any."""
    lowered = name.lower()
    found = next((phases for pattern, phases in _BY_NAME if re.search(pattern, lowered)), None)
    return found or _BY_UNIT.get(unit) or (_TOKENS if re.search(r"tok(en)?s?[_ ]?(/|per)[_ ]?s", lowered) else ANY)


_RESOURCES: tuple[tuple[str, frozenset[Resource]], ...] = (
    (r"^canary/.*cpu$", frozenset(("cpu time", "cpu clock"))),
    (r"^canary/.*memory_copy$", frozenset(("host memory bandwidth",))),
    (r"^canary/.*system_call$", frozenset(("system calls",))),
    (r"^canary/.*/copy$", frozenset(("gpu memory bandwidth", "memory clock"))),
    (r"^canary/.*/upload$", frozenset(("pcie link",))),
    (r"^canary/.*/matmul$", frozenset(("sm clock", "gpu compute"))),
    (r"accept", frozenset(("accept length",))),
    (r"remote|locality|numa", frozenset(("page placement",))),
    (
        r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|busbw|algbw|nccl|rccl|collective",
        frozenset(("collective",)),
    ),
    (r"network|rdma|roce|infiniband|(^|_)(ib|nic)(_|$)", frozenset(("network",))),
    (r"h2d|d2h|pcie", frozenset(("pcie link",))),
    (r"nvlink|p2p", frozenset(("nvlink", "pcie link"))),
    (r"launch", frozenset(("launch latency",))),
    (r"token(i[sz]e|i[sz]ation)|cpu_time", frozenset(("cpu time", "cpu clock"))),
    (r"wake|jitter", frozenset(("wake latency",))),
    (r"syscall", frozenset(("system calls",))),
    (r"disk|read_|write_|fio|iops", frozenset(("storage", "page cache"))),
    (r"stream|membw|memory_bandwidth", frozenset(("host memory bandwidth", "gpu memory bandwidth"))),
    (r"memory|vram|(^|_)(mem|rss|heap)(_|$)", frozenset(("gpu memory", "host memory"))),
)


def resources_of_metric(name: str) -> frozenset[Resource]:
    """Which resource a number is named after; none where its name tells no one."""
    lowered = name.lower()
    return next((resources for pattern, resources in _RESOURCES if re.search(pattern, lowered)), frozenset())
