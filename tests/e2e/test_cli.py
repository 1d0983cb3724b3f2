"""Wrong input through the command line: one sentence on standard error, a documented status, nothing half done."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli

BAD_RUNS = (
    "nope", "", " ", "a/b", "run-A#9", "run-A#99999999999999999999", "@x", "@-7", "@-99999999999999999999", "@good",
    "01MAD", "x" * 5000, "two\nlines", "\x1b[31mred", "\udcff", "/", "/etc/passwd", "/nonexistent/file", "~", "²²²²²",
)  # fmt: skip
ON_A_RUN = (
    ["good", "{run}"], ["rm", "run-A", "{run}"], ["export", "run-A", "{run}"], ["diff", "run-A", "{run}"],
    ["diff", "{run}", "run-A"], ["note", "{run}", "text"], ["rename", "{run}", "new"],
)  # fmt: skip
BAD_WORDS = (
    ["nosuch"], ["dif"], [""], ["--nosuch"],
    ["show"], ["show", "run-A", "run-B"], ["show", "-1"], ["show", "run-A", "--facts", "//"], ["show", "--format", "x"],
    ["diff", "run-A"], ["diff", "a", "b", "c"], ["diff", "run-A", "run-B", "--metric", "nope"],
    ["diff", "run-A", "run-B", "--vary", "%zz"], ["diff", "run-A", "run-B", "--exit-on", "x"],
    ["runs", "--limit", "0"], ["runs", "--limit", "-1"], ["runs", "--limit", "9" * 30], ["runs", "--limit", "x"],
    ["prune"], ["prune", "--older-than", "5"], ["prune", "--older-than", "-5d"],
    ["prune", "--older-than", "9" * 30 + "d"], ["prune", "--older-than", "9" * 5000 + "d"],
    ["prune", "--older-than", "²d"], ["prune", "--keep-last", "-1"],
    ["note", "run-A"], ["note", "run-A", ""], ["note", "run-A", "\udcff"],
    ["rename", "run-A"], ["rename", "run-A", ""], ["rename", "run-A", "a b"], ["rename", "run-A", "run-B"],
    ["rename", "run-A", "x" * 101], ["rename", "--", "run-A", "-x"], ["rename", "run-A#1", "new"],
    ["good", "run-A", "run-B"], ["rm"], ["rm", "run-A", "nope"],
    ["export"], ["export", "run-A", "-o", "/"], ["export", "run-A", "-o", "/nonexistent/file"],
    ["export", "run-A", "-o", "/dev/full"], ["export", "run-A", "-o", "x" * 300],
    ["import"], ["import", "nope"], ["import", ""], ["import", "/"], ["import", "/dev/zero"], ["import", "/etc/passwd"],
    ["import", "-"], ["import", "x" * 300],
    ["facts", ""], ["facts", "nope/**"], ["explain"], ["explain", ""], ["explain", "nope"], ["schema", "nope"],
    ["completion"], ["completion", "tcsh"], ["config", "x"], ["status", "x"], ["doctor", "--format", "x"],
    ["snapshot", "--budget", "0"], ["snapshot", "--budget", "-1"], ["snapshot", "--budget", "nan"],
    ["snapshot", "--budget", "1e9"], ["snapshot", "--area", "nope"], ["snapshot", "--area", ""],
    ["record"], ["record", "/etc/passwd"], ["record", "/proc/new"], ["record", "new", "--root", "/nonexistent"],
    ["record", "new", "--area", "nope"],
    ["run"], ["run", "--"], ["run", "--name", "", "--", "true"], ["run", "--name", "a/b", "--", "true"],
    ["run", "--name", "-x", "--", "true"], ["run", "--name", "x" * 101, "--", "true"],
    ["run", "--nosuch", "--", "true"], ["run", "--vary", "", "--", "true"],
    ["run", "--benchmark", "\udcff", "--", "true"],
)  # fmt: skip
BAD_SETTINGS = {
    "FINGERPRINT_BUDGET_S": ("x", "", "0", "-1", "inf", "\udcff"),
    "FINGERPRINT_BUDGET": ("5",),
    "FINGERPRINT_COLOR": ("red",),
    "FINGERPRINT_SAMPLING_THEN_HZ": ("0", "1e9"),
    "FINGERPRINT_AREAS_SKIP": ("nope",),
}
BAD_FILES = (
    "stor = 'x'",
    "budget_s = '5'",
    "budget_s = 0",
    "store = 'x.db'",
    "sampling = 1",
    "a =",
    "\0",
    "[[[[" * 9999,
)
ANY_VERB = (["runs"], ["show", "@"], ["status"], ["export", "@"], ["rm", "@"])
BROKEN_STORES: dict[str, Callable[[Path], object]] = {
    "another program's file": lambda store: store.write_bytes(b"\x7fELF" * 4000),
    "a truncated store": lambda store: os.truncate(store, 5000),
    "a newer release's store": lambda store: changed(store, "PRAGMA user_version = 99"),
    "another program's database": lambda store: changed(store, "PRAGMA application_id = 5"),
    "a folder": lambda store: (store.unlink(), store.mkdir()),
    "a device": lambda store: (store.unlink(), store.symlink_to("/dev/null")),
    "damaged rows": lambda store: changed(store, "UPDATE run SET opener = '{'"),
}


def changed(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Two runs and a snapshot, which no wrong word may change."""
    fingerprint = Cli(tmp_path_factory.mktemp("kept"))
    for name in ("run-A", "run-B", "run-A"):
        fingerprint("run", "-q", "--name", name, "--", "true")
    fingerprint("snapshot", "-q", "--area", "kernel")
    return fingerprint


