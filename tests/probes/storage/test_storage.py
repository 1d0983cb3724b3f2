"""Where a model and caches lie: real processes, real file systems, one of them without its server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.kit.redact import Redactor
from probes.storage import Storage
from probes.storage import read as probe
from probes.storage.caches import folders
from probes.storage.sections import Cache, Model
from tests.kit.standing_still import standing_still
from tests.kit.test_host import plain_user
from tests.kit.test_residency import dropped
from tests.kit.test_user import open_to_all
from tests.kit.test_weights import safetensors
from tests.probes.children import await_exec, running

NOBODY = 65534  # whom plain_user becomes
SLEEPS = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)")
root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")]


def read(pid: int, name: str = "main", host: Host | None = None) -> Storage:
    """As one that came through a strict decode."""
    section = probe.read(host or Host(redactor=Redactor(b"k")), Target(name, pid))
    return decoder_of(Storage)(msgspec.json.encode(section))


def of_server(*arguments: str, cwd: Path | None = None, **env: str) -> Storage:
    with running([*SLEEPS, *arguments], env=env, cwd=cwd) as pid:
        return read(pid)


def target(storage: Storage) -> Model:
    assert isinstance(storage.models, Map), storage.models
    return storage.models.items["target"]


def caches(storage: Storage) -> Mapping[str, Cache]:
    assert isinstance(storage.caches, Map), storage.caches
    return storage.caches.items


def checkpoint(folder: Path, shards: int = 2) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    for number in range(shards):
        safetensors(folder / f"model-{number:05}-of-{shards:05}.safetensors", {"a": ("F32", [1 << 18])})
    return folder


def filled(folder: Path, *names: str, age: float = 0.0) -> Path:
    """age: seconds since the files were written."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (time.time() - age,) * 2)
    return folder


# The model.


