"""Every operation, with whatever its OpenAPI document allows and does not: schemathesis on the real socket."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.api.conftest import TOKEN, Api
from tests.service.api.test_answers import two_runs

STREAM = "/v1/events/stream"  # it does not end


def fuzzed(api: Api, folder: Path, *more: str) -> None:
    two_runs(api)
    address = "http://{}:{}".format(*api.tcp)
    done = subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis", "run", f"{address}/openapi.json", "--no-color", *more,
            "--header", f"Authorization: Bearer {TOKEN}", "--exclude-path", STREAM,
            "--checks", "all", "--exclude-checks", "positive_data_acceptance",
        ],
        cwd=folder, env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert api.servers.counts.failures == 0
    assert api("GET", "/v1/version").status == 200


@pytest.mark.long
def test_no_request_makes_it_fail_or_answer_what_it_did_not_announce(api: Api, tmp_path: Path) -> None:
    fuzzed(api, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "10", "--seed", "1")


@pytest.mark.long
def test_no_chain_of_requests_does_either(api: Api, tmp_path: Path) -> None:
    fuzzed(api, tmp_path, "--max-examples", "100")
