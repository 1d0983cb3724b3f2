"""The libraries that a process really mapped, read of real processes that mapped real files."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fingerprint.testing import Recorder, Replay, load, save
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.mapped import read as mapped_probe
from probes.mapped.memory import placement
from probes.mapped.objects import name_of
from probes.mapped.sections import Library, Mapped
from tests.kit.test_elf import compiled
from tests.kit.test_host import plain_user
from tests.probes.asked import received
from tests.probes.children import changes, suspects
from tests.probes.tree import tree

GOMP = next(iter(Path("/usr/lib").glob("*-linux-gnu/libgomp.so.1")), Path("/usr/lib64/libgomp.so.1"))
needs_gomp = pytest.mark.skipif(not GOMP.exists(), reason="libgomp is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change a root or read what is deleted")
NCCL = 'const char version[] = "NCCL version {}+cuda12.9";'
LOADING = """
import ctypes, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
print("there", flush=True)
sys.stdin.read()
"""


@contextmanager
def with_libraries(*paths: object, python: str = sys.executable, env: dict[str, str] | None = None) -> Iterator[int]:
    """The pid of a process that has loaded these."""
    yield from _there([python, "-c", LOADING, *map(str, paths)], {**os.environ, **(env or {})})


def _there(argv: Sequence[str], env: dict[str, str]) -> Iterator[int]:
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        assert child.stdout
        said = child.stdout.readline()
        if said == b"refused\n":
            pytest.skip("the kernel refuses it here")
        assert said == b"there\n"
        yield child.pid
    finally:
        child.communicate()


def read(pid: int, host: Host | None = None) -> Mapped:
    return received(mapped_probe.read(host or Host(), Target("main", pid)))


def libraries(pid: int) -> dict[str, Library]:
    seen = read(pid).libraries
    assert isinstance(seen, Map), seen
    return dict(seen.items)


@needs_gomp
def test_a_real_library_is_told_by_its_file() -> None:
    with with_libraries(GOMP) as pid:
        gomp = libraries(pid)["libgomp"]
    real = os.path.realpath(GOMP)
    assert (gomp.path, gomp.soname, gomp.size) == (real, "libgomp.so.1", os.stat(real).st_size)
    assert isinstance(gomp.version, str)
    assert gomp.version.startswith("GOMP_")
    assert (gomp.copies, gomp.deleted) == (1, False)


@needs_gomp
@pytest.mark.skipif(not shutil.which("dpkg"), reason="no Debian")
def test_the_package_that_brought_it_is_the_one_that_lists_it() -> None:
    with with_libraries(GOMP) as pid:
        owner = libraries(pid)["libgomp"].owner
    told = subprocess.run(["dpkg", "-S", os.path.realpath(GOMP)], capture_output=True, text=True)
    assert owner == f"dpkg {told.stdout.partition(':')[0]}"


def test_what_decides_nothing_is_left_out() -> None:
    with with_libraries() as pid:
        assert "/libc." in Path(f"/proc/{pid}/maps").read_text()
        assert libraries(pid).keys() & {"libc", "libm", "libpthread", "ld-linux-x86-64"} == set()


def test_the_version_is_read_from_the_file_and_not_from_its_name(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    renamed = tmp_path / "libnccl.so.2.18.1"
    os.rename(library, renamed)
    with with_libraries(renamed) as pid:
        seen = libraries(pid)["libnccl"]
    assert (seen.path, seen.version) == (str(renamed), "2.27.3+cuda12.9")


@pytest.mark.parametrize(
    ("name", "source", "version"),
    [
        ("libggml-base", '"GGML status: success\\0GGML status: unknown\\0000.20.0\\0007e4c0a9"', "0.20.0"),
        ("libggml-base", '"GGML status: unknown\\0GGML status: success\\0000.26.0\\0%s"', "0.26.0"),
        ("libllama-common", '"Linux x86_64\\0GNU 11.4.0\\0007e4c0a9\\0version: %s"', "7e4c0a9"),
        ("libllama-common", '"Linux x86_64\\0GNU 14.2.1\\00086a2835-dirty\\0"', "86a2835-dirty"),
    ],
)
def test_ggml_tells_its_release_and_llama_cpp_its_commit(tmp_path: Path, name: str, source: str, version: str) -> None:
    with with_libraries(compiled(tmp_path, f"const char words[] = {source};", name)) as pid:
        assert libraries(pid)[name].version == version


def test_a_library_from_two_places_is_two_and_told_as_such(tmp_path: Path) -> None:
    places = []
    for release in ("2.19.3", "2.27.3"):
        (tmp_path / release).mkdir()
        places.append(compiled(tmp_path / release, NCCL.format(release), "libnccl"))
    with with_libraries(places[0]) as pid:
        before = read(pid)
    with with_libraries(*places) as pid:
        after = read(pid)
        seen = libraries(pid)
    one = seen["libnccl"]
    assert (one.path, one.version, one.copies) == (places[0], "2.19.3+cuda12.9", 2)
    assert isinstance(one.others, Map)
    assert {number: (other.path, other.version) for number, other in one.others.items.items()} == {
        "2": (places[1], "2.27.3+cuda12.9")
    }
    assert suspects(before, after, area=mapped_probe.area) == {"libraries/libnccl/copies"}
    assert changes(before, after)["libraries/libnccl/copies"] == (1, 2)


def test_of_very_many_files_the_first_are_told_and_all_are_counted(tmp_path: Path) -> None:
    lines = [
        f"7f0000{n:06x}000-7f0000{n:06x}fff r-xp 00000000 08:01 {n + 1} /jit/cached_ops/k{n:03}/k{n:03}.so"
        for n in range(300)
    ]
    host = tree(tmp_path, {"/proc/7/maps": "\n".join(lines), "/proc/7/environ": ""})
    seen = read(7, host)
    assert isinstance(seen.libraries, Map)
    assert (len(seen.libraries.items), seen.files) == (256, 300)


def test_the_same_file_through_two_links_is_one(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    os.link(library, tmp_path / "libnccl.so.2")
    with with_libraries(library, tmp_path / "libnccl.so.2") as pid:
        assert {name: one.copies for name, one in libraries(pid).items()} == {"libnccl": 1}


def test_another_release_in_the_same_place_is_the_version_and_the_build(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    with with_libraries(library) as pid:
        before = read(pid)
    os.unlink(library)
    compiled(tmp_path, NCCL.format("2.28.9"), "libnccl")
    with with_libraries(library) as pid:
        after = read(pid)
    changed = changes(before, after)
    assert changed.keys() == {"libraries/libnccl/version", "libraries/libnccl/build_id"}
    assert changed["libraries/libnccl/version"] == ("2.27.3+cuda12.9", "2.28.9+cuda12.9")


def test_without_a_build_id_the_content_tells_builds_apart(tmp_path: Path) -> None:
    source = tmp_path / "source.c"
    source.write_text("int kernel(void) { return 1; }")
    library = tmp_path / "libcublas.so.12"
    build = [shutil.which("cc") or "cc", "-shared", "-Wl,--build-id=none", "-o", str(library), str(source)]
    subprocess.run(build, check=True)
    with with_libraries(library) as pid:
        seen = libraries(pid)["libcublas"]
    assert isinstance(seen.build_id, Gap)
    assert seen.build_id.code == "absent"
    assert seen.sha256 == Host().sha256(str(library))


@needs_root
@pytest.mark.root
def test_a_file_that_was_replaced_while_mapped_is_told_and_still_read(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    with with_libraries(library) as pid:
        os.unlink(library)
        compiled(tmp_path, NCCL.format("2.28.9"), "libnccl")
        seen = libraries(pid)["libnccl"]
    assert (seen.path, seen.deleted, seen.version) == (library, True, "2.27.3+cuda12.9")


@needs_root
@pytest.mark.root
@pytest.mark.parametrize("folder", [b"of \xff", b"of\n2"])
def test_a_library_whose_path_is_no_text_is_still_read(folder: bytes, tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(folder)
    place.mkdir()
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    os.rename(library, place / "libnccl.so.2")
    with with_libraries(place / "libnccl.so.2") as pid:
        assert libraries(pid)["libnccl"].version == "2.27.3+cuda12.9"


@needs_root
@pytest.mark.root
def test_a_library_of_another_root_is_read_there(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    chrooted = (
        f"import ctypes, os, sys; ctypes.CDLL({library!r}); os.chroot({str(tmp_path)!r});"
        "print('there', flush=True); sys.stdin.read()"
    )
    for pid in _there([sys.executable, "-c", chrooted], dict(os.environ)):
        seen = libraries(pid)["libnccl"]
    assert (seen.path, seen.version) == ("/libnccl.so.1", "2.27.3+cuda12.9")


@needs_root
@pytest.mark.root
def test_who_may_not_look_at_the_process_is_denied_everywhere() -> None:
    with with_libraries() as pid, plain_user():
        seen = read(pid)
    denied = (seen.libraries, seen.preloaded, seen.devices, seen.memory.policies)
    assert [one.code for one in denied if isinstance(one, Gap)] == ["denied"] * 4


def test_an_extension_module_of_an_engine_goes_by_the_name_it_is_imported_by(tmp_path: Path) -> None:
    package = tmp_path / "lib/python3.11/site-packages/vllm"
    package.mkdir(parents=True)
    shutil.copy(compiled(tmp_path, "int kernel(void) { return 1; }", "module"), package / "_C.abi3.so")
    info = package.parent / "vllm-0.11.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("vllm/_C.abi3.so,sha256=abc,123\n")
    with with_libraries(package / "_C.abi3.so") as pid:
        seen = libraries(pid)
    assert seen.keys() == {"vllm._C"}
    assert seen["vllm._C"].owner == "pip vllm"


@pytest.mark.parametrize(
    ("file", "is_told"),
    [
        ("libcuda.so.570.1", True),
        ("libcuda.so", True),
        ("libomp.so.5", True),
        ("libomp-a34b3233.so", True),
        ("libnuma.so.1", True),
        ("libucp.so.0", True),
        ("libucs.so.0", True),
        ("libuct.so.0", True),
        ("libucm.so.0", True),
        ("libuct_ib.so.0", True),
        ("libcudadebugger.so.1", False),
        ("libompstub.so", False),
    ],
)
def test_a_name_that_begins_many_others_is_one_of_its_family_where_it_ends(
    file: str, is_told: bool, tmp_path: Path
) -> None:
    line = f"7f0000000000-7f0000001000 r-xp 00000000 08:01 7 /usr/lib/{file}\n"
    seen = read(7, tree(tmp_path, {"/proc/7/maps": line, "/proc/7/environ": ""}))
    assert isinstance(seen.libraries, Map)
    assert [*seen.libraries.items] == ([name_of(file)] if is_told else [])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/lib/libnccl.so.2.27.3", "libnccl"),
        ("/venv/lib/python3.12/site-packages/torch/lib/libgomp-a34b3233.so.1", "libgomp"),
        ("/usr/lib/libnvidia-ml.so.570.86.15", "libnvidia-ml"),
        ("/opt/vllm/vllm/_moe_C.abi3.so", "vllm._moe_C"),
        ("/v/site-packages/sgl_kernel/common_ops.cpython-312-x86_64-linux-gnu.so", "sgl_kernel.common_ops"),
    ],
)
def test_a_name_is_without_its_version(path: str, name: str) -> None:
    assert name_of(path) == name


def test_what_was_preloaded_is_told_and_read_whatever_it_is_called(tmp_path: Path) -> None:
    library = compiled(tmp_path, "int hook(void) { return 1; }", "libhook")
    with with_libraries(env={"LD_PRELOAD": library}) as pid:
        seen = read(pid)
        assert "libhook" in libraries(pid)
    assert isinstance(seen.preloaded, tuple)
    assert seen.preloaded[0] == library


def test_of_a_process_that_ended_all_is_a_gap() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    seen = read(child.pid)
    assert {type(value) for value in (seen.libraries, seen.preloaded, seen.devices, seen.memory.policies)} == {Gap}


def test_devices_are_those_that_are_open_and_others_leave_no_trace() -> None:
    with with_libraries() as pid, open("/dev/zero", "rb"):
        assert read(pid).devices == ()
        assert Host().opened(os.getpid(), "/dev/(zero|full)") == ("/dev/zero",)


def test_a_recording_gives_the_same_again(tmp_path: Path) -> None:
    library = compiled(tmp_path, NCCL.format("2.27.3"), "libnccl")
    with with_libraries(library) as pid:
        recorder = Recorder(Host())
        live = read(pid, recorder)
    save(recorder.answers, tmp_path / "recording")
    assert read(pid, Replay(load(tmp_path / "recording"))) == live


def test_five_thousand_mappings_are_read() -> None:
    many = (
        "import mmap, sys; f = open(sys.executable, 'rb');"
        "kept = [mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ) for _ in range(5000)];"
        "print('there', flush=True); sys.stdin.read()"
    )
    for pid in _there([sys.executable, "-c", many], dict(os.environ)):
        seen = read(pid)
    assert isinstance(seen.libraries, Map)
    assert isinstance(seen.memory.nodes, Map)


# Where pages are.

NUMA_MAPS = """\
5621f43dd000 default file=/usr/bin/x mapped=2 N0=2 kernelpagesize_kB=4
562214b00000 bind:1 heap anon=40000 dirty=40000 N0=5000 N1=35000 kernelpagesize_kB=4
7f147ad86000 interleave:0-1 anon=100 dirty=100 N0=50 N1=50 kernelpagesize_kB=4
7f147b000000 default file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N1=3 kernelpagesize_kB=2048
7f147c000000 local
"""


def test_pages_are_counted_by_node_in_their_own_size() -> None:
    seen = placement(NUMA_MAPS)
    assert seen.policies == ("bind:1", "interleave:0-1", "local")
    assert seen.nodes == {"0": 4 * 5052, "1": 4 * 35050 + 3 * 2048}
    assert seen.anonymous == {"0": 4 * 5050, "1": 4 * 35050}


@pytest.mark.parametrize(
    "policy", ["bind:0-1", "bind=static:1", "prefer (many):0-1", "weighted interleave:0-3", "prefer=relative:1"]
)
def test_a_policy_is_told_in_the_kernels_words_spaces_included(policy: str) -> None:
    seen = placement(f"7f147ad86000 {policy} heap anon=5 N1=5 kernelpagesize_kB=4\n")
    assert (seen.policies, seen.nodes) == ((policy,), {"1": 20})


BINDING = """
import ctypes, os, sys
number = {"x86_64": 238, "aarch64": 237}[os.uname().machine]  # set_mempolicy
if ctypes.CDLL(None).syscall(number, int(sys.argv[1]), ctypes.byref(ctypes.c_ulong(int(sys.argv[1]) // 2)), 64):
    print("refused")
print("there", flush=True)
sys.stdin.read()
"""
MPOL_DEFAULT, MPOL_BIND = 0, 2


def test_memory_that_is_bound_to_a_node_is_the_one_change() -> None:
    env = dict(os.environ)
    starts = (_there([sys.executable, "-c", BINDING, str(mode)], env) for mode in (MPOL_DEFAULT, MPOL_BIND))
    before, after = (read(pid) for start in starts for pid in start)
    assert changes(before, after) == {"memory/policies": ((), ("bind:0",))}


@pytest.mark.parametrize(
    ("spread", "node"),
    [("N0=20000 N1=5000", 0), ("N0=10000 N1=30000", 1), ("N0=20000 N1=10000", "several")],
)
def test_the_node_is_the_one_that_holds_three_quarters(spread: str, node: object) -> None:
    answers = {
        ("text", "/proc/7/status"): "VmRSS:\t 200000 kB\nVmLck:\t 12 kB\n",
        ("text", "/proc/7/numa_maps"): f"5621f43dd000 default heap {spread} kernelpagesize_kB=4\n",
    }
    memory = read(7, Replay(answers)).memory
    assert (memory.node, memory.locked) == (node, 12)


def test_the_pages_of_a_huge_process_are_not_walked() -> None:
    answers = {("text", "/proc/7/status"): f"VmRSS:\t {17 << 20} kB\n", ("text", "/proc/7/numa_maps"): "junk"}
    nodes = read(7, Replay(answers)).memory.nodes
    assert isinstance(nodes, Gap)
    assert nodes.code == "not_observable"


def test_pages_are_walked_again_once_the_process_has_grown() -> None:
    answers = {
        ("text", "/proc/7/status"): "VmRSS:\t 1000 kB\n",
        ("text", "/proc/7/numa_maps"): "5621f43dd000 default heap N0=10 kernelpagesize_kB=4\n",
    }
    host = Replay(answers)
    assert read(7, host).memory.nodes == Map({"0": 40})
    answers["text", "/proc/7/numa_maps"] = "5621f43dd000 default heap N0=20 kernelpagesize_kB=4\n"
    assert read(7, host).memory.nodes == Map({"0": 40})
    answers["text", "/proc/7/status"] = "VmRSS:\t 2000 kB\n"
    assert read(7, host).memory.nodes == Map({"0": 80})
