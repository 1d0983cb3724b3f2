"""What starts others where nobody looked says nothing of them; and a folder's name makes no engine."""

import pytest

from fingerprint.diff.changes import Folded
from fingerprint.diff.compare import compare
from fingerprint.explain.circumstances import Circumstances
from fingerprint.explain.loaded import Loaded
from fingerprint.explain.machine import Machine
from fingerprint.explain.mechanisms.graph import Reader
from fingerprint.explain.programs import Programs
from fingerprint.explain.reach import reach
from fingerprint.explain.unread import unread_by
from probes.kit.flags import flags
from probes.kit.paths import parse_path
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_letters import known_as
from tests.explain.test_programs import PYTHON, programs, ran

NO_TORCH = Loaded(packages=frozenset(("numpy",)), libraries=frozenset(("libnuma",)))


@pytest.mark.parametrize("variable", ["CUDA_LAUNCH_BLOCKING", "NCCL_NVLS_ENABLE", "TORCHINDUCTOR_COMPILE_THREADS"])
def test_of_what_a_launcher_starts_elsewhere_its_own_host_tells_nothing(variable: str) -> None:
    path = parse_path(f"process/main/env/{variable}")
    here = Circumstances(on=Machine(gpus=0, products=frozenset()), loaded=NO_TORCH)
    assert unread_by(path, (), here)
    assert not unread_by(path, (), here._replace(ran=Programs(hands_on=True)))


@pytest.mark.parametrize("name", ["bash", "env", "numactl", "make", "srun", "mpiexec.hydra", "systemd-run"])
def test_a_shell_or_a_wrapper_is_no_program_of_which_it_is_known_what_it_reads(name: str) -> None:
    found = programs(ran(f"/usr/bin/{name}", compiled=True))
    assert found.hands_on
    assert not found.compiled


@pytest.mark.parametrize(
    ("path", "engines"),
    [
        ("/home/vllm/train.py", set()),
        ("/opt/conda/envs/vllm/bin/train", set()),
        ("/home/sglang/run_all_reduce.py", set()),
        ("/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/api_server.py", {"vllm"}),
        ("/src/vllm/vllm/entrypoints/openai/api_server.py", {"vllm"}),
        ("/src/sglang/python/sglang/launch_server.py", {"sglang"}),
    ],
)
def test_a_folder_makes_no_engine_unless_it_is_the_packages(path: str, engines: set[Reader]) -> None:
    assert programs(ran(path)).engines == engines


def test_the_programs_of_llama_cpp_bear_its_folders_name_alone() -> None:
    assert programs(ran("/opt/llama.cpp/build/bin/main", compiled=True)).engines == {"llama.cpp"}
    assert programs(ran("/opt/llama.cpp/convert.py")).engines == set()


@pytest.mark.parametrize("script", ["benchmark_serving.py", "bench_serving.py"])
def test_a_script_that_asks_a_server_is_known_by_its_name(script: str) -> None:
    found = programs(ran(f"/workspace/vllm/benchmarks/{script}"))
    assert found.asks
    assert found.ranks is None
    assert not programs(ran(PYTHON, "-m sglang.launch_server")).asks


@pytest.mark.parametrize(
    ("path", "flag", "known"),
    [
        ("/usr/bin/ib_write_bw", "-q", "transfer-test-depth"),
        ("/opt/all_reduce_perf", "-c", "transfer-test-timing"),
        ("/usr/bin/srun", "-c", "arguments"),
        ("/usr/bin/docker", "-m", "arguments"),
        ("/usr/bin/mpirun", "-c", "arguments"),
    ],
)
def test_letters_of_tests_and_launchers_are_no_engines(path: str, flag: str, known: str) -> None:
    assert known_as(path, flag)[:1] == (known,)


def test_a_launcher_beside_the_ranks_that_it_started_keeps_its_letters() -> None:
    rules = reach(letter("-x"), None, (), letters=frozenset(("of ranks", "of a test"))).rules
    assert {"exported-variables", "rdma-adapter-flags"} <= {rule.name for rule in rules}
    assert [rule.name for rule in reach(letter("-x"), None, (), letters=frozenset()).rules] == ["arguments"]


def letter(flag: str) -> Folded:
    a, b = (subject(name, None, Process(flags=flags((flag, value)).flags)) for name, value in ("A1", "B2"))
    (found,) = compare(a.state, b.state).changes
    return found
