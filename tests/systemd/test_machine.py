"""Both units on a machine that a real systemd runs: up, reloaded, hung, killed, stopped, and gone without a trace."""

import json
import re
import time
from collections.abc import Iterator

import pytest

from fingerprint.service.systemd import READER, SERVICE, UNITS
from probes.container.grants import _named
from tests.standin import free_port
from tests.systemd.booted import FINGERPRINT, ROOT, Machine, stage, until

pytestmark = pytest.mark.root
PYTHON = "/opt/fingerprint/bin/python"
# What these tests themselves make, in /run/systemd and /var/lib/sandbox, stays.
TRACES = """
find /etc /run /var/lib -path /run/systemd -prune -o -path /var/lib/sandbox -prune -o -name '*fingerprint*' -print
find /tmp /var/tmp -maxdepth 1 -name 'systemd-private-*fingerprint*'
getent passwd fingerprint fingerprint-reader
getent group fingerprint fingerprint-reader
systemctl list-units --all --no-legend 'fingerprint*'
true
"""
# What the reader's sandbox keeps from it: facts of which `doctor` says something else there -> the line of its unit.
BLINDED = {
    r"kernel/sysctl/net/core/bpf_jit_harden: may not be read": "User=fingerprint-reader",  # 0600, no right opens it
    r"process/main/git/dirty: told by no interface": "ProtectSystem=strict",  # no longer in the process's file system
    r"pcie/[^:]*:[^/]*/.*: may not be read": "# CAP_SYS_ADMIN: pcie: registers beyond the first 64 bytes. "
    "It is all but root's own; a drop-in adds it.",
    r"storage/main/models/target/nodes: not offered by .*": "SystemCallFilter=~@privileged @resources",  # move_pages
}
# A server of another user, in a tree of git, that has a library mapped which was replaced since, and weights.
OTHER_USER = """
useradd --create-home model
cd /home/model
as_model="setpriv --reuid=model --regid=model --clear-groups env HOME=/home/model"
cat >server.py <<'PY'
import _ctypes, ctypes, http.server, os, shutil
shutil.copy(_ctypes.__file__, "libnccl.so.2")
ctypes.CDLL("./libnccl.so.2")
os.rename("libnccl.so.2", "libnccl.so.2.old")
os.remove("libnccl.so.2.old")
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open("ready", "w").close()
server.serve_forever()
PY
mkdir weights && head -c 100000 /dev/zero >weights/model.safetensors
chown -R model server.py weights && chmod 700 .
{ $as_model git init -q && $as_model git add . &&
    $as_model git -c user.name=model -c user.email= commit -q -m model; } >/dev/null 2>&1
SECRET=hidden $as_model /opt/fingerprint/bin/python server.py --model-path weights >/dev/null 2>&1 </dev/null &
until [ -e ready ]; do sleep 0.02; done
echo $!
"""


# Of vLLM, by the same user.
ENGINE = """
cd /home/model && mkdir bin && echo {} >differs.json && cp "$1" process.py
cat >bin/vllm <<'PY'
import runpy, sys
sys.argv[:] = ["process.py", "vllm", *sys.argv[1:]]
runpy.run_path("process.py", run_name="__main__")
PY
chown -R model .
OMP_NUM_THREADS=3 HF_TOKEN=hidden setpriv --reuid=model --regid=model --clear-groups \\
    /opt/fingerprint/bin/python /home/model/bin/vllm serve /m --port "$2" >/dev/null 2>&1 </dev/null &
"""


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine()
    try:
        if machine.refused:
            pytest.skip(machine.refused)
        stage(machine, tmp_path_factory.mktemp("wheel"))
        yield machine
    finally:
        machine.end()


@pytest.fixture(scope="module")
def machine(booted: Machine) -> Machine:
    """With the service installed. Its watchdogs, and the time until it starts again, are shorter than by default."""
    for unit in UNITS:
        booted.writes(f"/run/systemd/system/{unit}.d/fast.conf", "[Service]\nWatchdogSec=3\nRestartSec=100ms\n")
    booted.runs(FINGERPRINT, "service", "install")
    return booted


@pytest.fixture(scope="module")
def served(machine: Machine) -> str:
    """The pid of a process of another user that listens."""
    return machine.shell(OTHER_USER).strip()


def asked(machine: Machine, method: str, path: str, body: object = None) -> object:
    """What the API answers root."""
    script = (
        "import http.client, socket, sys\n"
        "there = http.client.HTTPConnection('localhost')\n"
        "there.sock = socket.socket(socket.AF_UNIX); there.sock.connect('/run/fingerprint/api.sock')\n"
        "there.request(sys.argv[1], sys.argv[2], sys.argv[3], {'Content-Type': 'application/json'})\n"
        "answer = there.getresponse(); print(answer.read().decode()); sys.exit(answer.status >= 400)"
    )
    return json.loads(machine.runs(PYTHON, "-c", script, method, path, json.dumps(body)))


