"""What starts others where nobody looked says nothing of them; and a folder's name makes no engine."""

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, explain
from fingerprint.explain.circumstances import Circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.loaded import Loaded
from fingerprint.explain.machine import Machine
from fingerprint.explain.mechanisms.graph import Reader
from fingerprint.explain.programs import Programs
from fingerprint.explain.unread import unread_by
from probes.kit.facts import Map
from probes.kit.paths import parse_path
from probes.process import Process
from tests.explain.subjects import reading, subject
from tests.explain.test_circumstances import slow
from tests.explain.test_letters import known_as
from tests.explain.test_programs import PYTHON, VLLM, programs, ran

LLAMA = "/usr/bin/llama-server"
NO_TORCH = Loaded(packages=frozenset(("numpy",)), libraries=frozenset(("libnuma",)))


@pytest.mark.parametrize("variable", ["CUDA_LAUNCH_BLOCKING", "NCCL_NVLS_ENABLE", "TORCHINDUCTOR_COMPILE_THREADS"])
def test_of_what_a_launcher_starts_elsewhere_its_own_host_tells_nothing(variable: str) -> None:
    path = parse_path(f"process/main/env/{variable}")
    here = Circumstances(on=Machine(gpus=0, products=frozenset()), loaded=NO_TORCH)
    assert unread_by(path, (), here)
    assert not unread_by(path, (), here._replace(ran=Programs(unseen=True)))


@pytest.mark.parametrize("name", ["bash", "env", "numactl", "make", "srun", "mpiexec.hydra", "lxc", "uv"])
def test_a_shell_or_a_wrapper_is_no_program_of_which_it_is_known_what_it_reads(name: str) -> None:
    found = programs(ran(f"/usr/bin/{name}", compiled=True))
    assert found.unseen
    assert not found.compiled


@pytest.mark.parametrize(
    ("path", "engines"),
    [
        ("/home/vllm/train.py", set()),
        ("/opt/conda/envs/vllm/bin/train", set()),
        ("/home/sglang/run_all_reduce.py", set()),
        ("/home/vllm/benchmarks/mine.py", set()),
        ("/home/vllm/vllm/train.py", set()),
        ("/home/tensorrt_llm/train.py", set()),
        ("/data/vllm/v1/train.py", set()),
        ("/home/me/python/sglang/mytrain.py", set()),
        ("/opt/venv/lib/python3.12/site-packages/lmcache/integration/vllm/x.py", set()),
        ("/home/u/sgl_bench.py", set()),
        ("/home/u/vllm.sh", set()),
        ("/opt/venv/bin/llama-stack", set()),
        ("/opt/koboldcpp/koboldcpp.py", {"llama.cpp"}),
        ("/src/vllm/vllm/benchmarks/throughput.py", {"vllm"}),
        ("/src/vllm/benchmarks/benchmark_throughput.py", {"vllm"}),
        ("vllm/entrypoints/openai/api_server.py", {"vllm"}),
        ("/sgl-workspace/sglang/python/sglang/bench_one_batch.py", {"sglang"}),
        ("python/sglang/bench_one_batch.py", {"sglang"}),
        ("/code/tensorrt_llm/tensorrt_llm/commands/serve.py", {"tensorrt-llm"}),
        ("/src/TensorRT-LLM/tensorrt_llm/commands/serve.py", {"tensorrt-llm"}),
        ("/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/api_server.py", {"vllm"}),
        ("/src/vllm/vllm/entrypoints/openai/api_server.py", {"vllm"}),
        ("/src/sglang/python/sglang/launch_server.py", {"sglang"}),
    ],
)
def test_a_folder_makes_no_engine_unless_it_is_the_packages(path: str, engines: set[Reader]) -> None:
    assert programs(ran(path)).engines == engines


def test_the_programs_of_llama_cpp_bear_its_folders_name_alone() -> None:
    assert programs(ran("/opt/llama.cpp/build/bin/main", compiled=True)).engines == {"llama.cpp"}
    assert programs(ran("/tmp/ollama1/runners/cuda_v12/ollama_llama_server", compiled=True)).engines == {"llama.cpp"}
    assert programs(ran("/opt/llama.cpp/convert.py")).engines == set()
    assert programs(ran("/home/ollama/bin/gpu_burn", compiled=True)).engines == set()
    assert programs(ran("/opt/bin/main", compiled=True)).engines == set()


@pytest.mark.parametrize(
    ("program", "line", "engines"),
    [
        ("/usr/bin/bash", "/models/llama-3-8b/run.sh", set()),
        ("/usr/bin/srun", "/data/llama-3-70b/train.sh", set()),
        ("/usr/bin/srun", "/opt/llama.cpp/build/bin/llama-server", {"llama.cpp"}),
        ("/usr/bin/docker", "run vllm/vllm-openai:latest", {"vllm"}),
        ("/usr/bin/docker", "run lmsysorg/sglang:v0.5", {"sglang"}),
        ("/usr/bin/uv", "run vllm", {"vllm"}),
        ("/home/u/compare", "vllm", set()),
    ],
)
def test_what_a_launcher_was_told_to_start_is_known_by_its_own_name(
    program: str, line: str, engines: set[Reader]
) -> None:
    assert programs(ran(program, line, compiled=True)).engines == engines


@pytest.mark.parametrize("script", ["benchmark_serving.py", "bench_serving.py"])
def test_a_script_that_asks_a_server_is_known_by_its_name(script: str) -> None:
    found = programs(ran(f"/workspace/vllm/benchmarks/{script}"))
    assert found.asks
    assert found.ranks is None
    assert not programs(ran(PYTHON, "-m sglang.launch_server")).asks
    assert programs(ran("/src/vllm/vllm/benchmarks/serve.py")).asks
    assert not programs(ran("/src/vllm/vllm/benchmarks/throughput.py")).asks


