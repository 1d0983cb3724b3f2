"""python -m benchmarks.section_types [--rounds N] [--ceteris PROGRAM] [--json FILE]"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.section_types.variants import VARIANTS, Variant, write

ROOT = Path(__file__).parents[2]
COLUMNS = ("kit", "classes", "build", "dump", "load", "sum", "wall", "rss_mb")
_INTERPRETER = [sys.executable, "-c", "pass"]
_CLICK = [sys.executable, "-c", "import click"]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        programs = {variant.name: _program(variant, Path(folder) / str(n)) for n, variant in enumerate(VARIANTS)}
        programs |= {"ceteris capture": [options.ceteris, "capture"], "import click": _CLICK, "pass": _INTERPRETER}
        rows = measure(programs, options.rounds)
    print(table(rows))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.section_types")
    parser.add_argument("--rounds", type=int, default=7, help="processes of each variant; the fastest counts")
    parser.add_argument("--ceteris", default=str(Path(sys.executable).with_name("ceteris")), help="ceteris 0.4.1")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def _program(variant: Variant, folder: Path) -> list[str]:
    folder.mkdir()
    write(variant, folder)
    return [sys.executable, "-m", "benchmarks.section_types.process", variant.kit, str(folder)]


def measure(programs: dict[str, list[str]], rounds: int) -> dict[str, dict[str, float]]:
    """The least of each figure over `rounds` fresh processes; all programs take turns, one turn before to warm up."""
    least: dict[str, dict[str, float]] = {name: {} for name in programs}
    for turn in range(rounds + 1):
        for name, argv in programs.items():
            for figure, value in _figures(argv).items():
                if turn:
                    least[name][figure] = min(value, least[name].get(figure, value))
    return least


def _figures(argv: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, check=True)
    figures = {"wall": (time.perf_counter() - began) * 1000}
    if "benchmarks.section_types.process" in argv:
        figures |= json.loads(done.stdout)
    return figures


def table(rows: dict[str, dict[str, float]]) -> str:
    """Markdown, in ms and MB."""
    lines = [f"| variant | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    for name, figures in rows.items():
        cells = (_cell(figures[column]) if column in figures else "" for column in COLUMNS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


if __name__ == "__main__":
    main()
