"""The examples for GitHub and GitLab, run here step by step as their runners do: gate, benchmark, comparison."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from threading import Thread
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.conftest import Cli

CI = Path(__file__).parent.parent.parent / "examples/ci"
POLICY = '[[expect]]\nfact = "cpu/online"\nmatches = ".+"\nreason = "a host has CPUs"\n'
NEVER = '[[expect]]\nfact = "kernel/machine"\nequals = "abacus"\nreason = "only there it is slow enough"\n'
BENCH = 'printf \'{"decode_ms": %s}\' "$DECODE_MS" > result.json\n'

# Of YAML only what stands in these two files is read: a block of lines below `run: |` or `- |`, and `KEY: VALUE`.
_BLOCK = re.compile(r"^( *)(?:run|-)(?::)? \|\n((?:\1  +.*\n|\n)+)", re.M)
_PAIR = re.compile(r"^ +([A-Za-z_-]+): (.+?)(?: #.*)?$", re.M)


class Step(NamedTuple):
    name: str
    env: Mapping[str, str]
    script: str


class Inputs(NamedTuple):
    """Of the action, each with its default."""

    defaults: Mapping[str, str]

    def filled(self, text: str, given: Mapping[str, str], temp: Path) -> str:
        values = {**{f"inputs.{name}": value for name, value in {**self.defaults, **given}.items()},
                  "runner.temp": str(temp)}  # fmt: skip
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: values[found[1]], text)


def action() -> tuple[Inputs, list[Step]]:
    text = (CI / "action.yml").read_text()
    head, _, steps = text.partition("  steps:\n")
    named = re.findall(r"^  ([a-z-]+):\n    description: .+\n(?:    default: (.*)\n)?", head, re.M)
    inputs = Inputs({name: default.strip('"') for name, default in named})
    found = []
    for part in steps.split("    - name: ")[1:]:
        if script := _BLOCK.search(part):
            env = dict(_PAIR.findall(part[: script.start()].partition("      env:\n")[2]))
            found.append(Step(part.splitlines()[0], env, dedent(script[2])))
    return inputs, found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with a benchmark and a policy, and `fingerprint` on the PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fingerprint").write_text(f'#!/bin/sh\nexec {sys.executable} -m fingerprint "$@"\n')
    (tmp_path / "bin/fingerprint").chmod(0o755)
    repository = tmp_path / "repository"
    (repository / "policies").mkdir(parents=True)
    (repository / "policies/policy.toml").write_text(POLICY)
    (repository / "policies/never.toml").write_text(NEVER)
    (repository / "bench.sh").write_text(BENCH)
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    return repository


class Job(NamedTuple):
    """What its steps did: exit status of each that ran, and all that they printed."""

    statuses: Mapping[str, int]
    output: str
    summary: str


def github(workspace: Path, temp: Path, given: Mapping[str, str], **env: str) -> Job:
    """As a runner: a failed step ends the job, but for those that run unless it was cancelled."""
    inputs, steps = action()
    temp.mkdir()
    (temp / "summary.md").touch()
    statuses: dict[str, int] = {}
    output = ""
    for step in steps:
        if any(statuses.values()) and not step.name.startswith("Keep"):
            continue
        (temp / "step.sh").write_text(step.script)
        filled = {name: inputs.filled(value, given, temp) for name, value in step.env.items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(temp / "step.sh")], cwd=workspace, text=True,
            env={**environment(workspace), **filled, **env, "GITHUB_STEP_SUMMARY": str(temp / "summary.md")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
        )  # fmt: skip
        statuses[step.name], output = done.returncode, output + done.stdout
    return Job(statuses, output, (temp / "summary.md").read_text())


def environment(workspace: Path) -> dict[str, str]:
    home = Cli(workspace.parent)
    return {**home.env, "PATH": f"{workspace.parent}/bin:{os.environ['PATH']}", "PYTHONPATH": str(CI.parent.parent)}


GIVEN = {"command": "sh bench.sh", "name": "decode", "metrics": "json:result.json#decode_ms", "wait": "1s",
         "policy": "policies/policy.toml", "policy-ref": "HEAD"}  # fmt: skip


@pytest.mark.long
def test_the_action_gates_runs_keeps_the_run_and_compares_the_next_one_with_it(workspace: Path, tmp_path: Path) -> None:
    first = github(workspace, tmp_path / "first", GIVEN, DECODE_MS="11.2", GITHUB_ENV="/t/1", ACTIONS_RUNTIME_TOKEN="1")
    assert set(first.statuses.values()) == {0}, first.output
    assert "this run is the first" in first.output
    assert ET.parse(workspace / "fingerprint/gate.xml").find("testsuite") is not None
    (workspace / "fingerprint/run.json").rename(workspace / "baseline.json")

    given = {**GIVEN, "baseline": "baseline.json"}
    changed = {"DECODE_MS": "19.9", "OMP_NUM_THREADS": "1"}
    second = github(workspace, tmp_path / "second", given, GITHUB_ENV="/t/2", ACTIONS_RUNTIME_TOKEN="2", **changed)
    assert second.statuses == dict.fromkeys(first.statuses, 0) | {"Compare with the baseline": 1}, second.output
    report = json.loads((workspace / "fingerprint/report.json").read_text())
    assert report["run"]["metrics"]["decode_ms"]["samples"] == [19.9]
    assert report["baseline"]["metrics"]["decode_ms"]["samples"] == [11.2]
    suspects = {fact.rpartition("/")[2] for suspect in report["diff"]["suspects"] for fact in suspect["facts"]}
    assert {name for name in suspects if name.isupper()} == set(changed)  # and nothing of the job or of its steps
    assert "`process/main/env/OMP_NUM_THREADS`" in second.summary
    assert "OMP_NUM_THREADS" in (workspace / "fingerprint/diff.html").read_text()


def test_where_the_gate_fails_the_benchmark_does_not_start(workspace: Path, tmp_path: Path) -> None:
    job = github(workspace, tmp_path / "job", {**GIVEN, "policy": "policies/never.toml"}, DECODE_MS="1")
    assert job.statuses == {"Gate": 1, "Keep the run, and show it": 0}, job.output
    assert "::error title=gate%3A kernel/machine,file=policies/never.toml,line=" in job.output
    assert "did not start" in job.output
    assert "abacus" in job.summary
    assert not (workspace / "result.json").exists()


@pytest.mark.long
def test_a_benchmark_that_fails_fails_the_job_and_its_run_is_kept(workspace: Path, tmp_path: Path) -> None:
    job = github(workspace, tmp_path / "job", {**GIVEN, "command": "exit 7"})
    assert job.statuses == {"Gate": 0, "Benchmark": 7, "Keep the run, and show it": 0}, job.output
    assert (workspace / "fingerprint/run.json").exists()


def test_no_input_becomes_a_part_of_a_script() -> None:
    _, steps = action()
    assert len(steps) == 4
    assert all("${{" not in step.script for step in steps)


# GitLab.


@contextmanager
def api(artifact: Path) -> Iterator[str]:
    """GitLab's own, as far as the job asks it: the artifact of the default branch, for whoever has the job's token."""
    path = "/api/projects/7/jobs/artifacts/main/raw/fingerprint/run.json?job=benchmark"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = artifact.exists() and self.path == path and self.headers["JOB-TOKEN"] == "t0ken"
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                self.wfile.write(artifact.read_bytes())

        def log_message(self, *_: object) -> None:
            """Nothing is printed into the test's output."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            server.shutdown()
            thread.join()


