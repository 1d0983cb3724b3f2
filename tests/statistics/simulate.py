"""Measures how often `assess` errs, and writes the tables of docs/statistics.md.

    python -m tests.statistics.simulate [PAIRS]

PAIRS for each case, 2000 unless told otherwise: some minutes.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from math import exp, log
from pathlib import Path
from random import Random

from fingerprint.statistics import assess
from tests.statistics.bootstrap import ratio_interval
from tests.statistics.cases import CASES, MEMORY
from tests.statistics.simulated import Case, draw, rates

PAGE = Path(__file__).parents[2] / "docs/statistics.md"
PAIRS = 2000
RIVAL_SHARE = 10
"""The bootstrap takes far longer: one pair in so many."""


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    text = PAGE.read_text()
    for name, cases in CASES.items():
        text = _replaced(text, name, _rows(cases, pairs))
    PAGE.write_text(_replaced(text, "intervals", _rivals(MEMORY, pairs // RIVAL_SHARE)))


def _replaced(text: str, name: str, lines: Iterable[str]) -> str:
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    body = "".join(f"{line}\n" for line in lines)
    return re.sub(re.escape(start) + ".*?" + re.escape(end), lambda _: f"{start}\n{body}\n{end}", text, flags=re.DOTALL)


def _rows(cases: Iterable[Case], pairs: int) -> Iterator[str]:
    yield "| case | false alarms | effect | found | unassessed | 95 % interval holds |"
    yield "|---|---|---|---|---|---|"
    for case in cases:
        found = rates(case, pairs)
        shares = [
            f"{share:.1%}".replace("%", " %") for share in (found.alarms, found.power, found.unassessed, found.covered)
        ]
        yield f"| {case.name} | {shares[0]} | {case.effect:.0%} | {' | '.join(shares[1:])} |".replace(
            "%", " %"
        ).replace("  %", " %")
        print(case.name, *shares, flush=True)


def _rivals(cases: Iterable[Case], pairs: int) -> Iterator[str]:
    yield "| lines of 10 % noise in each of two starts | blocks: holds | width | can tell | bootstrap: holds | width |"
    yield "|---|---|---|---|---|---|"
    for case in cases:
        yield f"| {case.name} | {' | '.join(_rival(case, pairs))} |"
        print(case.name, flush=True)


def _rival(case: Case, pairs: int) -> Iterator[str]:
    chance = Random(case.name)
    ours, theirs = [], []
    for _ in range(pairs):
        pair = draw(case, chance, 0.0)
        theirs.append((ratio_interval(pair.a.samples, pair.b.samples, chance), exp(pair.offset)))
        if ci := assess(pair.a, pair.b).ci:
            ours.append((ci, exp(pair.offset)))
    for found in (ours, theirs):
        yield f"{sum(low <= truth <= high for (low, high), truth in found) / max(1, len(found)):.0%}".replace("%", " %")
        yield f"{sum(log(high / low) for (low, high), _ in found) / max(1, len(found)):.1%}".replace("%", " %")
        if found is ours:
            yield f"{len(ours) / pairs:.0%}".replace("%", " %")


if __name__ == "__main__":
    main()
