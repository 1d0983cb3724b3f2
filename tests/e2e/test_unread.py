"""What could not be read of a process: the command that the diff names tells why."""

import shlex
import subprocess
from pathlib import Path

from tests.e2e.conftest import Cli


def test_the_command_that_is_named_tells_what_went_wrong(fingerprint: Cli, tmp_path: Path) -> None:
    """A git tree whose index is broken, read in a run that has ended since."""
    tree = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *author, "-C", str(tree), "commit", "-qm", "one", "--allow-empty"], check=True)
    (tree / ".git" / "index").write_text("broken")
    for name in ("a", "b"):
        fingerprint("run", "--name", name, "--", "sleep", "0.3", cwd=tree)
    diff = fingerprint.diff("a", "b")
    [line] = [unknown for unknown in diff["not_known"] if unknown["fact"] == "process/main/git/dirty"]
    command = line["says"].removesuffix(" says what went wrong")
    assert "index file smaller than expected" in fingerprint(*shlex.split(command)[1:]).stdout
    assert f"See why process/main/git/dirty could not be read: {command}" in diff["next"]