@pytest.mark.parametrize(
    ("path", "flag", "known"),
    [
        ("/usr/bin/ib_write_bw", "-q", "transfer-test-depth"),
        ("/opt/all_reduce_perf", "-c", "transfer-test-timing"),
        ("/usr/bin/srun", "-c", "arguments"),
        ("/usr/bin/docker", "-m", "arguments"),
        ("/usr/bin/mpirun", "-c", "arguments"),
        ("/usr/bin/llama-swap", "-c", "arguments"),
    ],
)
def test_letters_of_tests_and_launchers_are_no_engines(path: str, flag: str, known: str) -> None:
    assert known_as(path, flag)[:1] == (known,)


def test_a_launcher_beside_the_ranks_that_it_started_keeps_its_letters() -> None:
    assert best_known("/usr/bin/mpirun", "-x", beside="/opt/all_reduce_perf") == "exported-variables"


@pytest.mark.parametrize(
    ("path", "flag"),
    [("/usr/bin/numactl", "-m"), ("/usr/bin/taskset", "-c"), ("/usr/bin/bash", "-c"), ("/opt/own", "-c")],
)
def test_what_a_letter_says_to_one_process_it_says_to_no_other(path: str, flag: str) -> None:
    assert best_known(path, flag, beside=LLAMA) == "arguments"
    assert best_known(LLAMA, flag, beside=path) in ("served-model", "cache-size")


def test_one_line_for_two_processes_is_about_what_its_letter_says_to_either() -> None:
    assert best_known("/usr/bin/sudo", "-c", beside=LLAMA, both=True) == "cache-size"


@pytest.mark.parametrize("path", ["/opt/trtllm/bin/gptManagerBenchmark", "/opt/tritonserver/bin/tritonserver"])
@pytest.mark.parametrize("variable", ["TRTLLM_ENABLE_PDL", "VLLM_USE_V1", "PYTHONMALLOC"])
def test_of_a_compiled_program_that_nobody_knows_it_is_not_known_what_it_reads(path: str, variable: str) -> None:
    """It may embed an interpreter, or start one."""
    assert not of_variables({variable: "1"}, ran(path, compiled=True)).against


def test_kernels_that_engines_share_read_the_variables_of_one() -> None:
    assert not of_variables({"TRTLLM_ENABLE_PDL": "0"}, ran(VLLM, "serve m")).against
    assert of_variables({"TRTLLM_ENABLE_PDL": "0"}, ran(LLAMA, compiled=True)).against


def test_an_engine_that_another_called_reads_its_variables() -> None:
    server = Circumstances(ran=Programs(engines=frozenset(("sglang",))))
    path = parse_path("process/main/env/VLLM_USE_V1")
    called = Loaded(packages=frozenset(("vllm",)), libraries=frozenset(("libtorch",)))
    assert unread_by(path, (), server)
    assert not unread_by(path, (), server._replace(loaded=called))


def test_the_process_is_named_that_does_not_read_it_and_no_other() -> None:
    told = of_variables({"VLLM_USE_V1": "1"}, ran(LLAMA, compiled=True), ran(VLLM, "serve m"), only_first=True).against
    assert [one.says for one in told] == ["what ran is llama-server, which is not known to use it"]


def test_of_a_shell_beside_an_engine_what_the_engine_reads_is_known() -> None:
    server = ran(LLAMA, compiled=True)
    told = [one.says for one in of_variables({"VLLM_USE_V1": "1"}, ran("/usr/bin/bash", compiled=True), server).against]
    assert told == ["what ran is llama-server, which is not known to use it"]
    assert not of_variables({"VLLM_USE_V1": "1"}, ran("/srv/app.py"), server).against


def test_one_line_for_two_processes_is_unread_only_where_neither_reads_it() -> None:
    server, other, script = ran(VLLM, "serve m"), ran("/opt/venv/bin/sglang", "serve m"), ran("/srv/app.py")
    assert of_variables({"LLAMA_ARG_CTX_SIZE": "1"}, server, other).against
    assert not of_variables({"LLAMA_ARG_CTX_SIZE": "1"}, server, script).against
    assert not of_variables({"LLAMA_ARG_CTX_SIZE": "1"}, server, ran(LLAMA, compiled=True)).against


def of_variables(env: dict[str, str], *tasks: Process, only_first: bool = False) -> Suspect:
    """What the first process, and the second one that is its child, have in the worse run alone."""

    def side(name: str, level: float, env: dict[str, str]) -> Subject:
        targets = ("main", "main.child.1")
        given = (env, {} if only_first else env)
        each = zip(tasks, given, targets, strict=False)
        read = (reading("process", replace(task, env=Map(dict(env))), target) for task, env, target in each)
        return subject(name, None, None, *slow(level), *read)

    (found,) = explain(side("A", 11.0, {}), side("B", 15.0, env)).suspects
    return found


def best_known(path: str, flag: str, *, beside: str, both: bool = False) -> str:
    """The rule that knows best a flag which had another value in each run; both: of the process beside it, too."""

    def side(name: str, level: float, value: str) -> Subject:
        told = ran(path, f"{flag} {value}", compiled=True)
        other = ran(beside, f"{flag} {value}" if both else "", compiled=True)
        return subject(name, None, told, *slow(level), reading("process", other, "main.child.1"))

    (found,) = explain(side("A", 11.0, "1"), side("B", 15.0, "2")).suspects
    return found.rules[0]