@pytest.fixture
def copy(kept: Cli, tmp_path: Path) -> Cli:
    """The same runs, to be changed."""
    with (
        closing(sqlite3.connect(kept.home / "store.db")) as source,
        closing(sqlite3.connect(tmp_path / "store.db")) as to,
    ):
        source.backup(to)
    return Cli(tmp_path)


def refused(fingerprint: Cli, args: Sequence[str], **more: Any) -> str:
    """The one sentence with which it ended; nothing may stand on standard output."""
    more.setdefault("stdin", subprocess.DEVNULL)
    ended = fingerprint(*args, status=125 if args[0] == "run" else 2, **more)
    said = ended.stderr
    assert ended.stdout == "", args
    assert said.startswith("fingerprint: "), args
    assert said.count("\n") == 1, said
    assert said[:-1].isprintable(), said
    return said


def state(fingerprint: Cli) -> str:
    with closing(sqlite3.connect(fingerprint.home / "store.db")) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.parametrize("run", BAD_RUNS)
def test_a_run_that_is_none_is_told(kept: Cli, run: str) -> None:
    refused(kept, ["show", run])


@pytest.mark.parametrize("verb", ON_A_RUN, ids=lambda verb: verb[0])
def test_every_verb_that_takes_a_run_refuses_what_is_none(kept: Cli, verb: Sequence[str]) -> None:
    before = state(kept)
    for run in ("nope", "/", "01MAD"):
        refused(kept, [word.format(run=run) for word in verb])
    assert state(kept) == before


@pytest.mark.parametrize("args", BAD_WORDS, ids=lambda args: " ".join(args)[:60].encode("ascii", "replace").decode())
def test_wrong_words_are_told_and_change_nothing(kept: Cli, args: list[str]) -> None:
    before, files = state(kept), sorted(kept.home.iterdir())
    refused(kept, args)
    assert (state(kept), sorted(kept.home.iterdir())) == (before, files)


@pytest.mark.parametrize(
    ("variable", "value"), [(name, value) for name in BAD_SETTINGS for value in BAD_SETTINGS[name]]
)
def test_a_wrong_variable_is_named(kept: Cli, variable: str, value: str) -> None:
    assert f" {variable}" in refused(kept, ["runs"], env={variable: value})


def test_wrong_settings_start_no_command(kept: Cli) -> None:
    assert "color is 'red'" in refused(kept, ["run", "--", "touch", "started"], env={"FINGERPRINT_COLOR": "red"})
    assert not (kept.home / "started").exists()


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_wrong_file_of_settings_is_named(kept: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "fingerprint").mkdir()
    file = tmp_path / "fingerprint/config.toml"
    file.write_text(text)
    assert str(file) in refused(kept, ["snapshot"], env={"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, marks=() if "another" in damage or "newer" in damage else pytest.mark.long)
        for damage in BROKEN_STORES
    ],
)
def test_a_store_that_is_of_no_use_is_named_and_no_command_is_stopped_by_it(copy: Cli, damage: str) -> None:
    store = copy.home / "store.db"
    BROKEN_STORES[damage](store)
    for args in ANY_VERB:
        assert str(store) in refused(copy, args)
    ran = copy("run", "-q", "--", "sh", "-c", "echo done; exit 3", status=3)
    assert ran.stdout == "done\n"
    assert complete(copy, "show ") == (["@", "@-1", "@good"], "")


