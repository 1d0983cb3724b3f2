"""What a run wrote is read after it, and nothing that an earlier run left."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fingerprint.metrics import Metric
from fingerprint.metrics.collect import Output, collect, expect
from fingerprint.metrics.found import Found, private
from fingerprint.metrics.wanted import wanted
from fingerprint.trouble import Trouble
from probes.kit.facts import Redacted
from probes.kit.redact import Redactor
from tests.metrics.results import FILES


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(metrics: list[str], *argv: str, output: bytes = b"") -> Found:
    """Reads what the command left, as `run` does around it."""
    expected = expect(wanted(metrics), argv)
    subprocess.run(argv, check=True)
    return collect(expected, Output(output))


def cp(name: str, to: str) -> tuple[str, ...]:
    """A command that writes a result file."""
    return ("dd", "status=none", f"if={FILES / name}", f"of={to}")


def test_a_file_that_was_wanted_is_read() -> None:
    found = run(["auto:out.json"], *cp("hyperfine.json", "out.json"))
    assert found.metrics[0].name == "nothing"
    assert found.troubles == ()


def test_a_file_that_the_arguments_name_is_read_without_being_asked_for() -> None:
    script = f"import shutil; shutil.copyfile({str(FILES / 'pyperf-timeit.json')!r}, 'out.json')"
    found = run([], sys.executable, "-c", script, "-o", "out.json")
    assert [metric.name for metric in found.metrics] == ["timeit"]
    assert found.workload["pyperf/version"] == "2.11.0"


def test_a_file_that_is_wanted_and_named_by_the_arguments_is_read_once() -> None:
    script = f"import shutil; shutil.copyfile({str(FILES / 'hyperfine.json')!r}, 'out.json')"
    found = run(["h=hyperfine:./out.json"], sys.executable, "-c", script, "--export-json", "out.json")
    assert {metric.name.partition("/")[0] for metric in found.metrics} == {"h"}


def test_statistics_and_what_they_are_of_are_one_metric() -> None:
    """aiperf writes both into its folder; the counts stand in both."""
    script = """
import json
request = {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 0.0, "unit": "ms"}}}
with open("profile_export.jsonl", "w") as lines:
    for ttft in (30.0, 31.0, 41.0):
        request["metrics"]["time_to_first_token"]["value"] = ttft
        print(json.dumps(request), file=lines)
ttft, count = {"unit": "ms", "avg": 34.0, "p99": 40.9}, {"unit": "requests", "avg": 3}
told = {"time_to_first_token": ttft, "request_count": count}
with open("profile_export_aiperf.json", "w") as file:
    json.dump({**told, "aiperf_version": "0.3", "input_config": {"loadgen": {"concurrency": 1}}}, file)
