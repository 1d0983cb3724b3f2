"""A command that ends with an error says why, on one stream or the other: `diff` holds it against what changed."""

import json

import pytest

from tests.e2e.conftest import Cli

FAILS = """\
import resource, sys
opened = []
try:
    for _ in range(300):
        opened.append(open('/dev/null'))
except OSError as error:
    print(f'secret-of-mine {error}', file=sys.stderr)
    sys.exit(1)
print('served')
"""


@pytest.fixture
def script(fingerprint: Cli) -> str:
    (fingerprint.home / "serve.py").write_text(FAILS)
    return str(fingerprint.home / "serve.py")


def test_a_lowered_limit_is_likely_once_the_command_said_that_it_met_it(fingerprint: Cli, script: str) -> None:
    for name, files, status in (("a", "1024", 0), ("b", "256", 1)):
        done = fingerprint(
            "run", "--name", name, "--metrics", "said:-", "--", "python3", script,
            before=("prlimit", f"--nofile={files}"), status=status,
        )  # fmt: skip
        assert ("Too many open files" in done.stderr) is bool(status)
    shown = fingerprint("show", "b").stdout
    assert "output and errors  open-files (1 line)" in shown
    assert "secret-of-mine" not in fingerprint("show", "b", "--format", "json").stdout

    diff = fingerprint.diff("a", "b", status=1)
    first = diff["suspects"][0]
    assert (first["facts"], first["likelihood"]) == (["process/main/limits/nofile"], "likely")
    assert [told["message"] for told in diff["said"]] == ["open-files"]
    assert "b alone said open-files (1 line)" in " ".join(fingerprint("diff", "a", "b", status=1).stdout.split())


def test_of_a_log_what_the_run_added_is_read_and_of_json_nothing(fingerprint: Cli) -> None:
    log, answers = (fingerprint.home / name for name in ("server.log", "answers.json"))
    log.write_text("CUDA error: out of memory\n")
    answer = json.dumps({"said": "Too many open files"})
    add = f"echo 'RuntimeError: invalid device ordinal' >> {log}; echo '{answer}' > {answers}"
    fingerprint(
        "run", "--name", "a", "--metrics", f"said:{log}", "--metrics", f"json:{answers}#said", "--", "sh", "-c", add
    )
    (told,) = json.loads(fingerprint("show", "a", "--format", "json").stdout)["said"].items()
    assert (told[0], [it["message"] for it in told[1]]) == (str(log), ["cuda-invalid-ordinal"])


def test_lines_of_json_are_searched_where_they_are_asked_for(fingerprint: Cli) -> None:
    line = json.dumps({"level": "error", "message": "accept: Too many open files"})
    fingerprint("run", "--name", "a", "--metrics", "said:-", "--", "echo", line)
    (told,) = json.loads(fingerprint("show", "a", "--format", "json").stdout)["said"].values()
    assert [it["message"] for it in told] == ["open-files"]


def test_a_log_that_was_not_written_is_named(fingerprint: Cli) -> None:
    done = fingerprint("run", "--name", "a", "--metrics", "said:no.log", "--", "true")
    assert "--metrics said:no.log: no.log was not written during the run; name the file that is" in done.stderr


def test_the_log_of_a_server_that_failed_is_imported_for_what_it_said(fingerprint: Cli) -> None:
    log = fingerprint.home / "server.log"
    starts = "INFO 06-10 06:16:43 [api_server.py:1043] vLLM API server version 0.9.0\n"
    log.write_text(f"{starts}ValueError: No available memory for the cache blocks. Try increasing it.\n")
    done = fingerprint("import", str(log), "--name", "failed")
    assert "1 known message" in done.stdout
    shown = json.loads(fingerprint("show", "failed", "--format", "json").stdout)["said"]
    assert [it["message"] for it in shown[str(log)]] == ["no-cache-blocks"]
