"""What the two runs of a pair printed, of the messages that are known: what the row's source quotes, and what programs
print whatever happens."""

from random import Random

from benchmarks.incidents.rows import Incident, Number
from fingerprint.runs.record import BOTH_STREAMS, Said
from fingerprint.said.heard import Heard

HARMLESS = (
    "all-reduce-over-pcie", "all-reduce-ranks", "all-reduce-without-peers", "blocks-untuned", "experts-untuned",
    "nccl-net-socket", "nccl-no-adapter", "nccl-no-direct-rdma", "one-thread-each", "sampling-without-flashinfer",
    "symbol-missing", "threads-reduced", "without-flash-attention", "without-graphs",
)  # fmt: skip
"""In logs of servers that nobody looked at for a cause."""
AT_ONCE = 3
_AT = 1_760_000_000 * 10**9


def printed(incident: Incident, random: Random, *, seen: bool) -> tuple[Said, Said]:
    """Harmless messages in both or in the better run alone; those of the row in the worse one. random: not drawn from,
    so that all else is as it would be without."""
    apart = Random()
    apart.setstate(random.getstate())
    worse = _worse(incident.metric)
    sides: tuple[dict[str, Heard], dict[str, Heard]] = {}, {}
    for message in apart.sample(HARMLESS, AT_ONCE):
        for side in (0, 1) if apart.random() < 0.5 else (1 - worse,):
            sides[side][message] = Heard(apart.randint(1, 8), 1)
    for message in incident.said if seen else ():
        sides[worse][message] = Heard(1, 1)
        sides[1 - worse].pop(message, None)
    return Said(_AT, BOTH_STREAMS, sides[0]), Said(_AT, BOTH_STREAMS, sides[1])


def _worse(metric: Number) -> int:
    more = int(metric.after > metric.before)
    return 1 - more if metric.better == "higher" else more
