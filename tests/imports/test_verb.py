"""`fingerprint import` of other tools' dumps, as its user runs it."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.imports import texts
from tests.metrics.logs.test_story import FRIDAY, THURSDAY, of_eight


@pytest.fixture
def fingerprint(tmp_path: Path) -> Cli:
    (tmp_path / "q.txt").write_text(texts.H100)
    (tmp_path / "lscpu.txt").write_text(texts.LSCPU)
    (tmp_path / "readme.txt").write_text("About this machine")
    return Cli(tmp_path)


def test_dumps_become_a_run_that_is_compared_and_what_they_do_not_tell_is_not_read(fingerprint: Cli) -> None:
    told = fingerprint("import", "q.txt", "lscpu.txt", "--name", "old").stdout
    assert told.splitlines()[0] == "old#1: cpu, driver, gpu, kernel, numa"
    fingerprint("run", "--name", "new", "--", "true")
    diff = fingerprint.diff("old", "new")
    assert {change["fact"] for change in diff["changes"]} >= {"cpu/online"}
    assert "memory/vm/swappiness" not in {change["fact"] for change in diff["changes"]}
    unread = {note["says"] for note in diff["not_known"] if note["a"] == "not_read"}
    assert unread


def test_two_dumps_of_one_host_are_told_apart_by_what_changed(fingerprint: Cli, tmp_path: Path) -> None:
    (tmp_path / "friday.txt").write_text(
        texts.H100.replace("Requested Power Limit             : 650", "Requested Power Limit             : 450")
    )
    fingerprint("import", "q.txt", "--name", "thursday", "--host", "gpu-07")
    fingerprint("import", "friday.txt", "--name", "friday", "--host", "gpu-07", "--at", "2026-01-16T02:00")
    diff = fingerprint.diff("thursday", "friday")
    assert [change["fact"] for change in diff["changes"]] == ["gpu/0000:53:00.0/power_limit"]
    assert diff["comparable"]["same_host"] is True


def test_where_no_host_is_told_the_same_gpus_are_those_of_one_host_and_of_others_it_is_not_known(
    fingerprint: Cli, tmp_path: Path
) -> None:
    (tmp_path / "else.txt").write_text(texts.H100.replace(": GPU-0", ": GPU-f"))
    for name in ("thursday", "friday"):
        fingerprint("import", "q.txt", "--name", name)
    fingerprint("import", "else.txt", "--name", "else")
    same, other = fingerprint.diff("thursday", "friday"), fingerprint.diff("thursday", "else")
    assert (same["comparable"]["same_host"], same["comparable"]["same_gpus"]) == (True, True)
    assert {pair["how"] for pair in same["pairing"]} == {"same slot and unit"}
    assert other["comparable"]["same_host"] is None
    assert "Not the same host" not in other["headline"]
    assert "Whether it was the same host is not known" in other["comparable"]["says"]


def test_of_two_kernel_logs_the_one_with_an_error_of_a_gpu_is_told_by_it(fingerprint: Cli, tmp_path: Path) -> None:
    quiet = "".join(line for line in texts.KERNEL_LOG.splitlines(keepends=True) if "0000:53:00" not in line)
    for name, text in (("thursday", quiet), ("friday", texts.KERNEL_LOG)):
        (tmp_path / f"{name}.log").write_text(text)
        fingerprint("import", f"{name}.log", "--name", name, "--host", "gpu-07")
    changes = {change["fact"]: change for change in fingerprint.diff("thursday", "friday")["changes"]}
    assert changes["driver/log/0000:53:00.0/xid/79"]["verdict"] == "grew"
    assert fingerprint.diff("friday", "friday")["changes"] == []


def test_a_run_of_dumps_says_where_it_is_from(fingerprint: Cli) -> None:
    fingerprint("import", ".", "--name", "old", "--at", "2026-01-15T02:00")
    shown = json.loads(fingerprint("show", "old", "--format", "json").stdout)
    notes = "\n".join(shown["notes"])
    assert "imported: lscpu.txt: lscpu; q.txt: nvidia-smi -q" in notes
    assert "time: as --at says" in notes
    assert "left out: readme.txt: nothing in it is recognised" in notes


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("readme.txt", "--name", "old"), "readme.txt holds no dump that can be taken in"),
        (("q.txt",), "--name has to name"),
        (("nope.txt", "--name", "old"), "nope.txt cannot be read"),
        (("q.txt", "--name", "a/b"), "cannot name a run"),
        (("/dev/zero", "--name", "old"), "/dev/zero"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_in_a_sentence(fingerprint: Cli, args: tuple[str, ...], words: str) -> None:
    refused = fingerprint("import", *args, status=2)
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_standard_input_is_read(fingerprint: Cli) -> None:
    told = fingerprint("import", "-", "--name", "old", input=texts.NUMACTL).stdout
    assert told.startswith("old#1: numa\n  imported: standard input: numactl -H\n")


def test_exported_files_are_taken_in_beside_dumps(fingerprint: Cli, tmp_path: Path) -> None:
    fingerprint("import", "q.txt", "--name", "old")
    fingerprint("export", "old", "-o", "old.json")
    other = Cli(tmp_path / "other")
    other.home.mkdir()
    assert other("import", str(tmp_path / "old.json")).stdout.endswith("old#1, 1 new snapshots\n")


def served(folder: Path, name: str, lines: Sequence[str]) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return name


def test_two_logs_alone_tell_by_what_throughput_changed(fingerprint: Cli, tmp_path: Path) -> None:
    for name, lines in (("thursday", of_eight(THURSDAY)), ("friday", of_eight(FRIDAY))):
        file = served(tmp_path, f"{name}.log", lines)
        told = fingerprint("import", file, "--name", name, "--host", "gpu-07").stdout
        assert told.splitlines()[0] == f"{name}#1: 11 metrics"
    diff = fingerprint.diff("thursday", "friday")
    assert {it["name"]: it["verdict"] for it in diff["metrics"]}["cycle_ms"] == "worse"
    assert diff["arithmetic"]["says"][0] == "Of throughput of each stream x 0.64: cycle_ms 100 %."
    assert diff["comparable"]["same_workload"] is True


def test_a_log_a_result_and_dumps_of_one_host_are_one_run(fingerprint: Cli, tmp_path: Path) -> None:
    result = {"backend": "sglang", "completed": 3, "duration": 2.0, "output_throughput": 94.1}
    result["median_e2e_latency_ms"] = 8
    (tmp_path / "result.json").write_text(json.dumps(result))
    served(tmp_path, "server.log", THURSDAY)
    told = fingerprint("import", "q.txt", "server.log", "result.json", "--name", "old").stdout
    assert told.splitlines()[0] == "old#1: driver, gpu, 14 metrics"
    shown = json.loads(fingerprint("show", "old", "--format", "json").stdout)
    assert {"output_throughput", "gen_throughput"} <= shown["metrics"].keys()
    assert shown["workload"]["sglang/streams"] == 1
    assert shown["sections"].keys() >= {"gpu"}


def test_a_log_in_a_folder_of_dumps_is_not_left_out(fingerprint: Cli, tmp_path: Path) -> None:
    served(tmp_path, "server.log", THURSDAY)
    told = fingerprint("import", ".", "--name", "old").stdout
    assert "imported: server.log: sglang-log" in told
    assert "left out: readme.txt: nothing in it is recognised" in told


def test_a_log_comes_from_standard_input_too(fingerprint: Cli) -> None:
    told = fingerprint("import", "-", "--name", "old", input="".join(f"{line}\n" for line in THURSDAY)).stdout
    assert told.splitlines()[1] == "  imported: standard input: sglang-log"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("idle.log", 'server_args=ServerArgs(model_path="m")\n', "tells of no batch that ran"),
        ("cut.json", '[{"pp_avg": 3.1, "build', "its writer may not have finished"),
    ],
)
def test_a_log_or_result_that_tells_nothing_is_refused_with_the_reason(
    fingerprint: Cli, tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content)
    refused = fingerprint("import", name, "--name", "old", status=2)
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_json_of_somebody_else_is_refused_as_any_other_text(fingerprint: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"hello": [1, 2]}')
    told = fingerprint("import", "other.json", "--name", "x", status=2).stderr
    assert "other.json holds no dump that can be taken in (nothing in it is recognised)" in told
    assert "export it again" not in told


def test_a_file_that_is_empty_or_cut_off_says_so(fingerprint: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in FRIDAY).encode())[:-20])
    for file, says in (
        ("empty.log", "empty.log is empty: "),
        ("cut.log.gz", "cut.log.gz cannot be unpacked: it is cut"),
    ):
        assert says in fingerprint("import", file, "--name", "x", status=2).stderr
