"""Which phases of work a metric is about, by its name and unit."""

import re
from collections.abc import Mapping

from fingerprint.explain.mechanisms.graph import Phase

# The first that the name holds counts; names are joined by `_`, `.`, `-`, `/` or nothing.
_BY_NAME: tuple[tuple[str, frozenset[Phase]], ...] = (
    (r"^exit_status$", frozenset(("completion",))),
    (r"accept(ance|ed)?[_ ]?(len|length|rate)|accept$", frozenset(("accept length",))),
    (r"verify", frozenset(("verify step",))),
    (r"ttft|first[_ ]?token|prefill|prompt", frozenset(("prefill",))),
    (r"tpot|itl|inter[_ ]?token|decode|per[_ ]?output[_ ]?token|draft|step", frozenset(("decode step",))),
    (r"load|start[_ -]?up|startup|warm[_ -]?up|compile|cold|init", frozenset(("start-up",))),
    (r"busbw|algbw|bandwidth|all_?reduce|copy|h2d|d2h|p2p", frozenset(("transfer",))),
    (r"host|launch|scheduler?|queue|wake|tokeni[sz]", frozenset(("host latency",))),
)
_TOKENS: frozenset[Phase] = frozenset(("prefill", "decode step", "verify step", "accept length"))
_BY_UNIT: Mapping[str, frozenset[Phase]] = {"tok/s": _TOKENS, "tokens/s": _TOKENS, "GB/s": frozenset(("transfer",))}
ANY: frozenset[Phase] = frozenset(("any work",))


def phases_of_metric(name: str, unit: str = "") -> frozenset[Phase]:
    """`any work` where the name tells no phase: such a number is reached by whatever moves any."""
    lowered = name.lower()
    found = next((phases for pattern, phases in _BY_NAME if re.search(pattern, lowered)), None)
    return found or _BY_UNIT.get(unit) or (_TOKENS if re.search(r"tok(en)?s?[_ ]?(/|per)[_ ]?s", lowered) else ANY)