def test_the_file_system_of_a_model_is_that_which_df_and_stat_tell(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    mount = target(of_server("--model-path", str(folder))).mount
    told = subprocess.run(["df", "--output=fstype,iavail", str(folder)], capture_output=True, text=True, check=True)
    kind, inodes = told.stdout.splitlines()[1].split()
    assert mount.type == kind
    assert isinstance(mount.free_files, int)
    assert abs(mount.free_files - int(inodes)) < 1000
    assert isinstance(mount.options, Map)
    assert mount.answers == mount.source == Gap("unsupported")


def test_a_model_that_is_named_by_a_link_lies_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(checkpoint(tmp_path / "m"))
    assert target(of_server("--model-path", "current", cwd=tmp_path)).in_memory == "all"


def test_weights_that_were_dropped_are_not_in_memory_and_are_again_when_they_were_read(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    with running([*SLEEPS, "--model-path", str(folder)], env={}) as pid:
        seen = target(read(pid))
        assert (seen.in_memory, seen.in_memory_bytes) == ("all", seen.looked_at)
        os.sync()
        for file in folder.glob("*.safetensors"):
            dropped(file)
        seen = target(read(pid))
        if seen.in_memory == "all":
            pytest.skip("what lies in memory alone cannot be dropped from it")
        assert (seen.in_memory, seen.in_memory_bytes) == ("none", 0)
        (folder / "model-00000-of-00002.safetensors").read_bytes()
        assert target(read(pid)).in_memory == "part"


def test_of_no_weights_there_is_no_share(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m", 0)
    assert target(of_server("--model-path", str(folder))).in_memory == Gap("absent")
    assert target(of_server("--model-path", str(tmp_path / "none"))).in_memory == Gap("absent")


def test_who_names_no_model_has_none() -> None:
    assert of_server().models == Map({})


# What does not answer.


class TestWithoutItsServer:
    pytestmark = root

    def test_a_model_on_a_mount_that_is_dead_is_given_up_in_time_and_told(self, tmp_path: Path) -> None:
        filled(tmp_path / "home/.triton/cache", "AA/kernel.cubin", age=60)
        (tmp_path / "m").symlink_to("mounted/m")
        with (
            standing_still(tmp_path / "mounted"),
            running([*SLEEPS, "--model-path", str(tmp_path / "m")], env={"HOME": str(tmp_path / "home")}) as pid,
        ):
            began = time.monotonic()
            storage = read(pid)
            assert time.monotonic() - began < 3
        model = target(storage)
        assert (model.mount.answers, model.mount.type) == (False, "fuse")
        assert isinstance(model.mount.source, Redacted)
        assert model.mount.free == model.in_memory == Gap("timed_out")
        assert caches(storage)["triton"].at_start == "warm"

    def test_one_whose_server_has_ended_is_told_alike(self, tmp_path: Path) -> None:
        with standing_still(tmp_path / "mounted", ended=True) as mounted:
            model = target(of_server("--model-path", str(mounted / "m")))
        assert (model.mount.answers, model.mount.type, model.in_memory) == (False, "fuse", Gap("timed_out"))

    def test_a_cache_that_is_dead_costs_nothing_of_the_rest(self, tmp_path: Path) -> None:
        with standing_still(tmp_path / "mounted") as mounted:
            storage = of_server(
                "--model-path", str(checkpoint(tmp_path / "m")), TRITON_CACHE_DIR=str(mounted / "triton"), HOME="/none"
            )
        assert caches(storage)["triton"].path == Gap("timed_out")
        assert target(storage).in_memory == "all"


# Caches.


@pytest.mark.parametrize(
    ("name", "env", "place"),
    [
        ("triton", {}, "home/.triton/cache"),
        ("triton", {"TRITON_CACHE_DIR": "here"}, "here"),
        ("triton", {"TRITON_HOME": "here"}, "here/.triton/cache"),
        ("inductor", {"TORCHINDUCTOR_CACHE_DIR": "here"}, "here"),
        ("vllm", {}, "home/.cache/vllm/torch_compile_cache"),
        ("vllm", {"XDG_CACHE_HOME": "xdg"}, "xdg/vllm/torch_compile_cache"),
        ("vllm", {"VLLM_CACHE_ROOT": "here"}, "here/torch_compile_cache"),
        ("flashinfer", {"FLASHINFER_WORKSPACE_BASE": "here"}, "here/.cache/flashinfer"),
        ("deep_gemm", {}, "home/.deep_gemm"),
        ("deep_gemm", {"SGLANG_DG_CACHE_DIR": "here"}, "here"),
        ("sglang", {}, "home/.cache/sglang"),
        ("cuda", {}, "home/.nv/ComputeCache"),
        ("cuda", {"CUDA_CACHE_PATH": "here"}, "here"),
        ("tilelang", {}, "home/.tilelang/cache"),
        ("aiter", {"AITER_JIT_DIR": "here"}, "here"),
        ("torch_extensions", {}, "home/.cache/torch_extensions"),
    ],
)
def test_each_cache_lies_where_its_library_looks(tmp_path: Path, name: str, env: Mapping[str, str], place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    variables = {"HOME": str(tmp_path / "home"), **{key: str(tmp_path / value) for key, value in env.items()}}
    assert folders(Host(), variables, os.getuid())[name] == str(tmp_path / place)


def test_what_a_cache_holds_is_counted(tmp_path: Path) -> None:
    filled(tmp_path / ".triton/cache", "AA/kernel", "BB/kernel.json", age=60)
    found = caches(of_server(HOME=str(tmp_path)))["triton"]
    assert (found.at_start, found.files, found.bytes) == ("warm", 2, len("AA/kernelBB/kernel.json"))
    assert isinstance(found.newest, int)
    assert found.newest == pytest.approx(time.time() - 60, abs=5)


def test_inductors_is_named_after_the_user(tmp_path: Path) -> None:
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    filled(tmp_path / f"torchinductor_{user}", "aa/kernel.py")
    assert caches(of_server(TMPDIR=str(tmp_path)))["inductor"].files == 1


def test_without_home_it_is_that_which_the_list_of_users_tells(tmp_path: Path) -> None:
    found = caches(of_server())
    home = os.path.expanduser(f"~{os.getuid()}") if os.getuid() else "/root"
    assert all(isinstance(one.path, Gap) or one.path.startswith((home, "/tmp")) for one in found.values())


def test_what_was_compiled_since_the_process_began_was_not_there_when_it_did(tmp_path: Path) -> None:
    cache = tmp_path / "c"
    with running(SLEEPS, env={"TRITON_CACHE_DIR": str(cache), "HOME": "/none"}) as pid:
        empty = caches(read(pid))["triton"]
        assert (empty.path, empty.at_start, empty.files) == (str(cache), "cold", 0)
        filled(cache, "AA/new.cubin", age=-60)
        assert caches(read(pid))["triton"].at_start == "cold"
        filled(cache, "BB/old.cubin", age=60)
        assert caches(read(pid))["triton"].at_start == "added to"


def test_locks_are_no_kernels(tmp_path: Path) -> None:
    filled(filled(tmp_path, "AA/old.cubin", age=60), "AA/old.cubin.lock", "x.tmp", age=-60)
    found = caches(of_server(TRITON_CACHE_DIR=str(tmp_path), HOME="/none"))["triton"]
    assert (found.at_start, found.files) == ("warm", 1)


def test_two_caches_with_the_same_names_have_one_digest_and_others_another(tmp_path: Path) -> None:
    for folder, names in (("a", ("x/1", "y/2")), ("b", ("y/2", "x/1")), ("c", ("x/1", "y/3"))):
        filled(tmp_path / folder, *names)
    a, b, c = (
        caches(of_server(TRITON_CACHE_DIR=str(tmp_path / folder), HOME="/none"))["triton"].digest for folder in "abc"
    )
    assert a == b != c
    assert isinstance(a, str)


def test_of_a_huge_cache_it_is_said_that_only_a_part_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probes.storage.caches.MOST_FOLDERS", 4)
    filled(tmp_path, *(f"{number}/kernel" for number in range(9)), age=60)
    found = caches(of_server(TRITON_CACHE_DIR=str(tmp_path), HOME="/none"))["triton"]
    assert found.files == found.digest == found.at_start == Gap("failed")
    filled(tmp_path, "0/new", age=-60)
    assert caches(of_server(TRITON_CACHE_DIR=str(tmp_path), HOME="/none"))["triton"].at_start == "added to"


def test_links_in_a_cache_lead_nowhere(tmp_path: Path) -> None:
    filled(tmp_path / "c", "a")
    (tmp_path / "c/loop").symlink_to(".")
    (tmp_path / "c/etc").symlink_to("/etc")
    assert caches(of_server(TRITON_CACHE_DIR=str(tmp_path / "c"), HOME="/none"))["triton"].files == 1


def test_a_worker_that_stands_where_its_parent_does_tells_its_caches_not_again(tmp_path: Path) -> None:
    filled(tmp_path, "AA/old.cubin", age=60)
    with below(tmp_path, {}) as pid:
        assert read(pid, "main.sleep.1").caches == Gap("not_read")
        assert caches(read(pid, "main")).keys() >= {"triton"}
    with below(tmp_path, {"TRITON_CACHE_DIR": "/elsewhere"}) as pid:
        assert caches(read(pid, "main.sleep.1"))["triton"].path == "/elsewhere"


@contextmanager
def below(cache: Path, more: Mapping[str, str]) -> Iterator[int]:
    """The pid of a process that another one started, with `more` in its environment."""
    script = 'env "$@" sleep 60 & echo $!; wait'
    argv = ["sh", "-c", script, "sh", *(f"{name}={value}" for name, value in more.items())]
    env = {"TRITON_CACHE_DIR": str(cache), "HOME": "/none", "PATH": os.environ["PATH"]}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        await_exec(pid)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)
            parent.kill()


def test_of_who_ended_nothing_is_told() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert read(child.pid).models == Gap("absent")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another")
def test_a_plain_user_is_told_of_his_own(tmp_path: Path) -> None:
    open_to_all(tmp_path)
    filled(tmp_path / "c", "a", age=60)
    env = {"TRITON_CACHE_DIR": str(tmp_path / "c"), "HOME": "/none"}
    with running(["sleep", "60"], env=env, user=NOBODY) as pid, plain_user():
        found = caches(read(pid))["triton"]
    assert (found.at_start, found.path) == ("warm", str(tmp_path / "c"))
    assert isinstance(found.mount.type, str)