def complete(fingerprint: Cli, line: str, **env: str) -> tuple[list[str], str]:
    """What a shell is offered for the last word of `fingerprint LINE`, and what a user would see beside it."""
    env |= {"_FINGERPRINT_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": f"fingerprint {line}", "COMP_CWORD": str(len(line.split(" ")))}
    ended = fingerprint(env=env)
    return [row.partition(",")[2] for row in ended.stdout.splitlines()], ended.stderr


def test_completion_offers_what_there_is(kept: Cli) -> None:
    assert complete(kept, "show run-") == (["run-A", "run-B"], "")
    assert complete(kept, "rm run-A#") == (["run-A#1", "run-A#2"], "")
    assert complete(kept, "explain memory/swap_tot") == (["memory/swap_total"], "")


def test_completion_is_silent_where_settings_are_wrong(kept: Cli) -> None:
    assert complete(kept, "show ", FINGERPRINT_BUDGET_S="x") == (["@", "@-1", "@good"], "")


@pytest.mark.parametrize("args", [["runs"], ["show", "run-A"], ["diff", "run-A", "run-B"], ["export", "run-A"]])
def test_looking_at_runs_needs_no_redaction_key(kept: Cli, args: list[str]) -> None:
    assert kept(*args, env={"XDG_STATE_HOME": "/dev/null"}).stderr == ""


# Streams that cannot be written.