def in_reader_sandbox(machine: Machine, *argv: str, more: str = "") -> str:
    """What a program prints as the reader's unit lets it. more: lines of a unit."""
    machine.shell(f"cp /etc/systemd/system/{READER} /etc/systemd/system/sandbox.service")
    command = " ".join(f'"{word}"' for word in argv)
    machine.writes(
        "/etc/systemd/system/sandbox.service.d/run.conf",
        "[Service]\nType=oneshot\nWatchdogSec=0\nRestart=no\nRuntimeDirectory=sandbox\nStateDirectory=sandbox\n"
        f"Environment=XDG_STATE_HOME=/var/lib/sandbox\nExecStart=\nExecStart={command}\n"
        f"StandardOutput=truncate:/run/sandbox.out\nStandardError=inherit\n{more}\n",
    )
    machine.shell("systemctl daemon-reload; systemctl start sandbox.service", status=None)
    return machine.runs("cat", "/run/sandbox.out")


def findings(told: str) -> dict[str, str]:
    """By fact, what `doctor` says of it."""
    return {path: one["says"].rpartition(": ")[2] for one in json.loads(told) for path in one["facts"]}


def is_listed(path: str, says: str) -> bool:
    return any(re.fullmatch(listed, f"{path}: {says}") for listed in BLINDED)


# Up.


def test_both_units_are_up_and_say_how_they_are(machine: Machine) -> None:
    told = json.loads(machine.runs(FINGERPRINT, "service", "status", "--format", "json"))
    assert [(one["unit"], one["file"], one["enabled"], one["active"]) for one in told] == [
        (unit, "installed", "enabled", "active") for unit in UNITS
    ]
    assert all(one["says"] and one["pid"] for one in told)


def test_systemd_has_no_word_against_the_units(machine: Machine) -> None:
    files = [f"/etc/systemd/system/{unit}" for unit in UNITS]
    assert machine.runs("systemd-analyze", "verify", *files) == ""


def test_the_service_has_no_right_and_no_way_to_one(machine: Machine) -> None:
    pid = machine.pid(SERVICE)
    sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert {name: int(machine.status_of(pid, name), 16) for name in sets} == dict.fromkeys(sets, 0)
    assert machine.status_of(pid, "NoNewPrivs") == "1"
    assert set(machine.status_of(pid, "Uid").split()) == {machine.runs("id", "-u", "fingerprint").strip()}


def test_the_reader_has_the_rights_that_its_unit_names(machine: Machine) -> None:
    pid = machine.pid(READER)
    held = _named(int(machine.status_of(pid, "CapEff"), 16), last=63)
    assert {f"CAP_{name.upper()}" for name in held} == {*_rights()}
    assert machine.status_of(pid, "CapBnd") == machine.status_of(pid, "CapEff")


def _rights() -> list[str]:
    found = re.search(r"^CapabilityBoundingSet=(.*)$", (ROOT / "systemd" / READER).read_text(), re.M)
    assert found
    return found[1].split()


def test_who_is_not_in_its_group_may_ask_neither(machine: Machine, served: str) -> None:
    try_it = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    for path in ("/run/fingerprint/api.sock", "/run/fingerprint-reader/reader.sock"):
        told = machine.runs("setpriv", "--reuid=model", "--regid=model", "--clear-groups",
                            PYTHON, "-c", try_it, path, status=1)  # fmt: skip
        assert "PermissionError" in told


@pytest.mark.long
def test_a_server_of_another_user_is_recorded_with_what_only_he_may_read(machine: Machine, served: str) -> None:
    name = f"vllm-{(port := free_port())}"
    machine.shell(ENGINE, str(ROOT / "tests/standin/process.py"), str(port))
    until(lambda: name in str(asked(machine, "GET", "/v1/runs")))
    until(lambda: "OMP_NUM_THREADS" in str(asked(machine, "GET", f"/v1/runs/{name}")))
    machine.shell("touch /home/model/stop")
    until(lambda: "server ended" in str(asked(machine, "GET", f"/v1/runs/{name}")))
    told = json.dumps(asked(machine, "GET", f"/v1/runs/{name}"))
    assert '"OMP_NUM_THREADS": "3"' in told
    assert '"HF_TOKEN"' in told
    assert "hidden" not in told


# What the reader sees, and what it cannot do.


