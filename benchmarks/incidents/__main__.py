"""python -m benchmarks.incidents [--seeds N] [--half A|B] [--held-out [SET ...]] [--leave-out] [--rows] [--json FILE]

Plays every incident back among drift, without its trigger, and those that nothing on a host tells; prints how often
the answer was right. A row counts once for each seed. With --held-out the same of rows that were written after the
rules (the first set has been looked at since). The incidents that the rules count are these rows, too:
with --leave-out each row is judged without itself, which is what to expect of an incident that nobody has seen.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.incidents.rows import HELD_OUT, blind, held_out, incidents, outside
from benchmarks.incidents.scores import Answer, Rate, Scores, answers, answers_held_out, ranks, scores

_LINE = "{:<62} {:>7} {:>12} {:>8}"
_RANKS = "{:<30} {:>14} {:>8} {:>12} {:>8} {:>10}"
ASKED: tuple[tuple[str, str, str], ...] = (
    ("strong_top1", "the trigger of a strong, readable row ranks first", ">= 90 %"),
    ("strong_top3", "... among the first three", ">= 97 %"),
    ("all_top1", "the trigger of any row ranks first", ""),
    ("all_top3", "... among the first three", ""),
    ("null_abstains", "an innocent trigger: abstains", ">= 95 %"),
    ("removed_abstains", "the trigger taken out: abstains", ">= 95 %"),
    ("drift_likely", "drift alone: something is called likely", "0"),
    ("blind_likely", "a blind row: something is called likely", "0"),
    ("decisive_shown", "what decided without having changed is shown", ""),
)


def main() -> int:
    options = _options()
    sets = None if options.held_out is None else options.held_out or list(HELD_OUT)
    played = list(_played(options, sets))
    found = scores(played)
    print("\n".join(table(found)))
    print("\n".join(by_category(played)))
    print("\n".join(by_row(played, options.rows)))
    print(f"{sum(len(held_out(number)) for number in sets)} rows held out" if sets else _scope())
    if options.json:
        told = {"seeds": options.seeds, "half": options.half, "held_out": sets, "leave_out": options.leave_out}
        told |= {"scores": found, "answers": played}
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
    return 0


def _played(options: argparse.Namespace, sets: Sequence[int] | None) -> Iterator[Answer]:
    if sets:
        return answers_held_out(sets, options.seeds, options.half, leave_out=options.leave_out)
    return answers(options.seeds, options.half, leave_out=options.leave_out)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incidents")
    parser.add_argument("--seeds", type=int, default=20, help="drifts of each row")
    parser.add_argument("--half", choices=("A", "B"), help="only these rows: tune on one half, check on the other")
    parser.add_argument(
        "--held-out",
        nargs="*",
        type=int,
        choices=HELD_OUT,
        metavar="SET",
        help="the rows that were held out, and no other: of these sets, or of all",
    )
    parser.add_argument("--leave-out", action="store_true", help="judge each row by what is on record without it")
    parser.add_argument("--rows", action="store_true", help="every row, not only those that fail now and then")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    return parser.parse_args()


def table(found: Scores) -> Iterable[str]:
    yield _LINE.format("score", "share", "pairs", "wanted")
    for name, what, wanted in ASKED:
        rate: Rate = getattr(found, name)
        yield _LINE.format(what, _percent(rate.share), f"{rate.hits}/{rate.of}", wanted)
    for word, rate in found.calibration.items():
        yield _LINE.format(f"what is called {word} is the trigger", _percent(rate.share), f"{rate.hits}/{rate.of}", "")
    yield _LINE.format("drifting facts that lead to the number, at least", _percent(found.drift_leads), "", ">= 50 %")


def by_category(played: Sequence[Answer]) -> Iterable[str]:
    """How often the trigger ranks first, and among the first three: of strong rows, and of all."""
    strong, every = ranks(played, strong=True), ranks(played, strong=False)
    yield _RANKS.format("triggers by what they are", "strong: first", "of 3", "all: first", "of 3", "pairs")
    for name, of_all in every.items():
        if of_all.top1.of:
            shares = [rate.share for of in (strong[name], of_all) for rate in (of.top1, of.top3)]
            yield _RANKS.format(name, *map(_percent, shares), f"{strong[name].top1.of}/{of_all.top1.of}")


def by_row(played: Sequence[Answer], every: bool) -> Iterable[str]:
    """Rows whose trigger did not always rank first: how often, and what did instead."""
    rows: dict[str, list[Answer]] = defaultdict(list)
    for answer in played:
        if answer.kind == "trigger":
            rows[answer.row].append(answer)
    for row, each in sorted(rows.items()):
        missed = [answer.first for answer in each if answer.rank != 1]
        if missed or every:
            mark = "strong" if each[0].strong else ""
            instead = ", ".join(sorted(set(missed), key=missed.count, reverse=True)[:3])
            yield f"{row:<46} {mark:<7} {len(each) - len(missed):>3}/{len(each):<3} {instead}"


def _scope() -> str:
    return (
        f"{len(incidents())} rows and {len(blind())} blind ones; out of scope: {len(outside())}, in data/outside.jsonl"
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
