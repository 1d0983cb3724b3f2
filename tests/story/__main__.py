"""Writes examples/story anew: `python -m tests.story`, after a fact was added or what a diff says has changed."""

from pathlib import Path

from tests.story.runs import FRIDAY, THURSDAY, exported

FOLDER = Path(__file__).parent.parent.parent / "examples" / "story"

if __name__ == "__main__":
    for day in (THURSDAY, FRIDAY):
        (FOLDER / f"{day.name}.json").write_bytes(exported(day))
