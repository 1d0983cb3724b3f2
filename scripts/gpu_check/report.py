"""The report, for people and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_check.compare import NAMES, TOLERANCE, Row
from probes.kit.facts import Gap

SHOWN = ("different", "moved", "not comparable")


def as_json(found: Mapping[str, Any]) -> str:
    return json.dumps({**found, "comparison": [_row(row) for row in found["comparison"]]}, indent=1) + "\n"


def as_text(found: Mapping[str, Any]) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield " · ".join(f"{name} {value}" for name, value in found["about"].items())
    for trouble in found["trouble"]:
        yield f"TROUBLE  {trouble}"
    if found["comparison"]:
        yield from _comparison(found["comparison"])
    if cost := found.get("cost"):
        yield "cost of the GPU part: " + ", ".join(
            f"{cost['gpu part, ms'][what]:.0f} ms {what} ({cost['ratio'][what]:.1f} x import pynvml; budget {most} x)"
            for what, most in cost["budget"].items()
        )
    yield from _sampling(found.get("sampling"))
    if recording := found.get("recording"):
        yield f"recorded {recording['questions']} answers of the machine"
    yield f"{found['seconds']:.0f} s in all"


def _comparison(rows: list[Row]) -> Iterator[str]:
    counts = Counter(row.verdict for row in rows)
    yield f"{len(rows)} facts that nvidia-smi tells too: " + ", ".join(f"{n} {what}" for what, n in counts.items())
    for what in SHOWN:
        for row in rows:
            if row.verdict == what:
                shown = _row(row)
                yield f"  {what.upper():15} {row.path}: nvidia-smi {shown['printed']}, NVML {shown['before']}" + (
                    f" then {shown['after']}" if row.after != row.before else ""
                )
    yield "what moves may differ by " + ", ".join(f"{most} {unit}" for unit, most in TOLERANCE.items())


def _sampling(sampling: Mapping[str, Any] | None) -> Iterator[str]:
    if sampling is None:
        return
    yield f"sampled {sampling['ticks']} times, {sampling['answered']} answered; load: {sampling['load']}"
    for key, gpu in sampling["gpus"].items():
        yield f"  {key}: busy in {gpu['busy']}; " + ", ".join(
            f"{name} {value['least']} to {value['most']}" for name, value in gpu.items() if isinstance(value, dict)
        )


def _row(row: Row) -> dict[str, Any]:
    secret = row.path.rpartition("/")[2] in NAMES
    return {
        "path": row.path,
        "verdict": row.verdict,
        "unit": row.unit,
        **{name: _shown(value, secret) for name, value in zip(("printed", "before", "after"), row[3:], strict=True)},
    }


def _shown(value: Any, secret: bool) -> Any:
    if isinstance(value, Gap):
        return f"({value.code}{f': {value.detail}' if value.detail else ''})"
    if secret:
        return "(not shown)"
    return sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
