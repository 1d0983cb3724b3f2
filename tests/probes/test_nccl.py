"""What NCCL of a process is asked for: by the environment, then by files; and where its log lies."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.kit.facts import Gap, Map, Seen
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.nccl import Nccl
from probes.nccl import read as probe
from probes.nccl.sections import File
from tests.kit.test_elf import compiled
from tests.probes.children import running
from tests.probes.tree import tree
from tests.waiting import until

STATUS = "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t7\t3\n"
PASSWD = "root:x:0:0::/root:/bin/sh\nserve:x:1000:1000:,,,:/home/serve:/bin/sh\nother:x:11000:1:::\n"
PLACES = {"user": "/home/serve/.nccl.conf", "system": "/etc/nccl.conf", "own": "/own.conf", "topo": "/t/topo.xml"}
LOG = "h:3:3 [0] NCCL INFO Using network IB\nh:4:4 [0] NCCL INFO Using network Socket\n"


def read(host: Host, pid: int = 7) -> Nccl:
    """As one that came through a strict decode."""
    return decoder_of(Nccl)(msgspec.json.encode(probe.read(host, Target("main", pid))))


def machine(root: Path, environ: str, **files: str) -> Host:
    """A process 7 of the user `serve`, which is 3 to itself; of its files the named ones are there."""
    process = {"/proc/7/environ": environ.replace(" ", "\0") + "\0", "/proc/7/status": STATUS, "/etc/passwd": PASSWD}
    return tree(root, {**process, **{PLACES[name]: text for name, text in files.items()}})


def items(seen: Seen[Map[Any]]) -> dict[str, object]:
    assert isinstance(seen, Map)
    return dict(seen.items)


def test_the_environment_wins_over_the_users_file_and_that_over_the_systems(tmp_path: Path) -> None:
    user = "NCCL_ALGO=Ring\nNCCL_PROTO=LL\nNCCL_PROTO=LL128\n#NCCL_NTHREADS=1\n NCCL_INDENTED=1\n"
    system = "NCCL_PROTO=Simple\nNCCL_IB_HCA==mlx5_0\nno variable\n"
    section = read(machine(tmp_path, "NCCL_ALGO=Tree HOME=/elsewhere PATH=/bin", user=user, system=system))
    assert items(section.variables) == {"NCCL_ALGO": "Tree", "NCCL_IB_HCA": "=mlx5_0", "NCCL_PROTO": "LL"}
    assert items(section.origins) == {
        "NCCL_IB_HCA": "/etc/nccl.conf",
        "NCCL_PROTO": "/home/serve/.nccl.conf",
    }


def test_a_file_that_the_environment_names_stands_in_the_place_of_the_users(tmp_path: Path) -> None:
    section = read(machine(tmp_path, "NCCL_CONF_FILE=/own.conf", own="NCCL_X=own\n", user="NCCL_X=user\nNCCL_Y=1\n"))
    assert items(section.variables) == {"NCCL_CONF_FILE": "/own.conf", "NCCL_X": "own"}
    assert list(items(section.files)) == ["NCCL_CONF_FILE"]


def test_that_a_file_of_nccls_could_not_be_read_stands_in_the_place_of_what_it_sets(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.conf")
    section = read(machine(tmp_path, "NCCL_CONF_FILE=/own.conf", system="NCCL_Y=1\n"))
    assert items(section.variables) == {"NCCL_CONF_FILE": "/own.conf", "NCCL_Y": "1"}
    assert section.origins == Gap("unsupported")


def test_an_empty_variable_keeps_a_files_value_out(tmp_path: Path) -> None:
    """setenv(3) does not overwrite, and empty is set."""
    assert items(read(machine(tmp_path, "NCCL_ALGO=", system="NCCL_ALGO=Ring\n")).variables) == {"NCCL_ALGO": ""}


def test_a_file_may_set_what_is_no_variable_of_nccl(tmp_path: Path) -> None:
    assert items(read(machine(tmp_path, "A=1", system="UCX_TLS=tcp\n")).variables) == {"UCX_TLS": "tcp"}


def test_a_secret_in_a_file_leaves_as_a_digest(tmp_path: Path) -> None:
    section = read(machine(tmp_path, "A=1", system="MY_PASSWORD=hunter2\n"))
    assert b"hunter2" not in msgspec.json.encode(section)
    assert list(items(section.variables)) == ["MY_PASSWORD"]


def test_files_are_told_by_path_and_digest_and_one_that_is_named_but_missing_too(tmp_path: Path) -> None:
    environ = "NCCL_TOPO_FILE=/t/topo.xml NCCL_GRAPH_FILE=/t/none.xml NCCL_NET_PLUGIN=ofi"
    section = read(machine(tmp_path, environ, topo="<system/>", system="NCCL_X=1\n"))
    files = items(section.files)
    assert sorted(files) == ["NCCL_GRAPH_FILE", "NCCL_TOPO_FILE", "nccl.conf"]
    digest = hashlib.sha256(b"<system/>").hexdigest()
    assert files["NCCL_TOPO_FILE"] == File(path="/t/topo.xml", sha256=digest)
    missing = files["NCCL_GRAPH_FILE"]
    assert isinstance(missing, File)
    assert isinstance(missing.sha256, Gap)


def test_a_topology_that_lies_where_nccl_looks_by_itself_is_told(tmp_path: Path) -> None:
    """The daemon of a virtual machine puts it there: no variable names it."""
    host = machine(tmp_path, "A=1")
    place = tmp_path / "var/run/nvidia-topologyd/virtualTopology.xml"
    place.parent.mkdir(parents=True)
    place.write_text("<system/>")
    assert list(items(read(host).files)) == ["virtualTopology.xml"]


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ("A=1", "absent"),
        ("NCCL_DEBUG=WARN NCCL_DEBUG_FILE=/log/%p", "absent"),
        ("NCCL_DEBUG=INFO", "not_observable"),
        ("NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/log/other.%p", "absent"),
    ],
)
def test_where_no_log_can_be_read_each_fact_of_it_says_why(tmp_path: Path, environ: str, code: str) -> None:
    host = machine(tmp_path, environ)
    (tmp_path / "log").mkdir()
    log = read(host).log
    assert [getattr(log, name).code for name in log.__struct_fields__] == [code] * len(log.__struct_fields__)


def test_the_log_is_the_one_of_the_pid_that_the_process_has_itself(tmp_path: Path) -> None:
    host = machine(tmp_path, "NCCL_DEBUG=info NCCL_DEBUG_FILE=/log/n%%.%h.%p")
    for name, text in {"n%.h.3": LOG, "n%.h.7": "", "n%.h.33": ""}.items():
        (tmp_path / "log").mkdir(exist_ok=True)
        (tmp_path / "log" / name).write_text(text)
    log = read(host).log
    assert (log.path, log.network) == ("/log/n%.h.3", "IB")


def test_of_several_logs_the_one_that_was_written_last_counts(tmp_path: Path) -> None:
    """A container's former host name is in the older one."""
    host = machine(tmp_path, "NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/log/%h.%p")
    (tmp_path / "log").mkdir()
    for at, name in enumerate(("zeta.3", "alpha.3")):
        (tmp_path / "log" / name).write_text(LOG)
        os.utime(tmp_path / "log" / name, (at, at))
    assert read(host).log.path == "/log/alpha.3"


