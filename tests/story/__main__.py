"""Writes examples/story and what the README shows of it anew: `python -m tests.story`, after a fact was added or what a
diff says has changed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent.parent
FOLDER, README = ROOT / "examples" / "story", ROOT / "README.md"
COLUMNS = 100
COMMAND = "fingerprint diff examples/story/run-A.json examples/story/run-B.json"


def block(text: str) -> str:
    """The printed answer as it stands in the README."""
    return "".join(f"    {line}".rstrip() + "\n" for line in (f"$ {COMMAND}", *text.splitlines()))


def printed() -> str:
    import msgspec

    from fingerprint.explain.contract import Diff
    from fingerprint.report.text import render

    with TemporaryDirectory() as home:
        argv = [sys.executable, "-m", *COMMAND.split(), "--format", "json"]
        env = {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "FINGERPRINT_STORE": f"{home}/store.db"}
        done = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, check=False)
    return render(msgspec.json.decode(done.stdout, type=Diff), width=COLUMNS)


def main() -> None:
    from tests.story.runs import FRIDAY, THURSDAY, exported

    for day in (THURSDAY, FRIDAY):
        (FOLDER / f"{day.name}.json").write_bytes(exported(day))
    shown = re.compile(rf"^    \$ {re.escape(COMMAND)}\n(?:    .*\n|\n(?=    ))*", re.MULTILINE)
    README.write_text(shown.sub(lambda _: block(printed()), README.read_text()))


if __name__ == "__main__":
    main()