@pytest.mark.parametrize("args", ["runs", "show @", "diff", "export @", "facts", "--version", "--help"])
@pytest.mark.parametrize(("stream", "why"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_an_answer_that_cannot_be_written_is_told(kept: Cli, args: str, stream: str, why: str) -> None:
    ended = kept(*args.split(), before=["sh", "-c", f'"$@" {stream}', "sh"], status=2)
    assert ended.stderr == f"fingerprint: standard output cannot be used: {why}\n"


@pytest.mark.parametrize(("verb", "status"), [("gate", 2), ("diff", 2), ("run", 125)])
def test_a_fault_of_its_own_is_no_answer(kept: Cli, verb: str, status: int) -> None:
    script = f"""import importlib
verbs = importlib.import_module("fingerprint.cli.main")
verbs.cli.main = lambda *_, **__: 1 / 0
verbs.main([{verb!r}])"""
    done = subprocess.run([sys.executable, "-c", script], env=kept.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert done.stderr.startswith("Traceback")
    assert "ZeroDivisionError" in done.stderr


def test_a_reader_that_goes_away_is_no_trouble(kept: Cli) -> None:
    piped = kept("facts", before=["bash", "-c", '"$@" | head -n 1; exit ${PIPESTATUS[0]}', "bash"], status=141)
    assert piped.stdout.count("\n") == 1
    assert piped.stderr == ""


@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-", ">&- 2>&- <&-"])
def test_a_commands_status_is_its_own_where_nothing_can_be_said(copy: Cli, stream: str) -> None:
    ended = copy(
        "run", "--name", "mute", "--", "sh", "-c", "exit 3", before=["sh", "-c", f'"$@" {stream}', "sh"], status=3
    )
    assert (ended.stdout, ended.stderr) == ("", "")


def test_a_full_disk_leaves_an_earlier_export_as_it_was(kept: Cli, tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text("as it was")
    few = ["sh", "-c", 'ulimit -f 128; trap "" XFSZ; "$@"', "sh"]
    assert "cannot be written: File too large" in refused(
        kept, ["export", "run-A", "-o", str(tmp_path / "runs.json")], before=few
    )
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("runs.json", "as it was")]


# Out of one store and into another.


def answers(fingerprint: Cli) -> list[str]:
    """What is shown of the runs, in every form in which one store must say the same as another."""
    return [
        fingerprint("show", "run-A#1", "--format", "json").stdout,
        fingerprint("show", "run-B").stdout,
        fingerprint("diff", "run-A#1", "run-B", "--format", "json", status=None).stdout,
        fingerprint("runs", "--format", "json").stdout,
    ]


def test_what_is_exported_and_imported_is_shown_and_compared_alike(copy: Cli, tmp_path: Path) -> None:
    copy("good", "run-A#2")
    copy("note", "run-B", "after the update")
    document = copy("export", "run-A", "run-B").stdout
    other = Cli(tmp_path / "other")
    other.home.mkdir()
    other("import", "-", input=document)
    assert answers(other) == answers(copy)
    assert other("export", "run-A", "run-B").stdout == document
    before = state(other)
    assert "already here: run-A#1" in other("import", "-", input=document).stdout
    assert state(other) == before


TAMPERED: dict[str, Callable[[Any], object]] = {
    "an id": lambda it: it["runs"][0].update(id="01M8MDA4VRK9A600QKRMAS8Y8O"),
    "a name": lambda it: it["runs"][0].update(name="../../etc"),
    "an attempt": lambda it: it["runs"][0].update(attempt=10**30),
    "a time": lambda it: it["runs"][0]["records"][0].update(at=10**30),
    "a kind of record": lambda it: it["runs"][0]["records"].append({"record": "quantum", "at": 1}),
    "two beginnings": lambda it: it["runs"][0]["records"].append(it["runs"][0]["records"][0]),
    "a path": lambda it: it["snapshots"][0]["readings"][0].update(area="../x"),
    "a body": lambda it: it["blobs"][0]["body"].update(more=1),
    "a digest": lambda it: it["blobs"][0].update(digest="0" * 40),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_an_export_that_was_tampered_with_is_refused_whole(kept: Cli, tmp_path: Path, what: str) -> None:
    document = json.loads(kept("export", "run-A").stdout)
    TAMPERED[what](document)
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(document))
    other = Cli(tmp_path)
    assert str(file) in refused(other, ["import", str(file)])
    assert "no run is kept yet" in other("runs").stdout


def test_a_file_of_nothing_but_depth_is_refused(kept: Cli, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"schema": ' + '[{"a": ' * 100_000)
    assert "deep.json" in refused(kept, ["import", str(tmp_path / "deep.json")])
    assert "deep.json" in refused(kept, ["show", str(tmp_path / "deep.json")])


# Others at the same time.


@pytest.mark.long
def test_house_is_kept_while_runs_are_written(copy: Cli) -> None:
    document = copy("export", "run-B").stdout
    writers = [
        subprocess.Popen([*copy.argv("run", "-q", "--name", f"new-{n}", "--", "sleep", "1.5")], env=copy.env)
        for n in range(2)
    ]
    while any(writer.poll() is None for writer in writers):
        copy("rm", "-q", "run-B")
        copy("rename", "run-A", "other")
        copy("import", "-q", "-", input=document)
        copy("rename", "other", "run-A")
        copy("prune", "--keep-last", "50")
    assert [writer.wait() for writer in writers] == [0, 0]
    kept = json.loads(copy("runs", "--format", "json").stdout)
    assert sorted(run["name"] for run in kept) == ["new-0", "new-1", "run-A", "run-A", "run-B"]
    assert {run["state"] for run in kept} == {"closed"}
    assert copy("export", "run-B").stdout == document


def test_a_run_that_is_removed_while_it_runs_is_told_where_it_went(copy: Cli) -> None:
    command = ["sh", "-c", "touch started; until test -e removed; do sleep 0.01; done"]
    running = subprocess.Popen(
        copy.argv("run", "--name", "gone", "--", *command),
        env=copy.env, cwd=copy.home, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (copy.home / "started").exists():
        time.sleep(0.01)
    copy("rm", "gone")
    (copy.home / "removed").touch()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 0
    (spilled,) = copy.home.glob("fingerprint-*.jsonl")
    assert f"the run is in {spilled}: `fingerprint import {spilled}` stores it" in said
    assert copy("import", str(spilled)).stdout.startswith(f"{spilled}: gone#1, ")
    assert "exited 0" in copy("show", "gone").stdout