"""
    found = run(["auto:profile_export_aiperf.json", "auto:profile_export.jsonl"], sys.executable, "-c", script)
    told = {metric.name: metric.samples for metric in found.metrics}
    assert told == {"ttft": (30.0, 31.0, 41.0), "completed_requests": (3.0,), "failed_requests": (0.0,)}
    assert found.workload["aiperf/concurrency"] == 1


def test_a_file_of_an_earlier_run_is_never_taken() -> None:
    shutil.copyfile(FILES / "hyperfine.json", "out.json")
    found = run(["auto:out.json", "x=json:out.json#results[0].mean"], "true")
    sentence = "out.json is of an earlier run: this one did not write it, so nothing was read of it"
    assert found.troubles == (
        f"--metrics auto:out.json: {sentence}",
        f"--metrics x=json:out.json#results[0].mean: {sentence}",
    )
    assert found.metrics == (Metric("x", gap=sentence),)


def test_a_file_that_the_arguments_name_and_the_command_did_not_write_is_a_trouble() -> None:
    shutil.copyfile(FILES / "hyperfine.json", "out.json")
    found = run([], "true", "--export-json", "out.json")
    assert found.metrics == ()
    assert found.troubles == ("out.json is of an earlier run: this one did not write it, so nothing was read of it",)


def test_a_guess_that_is_no_result_is_passed_over() -> None:
    assert run([], sys.executable, "-c", "open('prog', 'wb').write(bytes(9))", "-o", "prog") == Found()
    assert run([], "true", "-o", "nothing") == Found()


def test_a_file_written_anew_with_the_same_bytes_is_of_this_run() -> None:
    shutil.copyfile(FILES / "hyperfine.json", "out.json")
    found = run(["auto:out.json"], *cp("hyperfine.json", "out.json"))
    assert found.metrics


def test_one_line_of_json_written_anew_with_the_same_bytes_is_of_this_run() -> None:
    write = ("sh", "-c", """echo '{"x": {"ms": 12}}' > out.json""")
    run(["json:out.json#x.ms"], *write)
    assert run(["json:out.json#x.ms"], *write).metrics[0].samples == (12,)


def test_a_file_replaced_by_another_is_of_this_run() -> None:
    Path("out.json").write_text('{"t_ms": 1}')
    script = "import os; open('new', 'w').write('{\"t_ms\": 2}'); os.replace('new', 'out.json')"
    assert run(["json:out.json#t_ms"], sys.executable, "-c", script).metrics[0].samples == (2.0,)


def test_an_old_file_put_in_place_during_the_run_is_not_of_it() -> None:
    Path("old.json").write_text('{"t_ms": 1}')
    os.utime("old.json", (1_000_000_000, 1_000_000_000))
    found = run(["json:out.json#t_ms"], "cp", "-p", "old.json", "out.json")
    assert "was written long before the run" in found.troubles[0]


def test_lines_added_during_the_run_are_of_it() -> None:
    Path("log.jsonl").write_text('{"t_ms": 1}\n')
    script = "open('log.jsonl', 'a').write('{\"t_ms\": 2}\\n{\"t_ms\": 3}\\n')"
    assert run(["json:log.jsonl#t_ms"], sys.executable, "-c", script).metrics[0].samples == (2.0, 3.0)


@pytest.mark.parametrize(("make", "says"), [("mkfifo", "no regular file"), ("mkdir", "no regular file")])
def test_what_is_no_regular_file_is_not_waited_for(make: str, says: str) -> None:
    assert says in run(["json:out.json#t"], make, "out.json").troubles[0]


def test_a_folder_that_was_there_before_is_no_file_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "out.json").mkdir()
    assert "no regular file" in run(["auto:out.json"], "true").troubles[0]


def test_what_was_not_written_is_named_with_its_gap() -> None:
    found = run(["json:out.json#t_ms,unit=ms,better=lower"], "true")
    sentence = "out.json was not written during the run; name the file that is"
    assert found.metrics == (Metric("t_ms", "ms", "lower", gap=sentence),)
    assert found.troubles == (f"--metrics json:out.json#t_ms,unit=ms,better=lower: {sentence}",)


def test_output_is_read_where_a_pattern_asks_for_it() -> None:
    found = run([r"regex:(?P<name>\w+)=(\S+)"], "true", output=b"t_ms=3\n")
    assert [(metric.name, metric.samples) for metric in found.metrics] == [("t_ms", (3.0,))]


def test_auto_alone_is_refused_where_the_arguments_name_no_file() -> None:
    with pytest.raises(Trouble, match="the command's arguments name no result file .*; say auto:FILE"):
        expect(wanted(["auto"]), ["true"])


def test_a_given_name_is_that_of_the_only_metric_or_before_those_of_several() -> None:
    assert [it.name for it in run(["p=auto:o"], *cp("pyperf-timeit.json", "o")).metrics] == ["p"]
    assert [it.name for it in run(["p=auto:o"], *cp("pyperf-suite.json", "o")).metrics] == ["p/sort", "p/sum"]


def test_names_never_collide_with_each_other_or_with_what_each_run_measures() -> None:
    found = run(
        [r"regex:(?P<name>\w+)=(\d)", "t=json:o#a"], *("sh", "-c", "echo '{\"a\": 1}' > o"), output=b"t=2\nwall_time=3"
    )
    assert [metric.name for metric in found.metrics] == ["t", "wall_time#2", "t#2"]


def test_a_name_that_is_a_script_is_shortened_and_stays_its_own() -> None:
    names = ["x" * 5000 + "\n1", "x" * 5000 + "\n2"]
    results = [{"command": name, "mean": 1.0, "min": 1.0, "max": 1.0, "times": [1.0]} for name in names]
    Path("in").write_bytes(msgspec.json.encode({"results": results}))
    told = [metric.name for metric in run(["auto:o"], "cp", "in", "o").metrics]
    assert len(set(told)) == 2
    assert max(map(len, told)) <= 200


def test_more_metrics_than_are_kept_are_told() -> None:
    Path("in").write_bytes(b"")
    output = "".join(f"m{number}=1\n" for number in range(1200)).encode()
    found = run([r"regex:(?P<name>\w+)=(\d)"], "true", output=output)
    assert len(found.metrics) == 1000
    assert found.troubles == ("1200 metrics were found and 1000 are kept at most; run fewer benchmarks at a time",)


def test_secrets_in_commands_and_parameters_leave_no_trace() -> None:
    secret = "hf_" + "a" * 30
    results = [
        {
            "command": f"curl -H {secret}",
            "mean": 1.0,
            "min": 1.0,
            "max": 1.0,
            "times": [1.0],
            "parameters": {"token": "s3cret"},
        }
    ]
    Path("in").write_bytes(msgspec.json.encode({"results": results}))
    found = private(run(["auto:o"], "cp", "in", "o"), Redactor(b"key"))
    assert secret not in repr(found)
    assert "s3cret" not in repr(found)
    assert any(isinstance(value, Redacted) for value in found.workload.values())
    assert found.metrics[0].name.startswith("(private ")
    assert found.metrics[0].samples == (1.0,)


@pytest.mark.parametrize("file", ["passwd", "token", "etc/passwd", "my-secret", "results/api_key"])
def test_a_refusal_says_of_which_file_it_is_however_that_is_called(file: str) -> None:
    (trouble,) = private(run([f"auto:{file}"], "true"), Redactor(b"key")).troubles
    assert trouble == f"--metrics auto:{file}: {file} was not written during the run; name the file that is"


@pytest.mark.parametrize("file", ["https://me:hunter2@host/result.json", "result.json?token=hunter2"])
def test_a_secret_in_the_name_of_a_file_is_hidden_and_what_was_wrong_is_not(file: str) -> None:
    (trouble,) = private(run([f"auto:{file}"], "true"), Redactor(b"key")).troubles
    assert "hunter2" not in trouble
    assert trouble.startswith("--metrics auto:(private ")
    assert trouble.endswith(" was not written during the run; name the file that is")


def test_a_secret_elsewhere_in_a_sentence_hides_all_but_the_file() -> None:
    says = ("passwd: it says --api-key hunter2", "it says passwd: hunter2", "t: token=hunter2", "password: hunter2")
    told = Found((Metric("speed", gap="passwd: password: hunter2"),), remarks=says, files=("passwd", "t"))
    found = private(told, Redactor(b"key"))
    assert "hunter2" not in repr(found)
    assert found.metrics[0].gap.startswith("passwd: (private ")
    assert [remark.partition("(")[0] for remark in found.remarks] == ["passwd: ", "", "t: ", ""]


TABLE = b"| model | size | test | t/s |\n| --- | --- | --- | --- |\n| m | 1 GiB | tg128 | 85.54 \xc2\xb1 0.05 |\n"


def test_what_a_known_client_prints_is_read_without_being_asked_for(tmp_path: Path) -> None:
    program = tmp_path / "llama-bench"
    program.symlink_to(shutil.which("true") or "/bin/true")
    found = run([], str(program), output=TABLE)
    assert [(it.name, it.typical, it.file) for it in found.metrics] == [
        ("tg128/throughput", 85.54, "the command's output")
    ]
    assert run([], str(program), output=b"error: no such model\n") == Found()


def test_what_a_command_prints_is_read_where_it_is_wanted() -> None:
    assert run(["fast=auto:-"], "true", output=TABLE).metrics[0].name == "fast"
    (trouble,) = run(["auto:-"], "true", output=b"no result\n").troubles
    assert trouble.startswith("--metrics auto:-: the command's output was not recognised as a result of ")


def test_of_a_client_s_output_that_was_not_kept_whole_it_is_told() -> None:
    found = collect(expect(wanted(["auto:-"]), ["true"]), Output(TABLE, cut=True))
    assert found.remarks == ("only the last 0 MiB of the command's output were kept",)