def test_the_reader_is_blinded_by_no_more_than_the_lines_that_are_listed(machine: Machine, served: str) -> None:
    doctor = (FINGERPRINT, "doctor", "--format", "json", "--pid", served)
    outside = findings(machine.runs(*doctor, env={"XDG_STATE_HOME": "/opt/state"}))
    inside = findings(in_reader_sandbox(machine, *doctor))
    unit = (ROOT / "systemd" / READER).read_text()
    assert outside.keys() - inside.keys() == set()
    assert {fact for fact in inside.items() - outside.items() if not is_listed(*fact)} == set()
    assert all(f"\n{line}\n" in unit for line in BLINDED.values())


def test_a_drop_in_has_it_read_the_registers_of_pci_devices(machine: Machine, served: str) -> None:
    more = "AmbientCapabilities=CAP_SYS_ADMIN\nCapabilityBoundingSet=CAP_SYS_ADMIN\n"
    inside = findings(in_reader_sandbox(machine, FINGERPRINT, "doctor", "--format", "json", more=more))
    assert not {path for path, says in inside.items() if path.startswith("pcie/") and "may not be read" in says}
    assert more.replace("\n", "\n    ").rstrip() in (ROOT / "docs/service.md").read_text()


@pytest.mark.long
@pytest.mark.parametrize("right", sorted({*_rights()} - {"CAP_SYSLOG"}))  # that is for kernel.dmesg_restrict = 1
def test_without_any_of_its_rights_it_would_see_less(machine: Machine, served: str, right: str) -> None:
    doctor = (FINGERPRINT, "doctor", "--format", "json", "--pid", served)
    rights = " ".join(name for name in _rights() if name != right)
    less = "".join(f"{name}=\n{name}={rights}\n" for name in ("CapabilityBoundingSet", "AmbientCapabilities"))
    inside = findings(in_reader_sandbox(machine, *doctor, more=less))
    assert {fact for fact in inside.items() if "may not be read" in fact[1] and not is_listed(*fact)}


