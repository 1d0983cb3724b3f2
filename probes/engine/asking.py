"""Questions to one server, of which none is asked any more once one was not answered in time."""

from collections.abc import Mapping
from typing import Any

from probes.kit.facts import Document, Gap, Redacted, Seen, then
from probes.kit.host import Host

Words = tuple[str | Redacted, ...]

NOT_TOLD = Gap("not_observable", "this engine tells it in its log alone")
_OTHERWISE = Gap("not_observable", "the server tells it in a form that is not known here, or as a secret")
UNSET = Gap("absent", "none is set")
MOST_WORDS = 128

_COUNTED = (
    "(?:request_)?time_(?:to_first|per_output)_token_seconds|inter_token_latency_seconds|e2e_request_latency_seconds"
    "|request_time_per_output_token_seconds|(?:request_)?queue_time_seconds|request_(?:prefill|decode)_time_seconds"
)
_OTHERS = (
    "spec_decode_num_\\w+|spec_accept_\\w+|prefix_cache_\\w+|cache_hit_rate|prompt_tokens_total|prompt_seconds_total"
    "|tokens_predicted_(?:seconds_)?total|generation_tokens_total|request_success_total|num_(?:aborted_)?requests_total"
    "|num_preemptions_total|gen_throughput|num_requests_(?:running|waiting)|num_(?:running|queue)_reqs"
    "|requests_(?:processing|deferred)|(?:gpu|kv)_cache_usage_\\w+|token_usage|cache_config_info"
)
METRICS = (
    rf"(?:# TYPE )?(?:(?:vllm|sglang|llamacpp):(?:(?:{_COUNTED})(?:_bucket|_sum|_count)?|{_OTHERS})"
    r"|process_start_time_seconds)[{ ]"
)
"""Of Prometheus' text: lines of what is reckoned with."""


class Asking:
    def __init__(self, host: Host, pid: int, at: str) -> None:
        self._host, self._pid, self._at = host, pid, at
        self._late: Gap | None = None

    def json(self, *paths: str) -> Seen[Any]:
        """Of the first of the paths that the server has."""
        seen = self._ask(paths[0])
        return self.json(*paths[1:]) if seen == Gap("unsupported") and paths[1:] else seen

    def object(self, *paths: str) -> Seen[Mapping[str, Any]]:
        return then(self.json(*paths), lambda it: it if isinstance(it, dict) else Gap("failed", "JSON of another form"))

    def metrics(self) -> Seen[tuple[str, ...]]:
        return then(self._ask("/metrics", METRICS), _known)

    def _ask(self, path: str, pattern: str = "") -> Seen[Any]:
        if self._late is not None:
            return self._late
        seen = self._host.http(self._pid, self._at, path, pattern)
        if isinstance(seen, Document):
            return seen.value
        self._late = seen if seen.code == "timed_out" else None
        return seen


def _known(lines: list[str]) -> Seen[tuple[str, ...]]:
    return tuple(lines) or Gap("unsupported", "none of its counts is known")


def at(told: Mapping[str, Any], *names: str) -> Any:
    """What stands there; None where nothing does."""
    found: Any = told
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def number(value: Any, otherwise: Gap = NOT_TOLD) -> Seen[int]:
    """otherwise: why there is none, where nothing is told."""
    return value if isinstance(value, int) and not isinstance(value, bool) else _why(value, otherwise)


def text(value: Any, otherwise: Gap = NOT_TOLD) -> Seen[str]:
    return value if isinstance(value, str) and value else _why(value, otherwise)


def sizes(value: Any) -> Seen[tuple[int, ...]]:
    is_list = isinstance(value, list) and all(type(one) is int for one in value)
    return tuple(sorted(value)) if is_list else _why(value, NOT_TOLD)


def _why(value: Any, otherwise: Gap) -> Gap:
    return otherwise if value is None or value == "" else _OTHERWISE


def words(value: Any) -> Words | None:
    """As the values of a flag: none of a switch that is on. None of what is not set, is a secret, or no value."""
    if isinstance(value, bool):
        return () if value else ("false",)
    if isinstance(value, (int, float)):
        return (f"{value:g}" if isinstance(value, float) else str(value),)
    if isinstance(value, str):
        return (value,) if value else None
    if not isinstance(value, list) or not 0 < len(value) <= MOST_WORDS:
        return None
    each = [words(one) for one in value if isinstance(one, (str, int, float))]
    return tuple(word for one in each if one for word in one) if len(each) == len(value) else None


def arguments(told: Mapping[str, Any]) -> dict[str, Seen[Words]]:
    """Fields of a server's settings as flags."""
    found = ((f"--{name.replace('_', '-')}", words(value)) for name, value in told.items())
    return {flag: values for flag, values in found if values is not None}
