"""Texts that try to be more than text, put wherever a diff and a run hold one."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from fingerprint.explain.contract import Diff
from fingerprint.report.html import render_diff
from tests.report.cases import EVERYTHING

HOSTILE = (
    "<script>window.entered = 1</script>",
    "</title></style></script><script>window.entered = 1</script>",
    '" onmouseover="window.entered = 1" autofocus onfocus="window.entered = 1',
    "<img src=x onerror='window.entered = 1'>",
    "<svg/onload=window.entered=1>",
    "javascript:window.entered=1 " + "long" * 200,
    "--><!--]]><![CDATA[ {{7*7}} ${7*7} &lt;b&gt;",
    "\u202egnp.\u2066exe\x1b[31m\x00\x85",
)  # fmt: skip
FIXED = frozenset({
    "schema", "verdict", "better", "likelihood", "kind", "side", "rule", "gap", "outcome", "state", "how", "$", "code",
    "bracket_by", "names",
})  # fmt: skip


def replaced(value: Any, text: str) -> Any:
    """The value with each text in it replaced, but for words of a closed set, and paths of a map that has several."""
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [replaced(part, text) for part in value]
    if isinstance(value, dict):
        return {key: part if key in FIXED else replaced(part, text) for key, part in value.items()}
    return value


def hostile_diff(text: str) -> Diff:
    """Every text of a diff that has all that a diff can have."""
    plain = json.loads(msgspec.json.encode(EVERYTHING))
    hostile = replaced(plain, text)
    for change in hostile["changes"]:  # a pattern and the paths that it stands for have the same shape
        change["values"] = {}
    return msgspec.convert(hostile, Diff)


def hostile_document(text: str) -> Mapping[str, Any]:
    """A run with one section of each kind of value, a GPU and a NUMA node, all named and filled by the text."""
    key = text.replace("%", "%25")
    gpu = {
        "name": text, "power_limit": 450000, "affinity": {"numa_node": text}, "nvlink": {"link_count": 2},
        "pcie": {"link_width_current": text, "link_width_max": 16, "link_gen_max": text},
        "peers": {"$": "map", "items": {key: {"topology": text, "p2p_nvlink": "ok"}}},
    }  # fmt: skip
    facts = {
        "plain": text, "items": {"$": "map", "items": {key: text}}, "secret": {"$": "hmac", "digest": text},
        "hole": {"$": "gap", "code": "denied", "detail": text}, "doc": {"$": "doc", "value": {key: [text]}},
    }  # fmt: skip
    section = {"outcome": "ok", "detail": text, "units": {"plain": text}, "changed_during": {text: [text, text]}}
    return {
        "schema": "fingerprint.run/1", "id": text, "name": text, "attempt": 1, "benchmark": text, "host": text,
        "argv": [text], "cwd": text, "attached": [{"target": text, "pid": 1}], "detached": False, "opened_at": 0,
        "ended": text, "good": True, "workload": {text: text}, "troubles": [text], "notes": [text],
        "metrics": {text: {"samples": [1.0, 2.0], "unit": text}, "none": {"samples": [], "gap": text}},
        "findings": [{"about": text, "says": text, "do": text}],
        "said": {text: [{"message": text, "lines": 2, "first": 1, "says": text, "source": text}], f"{text} ": []},
        "sections": {
            "kernel": {**section, "facts": facts},
            "gpu": {**section, "facts": {"$": "map", "items": {key: gpu, "other": gpu}}},
            "numa": {**section, "facts": {"nodes": {"$": "map", "items": {f"node{key}": {"cpus": text}}}}},
        },
    }  # fmt: skip


def hostile_page(text: str) -> str:
    return render_diff(hostile_diff(text), hostile_document(text), hostile_document(f"{text} "))