def test_the_reader_writes_nothing_reaches_no_disk_and_no_other_host(machine: Machine) -> None:
    machine.shell("mknod /var/lib/disk b 8 0; mknod /var/lib/nvidiactl c 195 255; chmod 666 /var/lib/disk /var/lib/nv*")
    script = (
        "import json, os, socket\n"
        "def tried(what):\n"
        "    try: what()\n"
        "    except OSError as error: return error.strerror\n"
        "to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "print(json.dumps([tried(lambda: os.open('/etc/new', os.O_CREAT | os.O_WRONLY)),\n"
        "    tried(lambda: os.open('/home/new', os.O_CREAT | os.O_WRONLY)),\n"
        "    tried(lambda: os.open('/var/lib/disk', os.O_RDONLY)), tried(lambda: os.open('/dev/kmsg', os.O_RDONLY)),\n"
        "    tried(lambda: os.open('/var/lib/nvidiactl', os.O_RDWR)), tried(lambda: os.nice(-1)),\n"
        "    tried(lambda: to.sendto(b'x', ('192.0.2.1', 9))), tried(lambda: to.sendto(b'x', ('127.0.0.1', 9)))]))\n"
    )
    machine.writes("/opt/fingerprint/tried.py", script)
    told = json.loads(in_reader_sandbox(machine, PYTHON, "/opt/fingerprint/tried.py"))
    no, read_only = "Operation not permitted", "Read-only file system"
    assert told == [read_only, read_only, no, None, "No such device or address", no, no, None]


# Reloaded, hung, killed, stopped.


def test_a_reload_is_survived(machine: Machine) -> None:
    before = [machine.pid(unit) for unit in UNITS]
    machine.runs("systemctl", "reload", *UNITS)
    time.sleep(1.5)
    assert [machine.pid(unit) for unit in UNITS] == before
    assert [machine.shown(unit, "ActiveState") for unit in UNITS] == ["active", "active"]


@pytest.mark.long
def test_what_no_longer_answers_is_started_again_by_the_watchdog(machine: Machine) -> None:
    before = {unit: machine.pid(unit) for unit in UNITS}
    machine.runs("kill", "-STOP", *map(str, before.values()))
    for unit, pid in before.items():
        until(lambda unit=unit, pid=pid: machine.pid(unit) not in (0, pid))  # type: ignore[misc]
        until(lambda unit=unit: machine.shown(unit, "ActiveState") == "active")  # type: ignore[misc]


def test_what_was_said_to_be_stored_is_there_after_a_kill(machine: Machine, served: str) -> None:
    run = asked(machine, "POST", "/v1/runs", {"name": "kept", "pid": int(served)})
    asked(machine, "POST", "/v1/runs/kept/metrics", {"metrics": [{"name": "verify_ms", "values": [19.2]}]})
    events = asked(machine, "GET", "/v1/events")
    before = {unit: machine.pid(unit) for unit in UNITS}
    machine.runs("kill", "-KILL", *map(str, before.values()))
    for unit, pid in before.items():
        until(lambda unit=unit, pid=pid: machine.pid(unit) not in (0, pid))  # type: ignore[misc]
        until(lambda unit=unit: machine.shown(unit, "ActiveState") == "active")  # type: ignore[misc]
    after = asked(machine, "GET", "/v1/runs/kept")
    assert isinstance(run, dict)
    assert isinstance(after, dict)
    assert "verify_ms" in json.dumps(after)
    assert run["id"] in json.dumps(after)
    assert json.dumps(events)[1:-2] in json.dumps(asked(machine, "GET", "/v1/events"))


def test_it_stops_within_five_seconds_and_starts_again(machine: Machine) -> None:
    began = time.monotonic()
    machine.runs("systemctl", "stop", *UNITS)
    assert time.monotonic() - began < 5
    assert [machine.shown(unit, "Result") for unit in UNITS] == ["success", "success"]
    machine.runs(FINGERPRINT, "service", "status", status=2)
    machine.runs("systemctl", "start", SERVICE)
    assert [machine.shown(unit, "ActiveState") for unit in UNITS] == ["active", "active"]


# Installed.


def test_a_unit_that_was_edited_by_hand_is_left_as_it_is(machine: Machine) -> None:
    file = f"/etc/systemd/system/{SERVICE}"
    machine.shell(f"cp {file} /run/kept && echo Nice=1 >>{file}")
    for action in ("install", "uninstall"):
        told = machine.runs(FINGERPRINT, "service", action, status=2)
        assert f"{file} was edited by hand" in told
    machine.shell(f"cp /run/kept {file}; rm /run/kept; systemctl daemon-reload")


def test_only_root_installs(machine: Machine, served: str) -> None:
    told = machine.runs("setpriv", "--reuid=model", "--regid=model", "--clear-groups",
                        FINGERPRINT, "service", "install", status=2)  # fmt: skip
    assert "only root may install" in told


def test_an_environment_that_others_may_change_is_refused(machine: Machine, served: str) -> None:
    machine.runs("chown", "model", "/opt/fingerprint/bin")
    told = machine.runs(FINGERPRINT, "service", "install", status=2)
    machine.runs("chown", "root", "/opt/fingerprint/bin")
    assert "/opt/fingerprint/bin is not root's alone to change" in told


@pytest.mark.long
def test_settings_that_are_refused_keep_both_down_until_they_are_mended(machine: Machine) -> None:
    machine.writes("/etc/fingerprint/config.toml", "[service]\nkeep_days = 0\n")
    machine.runs("systemctl", "stop", *UNITS)
    for unit in UNITS:
        machine.runs("systemctl", "restart", unit, status=1)
    time.sleep(1)  # ten times what a restart waits for
    assert [machine.shown(unit, "ActiveState") for unit in UNITS] == ["failed", "failed"]
    assert machine.runs("journalctl", "--no-pager", "-u", SERVICE).count("service.keep_days is 0, but must be") == 1
    machine.runs("rm", "/etc/fingerprint/config.toml")
    machine.runs("systemctl", "start", SERVICE)
    assert [machine.shown(unit, "ActiveState") for unit in UNITS] == ["active", "active"]


@pytest.mark.long
def test_the_drop_in_makes_a_run_of_each_start_of_an_engines_unit(machine: Machine, served: str) -> None:
    machine.writes("/run/systemd/system/vllm.service", "[Service]\nUser=model\nExecStart=/bin/sleep 1000\n")
    example = (ROOT / "systemd/vllm.service.d/fingerprint.conf").read_text()
    machine.writes(
        "/run/systemd/system/vllm.service.d/fingerprint.conf", re.sub(r"^#(?=\[|\w+=)", "", example, flags=re.M)
    )
    machine.runs("systemctl", "daemon-reload")
    for _ in range(2):
        machine.runs("systemctl", "start", "vllm")
        machine.runs("systemctl", "stop", "vllm")
    told = machine.runs(FINGERPRINT, "runs", "--format", "json")  # the service's: it began them
    runs = [one for one in json.loads(told[told.index("[") :]) if one["name"] == "vllm"]
    assert [(one["attempt"], one["ended"]) for one in runs] == [(1, "server ran on"), (2, "server ran on")]


def test_nothing_of_it_is_left_after_uninstall(machine: Machine) -> None:
    assert len(machine.shell(TRACES).splitlines()) > len(UNITS)
    machine.shell("usermod --append --groups fingerprint nobody")
    machine.runs(FINGERPRINT, "service", "uninstall", "--purge")
    assert machine.shell(TRACES) == ""
    machine.runs(FINGERPRINT, "service", "install")  # whatever the order of tests
