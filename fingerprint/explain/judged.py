"""How strongly a mechanism is suspected before anything is seen: judgement, where incidents are too few to count.

`mechanisms/judged.tsv` answers for each rule and class of number: of ten states that differ between two runs, one of
which made the number another, this one changed as it changes in the field; how strongly do you suspect it? 0: hardly
ever the cause, 4: as good as any, 9: you would bet on it. A large language model was asked, which was shown what each
rule sees, moves and why, and no incident; of the first 567 rules twice, of which it is the mean. A few that were
plainly wrong were set by hand. It is a guess: where incidents were counted, they weigh more."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.phases import ANY

TABLE = Path(__file__).with_name("mechanisms") / "judged.tsv"
_CLASSES: Mapping[Phase, str] = {
    "host latency": "host",
    "transfer": "transfer",
    "start-up": "start",
    "memory use": "memory",
    "completion": "ended",
}
"""Of numbers of these phases alone; those of the others are rates."""
SURE, AS_ANY = 9, 4


class Judged(msgspec.Struct, frozen=True):
    """Of numbers of each class, 0 to 9; and the effect, as ratios, of a tenth of such causes and of nine tenths."""

    rate: int
    host: int
    transfer: int
    start: int
    memory: int
    ended: int
    least: float
    most: float


def judged(rule: Rule, phases: frozenset[Phase]) -> int:
    """Of a number that tells nothing of its phases, as of that class in which it is suspected most; of a rule that
    nobody judged, as of any."""
    known = told(rule)
    if known is None:
        return AS_ANY
    if phases == ANY:
        return max(known.rate, known.host)
    return max(int(getattr(known, _CLASSES.get(phase, "rate"))) for phase in phases)


def usual(rule: Rule) -> tuple[float, float] | None:
    """The least and the most by which it makes a time longer or shorter: on record, and as far as is judged beyond it.
    None: it moves no number by a ratio."""
    known = told(rule)
    expected = (known.least, known.most) if known and known.most > 1 else None
    if rule.usual is None or expected is None:
        return rule.usual or expected
    return min(rule.usual[0], expected[0]), max(rule.usual[1], expected[1])


def told(rule: Rule) -> Judged | None:
    """None of a rule that is not in the table."""
    return _table().get(rule.name)


@cache
def _table() -> Mapping[str, Judged]:
    (_, *columns), *lines = (line.split("\t") for line in TABLE.read_text().splitlines())
    given = {name: dict(zip(columns, values, strict=True)) for name, *values in lines}
    return msgspec.convert(given, dict[str, Judged], strict=False)
