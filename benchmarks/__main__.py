"""python -m benchmarks [--json FILE] [--pairs N] [--ceteris PROGRAM] [--torch PYTHON] [NAME...]

Measures each budget against its yardstick in turns and prints the median of the ratios with the least and the
largest. What a missing program forbids is said as not measured. Exit status 1 when a budget is over, or a program
that was to be measured failed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.budgets import BUDGETS, Budget
from benchmarks.place import Place
from benchmarks.timing import FailedError, Ratio, UnfitError

_ROW = "{:<15} {:<48} {:<36} {:>8} {:>24} {:>22} {}"


def main() -> int:
    options = _options()
    wanted = [budget for budget in BUDGETS if not options.names or budget.name in options.names]
    print(_ROW.format("budget", "what", "yardstick", "limit", "measured (least..most)", "medians", ""))
    with tempfile.TemporaryDirectory() as folder:
        rows = [_measured(budget, _place(options, folder, budget)) for budget in wanted]
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return int(any(row["verdict"] in ("over", "failed") for row in rows))


def _options() -> argparse.Namespace:
    names = [budget.name for budget in BUDGETS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"measure these alone: {', '.join(names)}")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of processes for each ratio")
    parser.add_argument("--ceteris", default=str(Path(sys.executable).with_name("ceteris")), help="ceteris 0.4.1")
    parser.add_argument("--torch", default="", metavar="PYTHON", help="an interpreter that has torch")
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"there is no budget '{name}': {', '.join(names)}")
    return options


def _place(options: argparse.Namespace, folder: str, budget: Budget) -> Place:
    """A folder for each budget, so that none finds what another left."""
    below = Path(folder) / budget.name
    below.mkdir()
    return Place(below, str(Path(options.ceteris).absolute()), options.torch, options.pairs)


def _measured(budget: Budget, place: Place) -> dict[str, object]:
    row: dict[str, object] = {"budget": budget.name, "what": budget.what, "yardstick": budget.yardstick}
    row["limit"] = budget.limit
    try:
        measured = budget.measure(place)
    except (UnfitError, FailedError) as error:
        verdict = "failed" if isinstance(error, FailedError) else "not measured"
        row.update(verdict=verdict, why=str(error))
        cells = ("", "", f"{verdict}: {error}")
    else:
        verdict = "ok" if budget.holds(measured) else "over"
        row.update(measured._asdict(), verdict=verdict)
        cells = (_span(measured), _medians(measured), verdict)
    limit = f"{'>=' if budget.at_least else '<='} {_number(budget.limit)}"
    print(_ROW.format(budget.name, budget.what, budget.yardstick, limit, *cells).rstrip(), flush=True)
    return row


def _span(measured: Ratio) -> str:
    return f"{_number(measured.median)} ({_number(measured.low)}..{_number(measured.high)})"


def _medians(measured: Ratio) -> str:
    sides = (measured.ours,) if measured.yardstick is None else (measured.ours, measured.yardstick)
    return f"{' / '.join(f'{side:.0f}' for side in sides)} {measured.unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