def gitlab(workspace: Path, url: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """The blocks of the job as one script, as a runner runs them."""
    text = (CI / "gitlab-ci.yml").read_text()
    variables = dict(_PAIR.findall(text.partition("  variables:\n")[2].partition("  before_script:\n")[0]))
    script = "set -e\n" + "".join(dedent(block) for _, block in _BLOCK.findall(text))
    given = {"CI_API_V4_URL": url, "CI_PROJECT_ID": "7", "CI_JOB_TOKEN": "t0ken", "CI_DEFAULT_BRANCH": "main",
             "CI_JOB_NAME": "benchmark", "POLICY": "policies/policy.toml", "COMMAND": "sh bench.sh",
             "WAIT": "1s"}  # fmt: skip
    return subprocess.run(
        ["bash", "-c", script], cwd=workspace, env={**environment(workspace), **variables, **given, **env},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl, by which the job fetches its baseline")
def test_the_job_of_gitlab_compares_with_the_artifact_of_the_default_branch(workspace: Path) -> None:
    kept = workspace.parent / "kept.json"
    with api(kept) as url:
        first = gitlab(workspace, url, DECODE_MS="11.2")
        assert first.returncode == 0, first.stdout + first.stderr
        assert "this run is the first" in first.stdout
        shutil.move(workspace / "fingerprint/run.json", kept)
        shutil.rmtree(workspace / "fingerprint")
        changed = {"DECODE_MS": "19.9", "OMP_NUM_THREADS": "1"}
        accepted = gitlab(workspace, url, CI_COMMIT_BRANCH="main", **changed)
        assert accepted.returncode == 0, accepted.stdout + accepted.stderr
        shutil.rmtree(workspace / "fingerprint")
        second = gitlab(workspace, url, **changed)
    assert second.returncode == 1, second.stdout + second.stderr
    assert "decode_ms is worse" in second.stdout
    assert "process/main/env/OMP_NUM_THREADS" in second.stdout
    written = {path.name for path in (workspace / "fingerprint").iterdir()}
    assert written >= {"gate.xml", "gate-quality.json", "report.json", "run.html", "run.json", "diff.html"}
    warned = json.loads((workspace / "fingerprint/gate-quality.json").read_text())  # as of a busy host
    assert {entry["severity"] for entry in warned} <= {"minor"}