def test_a_real_process_is_read_from_outside(tmp_path: Path) -> None:
    (tmp_path / "own.conf").write_text("NCCL_PROTO=LL\n")
    os.mkfifo(tmp_path / "topo.xml")
    env = {
        "NCCL_ALGO": "Ring",
        "NCCL_CONF_FILE": str(tmp_path / "own.conf"),
        "NCCL_TOPO_FILE": str(tmp_path / "topo.xml"),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_FILE": "nccl.%p.log",
    }
    with running([sys.executable, "-c", "import time; time.sleep(60)"], env=env, cwd=tmp_path) as pid:
        (tmp_path / f"nccl.{pid}.log").write_text(f"h:{pid}:{pid} [0] NCCL INFO Using network Socket\n")
        section = read(Host(), pid)
    variables = items(section.variables)
    assert (variables["NCCL_ALGO"], variables["NCCL_PROTO"]) == ("Ring", "LL")
    assert section.log.network == "Socket"
    fifo = items(section.files)["NCCL_TOPO_FILE"]
    assert isinstance(fifo, File)
    assert fifo.sha256 == Gap("unsupported")


HOLDS_A_LIBRARY = "import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); time.sleep(60)"


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ('const char *const names[] = {"NCCL_DEBUG", "NCCL_PROTO", "MY_NCCL_ALGO"};', ("NCCL_PROTOCOL",)),
        ("int no_name;", Gap("unsupported")),
    ],
    ids=["with its names", "without"],
)
def test_a_name_that_the_mapped_library_does_not_hold_is_unknown(
    source: str, answer: Seen[tuple[str, ...]], tmp_path: Path
) -> None:
    names = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_PROTOCOL", "NCCL_VERSION", "TORCH_NCCL_X")
    path = compiled(tmp_path, source, "libnccl")
    with running([sys.executable, "-c", HOLDS_A_LIBRARY, path], env=dict.fromkeys(names, "1")) as pid:
        until(lambda: path in Path(f"/proc/{pid}/maps").read_text())
        assert read(Host(), pid).unknown == answer


def test_without_a_library_nothing_is_known_of_names(tmp_path: Path) -> None:
    with running([sys.executable, "-c", "import time; time.sleep(60)"], env={"NCCL_PROTOCOL": "1"}) as pid:
        assert read(Host(), pid).unknown == Gap("absent")


def test_a_process_that_ended_is_all_gaps() -> None:
    section = read(Host(), 2**22 + 1)
    assert isinstance(section.variables, Gap)
    assert isinstance(section.files, Gap)
    assert isinstance(section.log.version, Gap)
