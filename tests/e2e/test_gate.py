"""May the benchmark start: the four exits of `gate`, as a pipeline meets them."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest

from fingerprint.gate.contract import Verdict
from fingerprint.report.json import schema
from tests.e2e.conftest import Cli
from tests.e2e.gpu_host import ONE, POWER_LIMIT, GpuHost, MakeHost

QUIET = 'vary = ["pressure/**"]\n'
"""The machine that tests run on is not quiet."""
UTILIZATION = "nvmlDeviceGetUtilizationRates"


def gate(cli: Cli, *args: str, status: int, **more: Any) -> dict[str, Any]:
    """The verdict, valid by its published schema."""
    told: dict[str, Any] = json.loads(cli("gate", *args, "--format", "json", status=status, **more).stdout)
    jsonschema.validate(told, schema(Verdict), cls=jsonschema.Draft202012Validator)
    return told


def of(verdict: dict[str, Any], state: str) -> set[str]:
    return {check["rule"] for check in verdict["checks"] if check["state"] == state}


@pytest.fixture
def host(gpu_host: MakeHost) -> GpuHost:
    """Two idle H100 and a policy `p.toml` that says nothing of how busy the host is."""
    made = gpu_host("H100 SXM", 2)
    policy(made.cli, "")
    return made


def policy(cli: Cli, text: str) -> str:
    (cli.home / "p.toml").write_text(QUIET + text)
    return "p.toml"


def test_a_host_at_its_nominal_passes(host: GpuHost) -> None:
    told = gate(host.cli, "--policy", "p.toml", status=0)
    assert told["outcome"] == "pass"
    assert "power-limit" in of(told, "ok")


def test_a_lowered_limit_fails_and_the_text_names_the_command_that_restores_it(host: GpuHost) -> None:
    host.nvml.put(ONE, POWER_LIMIT, 450_000)
    text = host.cli("gate", status=1, env={"COLUMNS": "200"}).stdout
    assert text.startswith("Do not start: ")
    assert f"gpu/{ONE}/power_limit is 450 W, expected at least 700 W" in " ".join(text.split())
    assert f"nvidia-smi -i {ONE} -pl 700" in " ".join(text.split())


def test_a_driver_that_hangs_cannot_be_told(host: GpuHost) -> None:
    host.nvml.put_all("nvmlDeviceGetPowerManagementLimit", {"sleep": 60})
    host.cli.env |= {"FINGERPRINT_NVML_BUDGET_S": "0.5", "FINGERPRINT_NVML_GPU_BUDGET_S": "0.3"}
    told = gate(host.cli, "--policy", "p.toml", status=3)
    assert told["outcome"] == "cannot_tell"
    assert "power-limit" in of(told, "unknown")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--policy", "none.toml"), "none.toml cannot be read (No such file or directory)"),
        (("--policy", "p.toml", "--policy-ref", "main"), "p.toml at main cannot be read"),
        (("--policy-ref", "main"), "--policy-ref tells where --policy is read from: name one"),
        (("--baseline", "nothing"), "nothing"),
        (("--wait", "soon"), "'soon' is no duration"),
    ],
)
def test_trouble_is_one_sentence(host: GpuHost, args: tuple[str, ...], told: str) -> None:
    done = host.cli("gate", *args, status=2)
    assert told in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_a_rule_that_needs_a_baseline_says_so(host: GpuHost) -> None:
    policy(host.cli, '[[expect]]\nfact = "gpu/*/power_limit"\nsame_as_baseline = true\n')
    done = host.cli("gate", "--policy", "p.toml", status=2)
    assert "p.toml:2: same_as_baseline needs a baseline: add --baseline RUN" in done.stderr


def test_against_a_run_what_was_changed_since_stops_it(host: GpuHost) -> None:
    host.run("base")
    assert gate(host.cli, "--baseline", "base", "--policy", "p.toml", status=0)["baseline"] == "base"
    host.nvml.put_all(POWER_LIMIT, 450_000)
    told = gate(host.cli, "--baseline", "base", "--policy", "p.toml", status=1)
    assert "gpu/*/power_limit" in of(told, "failed")


def test_variables_of_the_shell_are_those_that_the_benchmark_would_get(host: GpuHost) -> None:
    host.run("base")
    told = gate(host.cli, "--baseline", "base", "--policy", "p.toml", status=1, env={"NCCL_PROTO": "LL"})
    assert of(told, "failed") == {"process/main/env/NCCL_PROTO"}
    wanted = policy(host.cli, '[[expect]]\nfact = "process/*/env/NCCL_PROTO"\nequals = "LL"\n')
    assert gate(host.cli, "--policy", wanted, status=0, env={"NCCL_PROTO": "LL"})["outcome"] == "pass"
    assert gate(host.cli, "--policy", wanted, status=1, env={"NCCL_PROTO": "Simple"})["outcome"] == "fail"


@pytest.mark.long
def test_a_baseline_may_be_a_file_or_a_snapshot(host: GpuHost) -> None:
    host.run("base")
    (host.cli.home / "base.json").write_text(host.cli("export", "base").stdout)
    assert gate(host.cli, "--baseline", "./base.json", "--policy", "p.toml", status=0)["outcome"] == "pass"
    assert gate(host.cli, "--baseline", host.snapshot().id, "--policy", "p.toml", status=0)["outcome"] == "pass"


def test_it_waits_until_the_gpus_are_idle(host: GpuHost) -> None:
    host.nvml.put_all(UTILIZATION, {"gpu": 90, "memory": 10})
    argv = host.cli.argv("gate", "--policy", "p.toml", "--wait", "60s", "--format", "json")
    with subprocess.Popen(
        argv, env=host.cli.env, cwd=host.cli.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stdout
        assert waiting.stderr
        line = waiting.stderr.readline()
        host.nvml.put_all(UTILIZATION, {"gpu": 0, "memory": 0})
        told = json.loads(waiting.stdout.read())
    assert line == ("fingerprint: waiting since 0 s: gpu/*/utilization/gpu is 90 % on 2 of 2, expected at most 5 %\n")
    assert (waiting.returncode, told["outcome"], of(told, "failed")) == (0, "pass", set())
    assert 0 < told["waited_s"] < 60


def test_what_does_not_settle_fails_when_the_time_is_over(host: GpuHost) -> None:
    host.nvml.put_all(UTILIZATION, {"gpu": 90, "memory": 10})
    told = gate(host.cli, "--policy", "p.toml", "--wait", "1.5s", status=1)
    assert told["waited_s"] >= 1.5
    assert of(told, "failed") == {"gpu-idle"}


def test_what_somebody_has_to_set_is_told_at_once(host: GpuHost) -> None:
    host.nvml.put_all(POWER_LIMIT, 450_000)
    told = gate(host.cli, "--policy", "p.toml", "--wait", "10m", status=1)
    assert told["waited_s"] == 0


def test_a_policy_of_the_base_branch_is_not_the_working_trees(host: GpuHost) -> None:
    home = host.cli.home
    policy(host.cli, '[[expect]]\nfact = "gpu/*/power_limit"\nmin = 700\nunit = "W"\n')
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "p.toml"),
        ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "strict"),
    ):
        subprocess.run(("git", *words), cwd=home, check=True, capture_output=True)
    policy(host.cli, '[[expect]]\nfact = "gpu/*/power_limit"\nmin = 100\nunit = "W"\n')
    host.nvml.put_all(POWER_LIMIT, 450_000)
    assert gate(host.cli, "--policy", "p.toml", status=0)["policies"] == ["p.toml"]
    assert gate(host.cli, "--policy", "p.toml", "--policy-ref", "main", status=1)["policies"] == ["p.toml at main"]


def test_explain_lists_each_rule_with_its_reading(host: GpuHost) -> None:
    text = " ".join(host.cli("gate", "--policy", "p.toml", "--explain", env={"COLUMNS": "200"}).stdout.split())
    assert "power-limit gpu/*/power_limit is 700 W on 2 of 2" in text
    assert "Nothing to check" in text


def test_quiet_tells_by_its_status_alone(host: GpuHost) -> None:
    assert host.cli("gate", "--policy", "p.toml", "-q").stdout == ""
    host.nvml.put_all(POWER_LIMIT, 450_000)
    done = host.cli("gate", "-q", status=1)
    assert (done.stdout, done.stderr) == ("", "")


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="another user is become by root alone")
def test_a_baseline_of_root_serves_a_gate_of_a_plain_user(fingerprint: Cli) -> None:
    if subprocess.run((*NOBODY, *fingerprint.argv("--version")), cwd="/", capture_output=True).returncode:
        pytest.skip("another user may not run this interpreter or checkout")
    fingerprint("run", "-q", "--name", "base", "--", "true")
    with TemporaryDirectory() as name:  # pytest keeps its own folders to root
        folder = Path(name)
        (folder / "base.json").write_text(fingerprint("export", "base").stdout)
        (folder / "p.toml").write_text('vary = ["pressure/**"]\n')
        folder.chmod(0o777)
        own = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), name)
        own["FINGERPRINT_STORE"] = f"{name}/store.db"
        asked = ("--baseline", "./base.json", "--policy", "p.toml")
        told = gate(fingerprint, *asked, status=0, before=NOBODY, env=own, cwd=folder)
    assert told["outcome"] == "pass"
    assert any("taken as root" in note for note in told["notes"])
