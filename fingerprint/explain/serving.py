"""Whether a number is of serving: only that has prompts, answers and drafts, and is told what clients asked of it."""

import re
from collections.abc import Sequence

from fingerprint.explain.engines import SERVE
from fingerprint.explain.mechanisms.graph import Phase
from fingerprint.explain.phases import phases_of_metric
from fingerprint.explain.programs import Programs, programs
from fingerprint.explain.subject import Subject

OF_SERVING: frozenset[Phase] = frozenset(("accept length", "verify step", "decode step", "prefill", "host latency"))
"""Phases of whose numbers a server's tell what clients asked of it; a test or a training has no clients."""
_OF_REQUESTS = re.compile(
    r"ttft|first[_ ]?token|tpot|(^|_)itl|inter[_ ]?token|per[_ ]?output[_ ]?token|accept|request|prompt|prefill|decode|"
    r"draft|verify|output_(throughput|tokens)|generation"
)
"""Names of numbers that only serving has."""
_OF_TESTS: frozenset[Phase] = frozenset(("transfer",))
"""Of what nobody knows, a number about nothing else is that of a test."""
_TOKENS_A_SECOND = re.compile(r"tok(en)?s?[_ ]?(/|per)[_ ]?s")
_TRAINS = re.compile(
    r"(auto|post|pre|re)?train\w*|fine|finetun\w*|tun(e|er|ing)|torch(run|tune)|accelerate|deepspeed|axolotl|sft|dpo|grpo"
)
"""Words of the names of what trains, and of what starts trainings."""


def is_of_serving(name: str, sides: Sequence[Subject], unit: str = "") -> bool:
    """Also where nobody knows what ran. name, unit: of the number."""
    if _OF_REQUESTS.search(name.lower()) or any(side.last and side.last.opened.attached for side in sides):
        return True
    ran = programs(side.state for side in sides)
    if ran.asks or ran.engines:
        return ran.asks or bool(ran.engines & SERVE)
    if any(map(_TRAINS.fullmatch, ran.called)) or phases_of_metric(name, unit) == _OF_TESTS:
        return False
    return _is_unknown(ran) or _TOKENS_A_SECOND.search(f"{name} {unit}".lower()) is not None


def _is_unknown(ran: Programs) -> bool:
    """Whether nothing was read of what ran, or something was started where nobody looked."""
    return ran.unseen or not ran.called
