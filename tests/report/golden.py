"""The golden texts: `python -m tests.report.golden` writes them anew, for a person to read in the diff."""

from collections.abc import Iterator
from pathlib import Path

from fingerprint.report.text import render
from fingerprint.report.timeline.text import render as render_timeline
from tests.report.cases import CASES
from tests.report.timelines import CASES as TIMELINES

FOLDER = Path(__file__).parent / "golden"


def texts() -> Iterator[tuple[str, str]]:
    """(file name, text as it is rendered now)."""
    for name, case in CASES.items():
        yield f"{name}-80.txt", render(case, width=80)
        yield f"{name}-120.txt", render(case, width=120)
        yield f"{name}-80-color.txt", render(case, width=80, color=True)
    for name, told in TIMELINES.items():
        yield f"timeline-{name}-80.txt", render_timeline(told, width=80)
        yield f"timeline-{name}-120.txt", render_timeline(told, width=120)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in texts():
        (FOLDER / file).write_text(text, encoding="utf-8")
