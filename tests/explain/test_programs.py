"""What ran: which engine, on how many GPUs by its flags, and what is its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fingerprint.explain import explain
from fingerprint.explain.circumstances import Circumstances, circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.machine import Machine
from fingerprint.explain.mechanisms.graph import Reader
from fingerprint.explain.programs import Programs
from fingerprint.explain.weights import ASTRAY, OWN, OWN_CODE
from fingerprint.runs.record import AnyRecord
from probes.kit.facts import Gap, Map
from probes.kit.flags import flags
from probes.libraries.sections import Libraries, Origin, Package
from probes.mapped.sections import Library, Mapped
from probes.process import Process
from probes.process.sections import Git, Interpreter, Program
from tests.explain.subjects import reading, subject
from tests.explain.test_circumstances import slow

VLLM, SGLANG, TORCHRUN = "/opt/venv/bin/vllm", "/opt/venv/bin/sglang", "/opt/venv/bin/torchrun"
BENCH, SERVER, CAFFE, PYTHON = "/opt/llama-bench", "/opt/llama-server", "/opt/caffe", "/usr/bin/python3"


def ran(
    path: str, line: str = "", *, compiled: bool = False, git: Git | None = None, env: Mapping[str, str] = {}
) -> Process:
    told = flags(line.split())
    python = Interpreter(path=Gap("absent", "none") if compiled else "/usr/bin/python3.12")
    return Process(
        program=Program(path=path),
        interpreter=python,
        flags=told.flags,
        operands=told.operands,
        env=Map(dict(env)),
        git=git or Git(),
    )


def programs(*tasks: Process, read: Sequence[AnyRecord] = ()) -> Programs:
    a, b = (subject(name, None, task, *read) for name, task in zip("AB", (tasks[0], tasks[-1]), strict=True))
    return circumstances(a, b).ran


@pytest.mark.parametrize(
    ("path", "line", "ranks"),
    [
        (VLLM, "serve m", 1),
        (VLLM, "serve m --kv-transfer-config {}", None),
        (VLLM, "serve m --kv-transfer-config {} -tp 2", 2),
        (VLLM, "serve m -tp 4", 4),
        (VLLM, "serve m --prefill-context-parallel-size 8", 8),
        (VLLM, "serve m --tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-size 3", 24),
        (SGLANG, "serve --disaggregation-mode prefill", None),
        (SGLANG, "serve --tp-size 8 --tp 2", 8),
        (TORCHRUN, "--nproc-per-node 8 --nnodes 2 train.py", 16),
        (TORCHRUN, "--nproc-per-node 4 dp.py --tp-size=2 --pp-size=1 --dp-size=2", 4),
        (TORCHRUN, "--nnodes 2 train.py", None),
        (VLLM, "serve m -tp 16 --nnodes 2", 16),
        (VLLM, "serve m --nnodes 2", None),
        (TORCHRUN, "--nproc-per-node gpu train.py", None),
        (TORCHRUN, "--nproc-per-node gpu --nnodes 2 train.py", None),
        (TORCHRUN, "--nproc-per-node 8 --nnodes 1:4 train.py", None),
        (VLLM, "serve m --config served.yaml", None),
        (VLLM, "serve m --tensor-parallel 4", None),
        (VLLM, "serve m --parallel-config f", None),
        (VLLM, "serve m --data-parallel-size-local 4", None),
        (SGLANG, "serve --ep-size 4", None),
        (SGLANG, "serve --num-gpus 4", None),
        (VLLM, "bench serve --model m", None),
        (PYTHON, "-m sglang.bench_serving", None),
        (PYTHON, "-m sglang.bench_one_batch_server", None),
        (PYTHON, "-m sglang.launch_server", 1),
        ("/home/u/train.py", "", None),
        (SERVER, "", None),
    ],
)
def test_an_engine_that_was_told_of_no_ranks_has_one_unless_it_was_told_of_others(
    path: str, line: str, ranks: int | None
) -> None:
    assert programs(ran(path, line)).ranks == ranks


@pytest.mark.parametrize(
    ("tasks", "single"),
    [
        ((ran(VLLM, "serve m"),), True),
        ((ran(VLLM, "serve m -tp 1"),), True),
        ((ran(VLLM, "serve m -tp 1 --config f"),), False),
        ((ran(VLLM, "chat"),), False),
        ((ran(VLLM, "serve m --kv-transfer-config {}  -tp 1"),), False),
        ((ran(TORCHRUN, "--nproc-per-node 1 train.py"),), False),
        ((ran(VLLM, "serve m"), ran(PYTHON, "-m sglang.launch_server")), True),
        ((ran(VLLM, "serve m -tp 2"),), False),
        ((ran(VLLM, "serve m"), ran(VLLM, "serve m -tp 2")), False),
        ((ran(VLLM, "serve m"), ran("/home/u/train.py")), False),
        ((ran("/home/u/train.py"),), False),
        ((ran(SERVER, compiled=True),), False),
    ],
)
def test_a_single_rank_is_what_every_engine_is_known_to_have(tasks: Sequence[Process], single: bool) -> None:
    """A script of one rank may spread a model over all GPUs by itself."""
    assert programs(*tasks).single is single


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("", 1),
        ("--nnodes 2", 2),
        ("--nnodes 1:4", 1),
        ("--nnodes 2:4", 2),
        ("--num_machines 3", 3),
        ("--nnodes auto", 1),
        ("--nnodes all", 1),
    ],
)
def test_hosts_are_those_that_it_was_told_of(line: str, hosts: int) -> None:
    """Two with four GPUs each for it are two, however many each has."""
    found = programs(ran(TORCHRUN, f"--nproc-per-node 4 {line} train.py"))
    assert found.hosts == hosts
    assert Circumstances(ran=found, on=Machine(gpus=64)).spans_hosts is (
        True if hosts > 1 else None if ":" in line or "a" in line else False
    )


@pytest.mark.parametrize(
    ("path", "line", "alone"),
    [
        (VLLM, "serve m -tp 1", True),
        (VLLM, "serve m -tp 1 --kv-transfer-config {}", False),
        (VLLM, "serve m -tp 1 --config f", True),
        (VLLM, "serve m --headless", False),
        (SGLANG, "serve --node-rank 1", False),
        (SGLANG, "serve --tp-size 1 --disaggregation-mode prefill", False),
        (TORCHRUN, "--nproc-per-node 1 --nnodes auto train.py", False),
        (TORCHRUN, "--nproc-per-node 1 train.py", True),
        ("/usr/bin/mpirun", "-np 2 -H a,b train", False),
        ("/usr/bin/srun", "-N 2 train", False),
        ("/usr/bin/docker", "run --config f image", True),
    ],
)
def test_a_host_of_one_gpu_is_alone_unless_what_ran_may_work_with_others(path: str, line: str, alone: bool) -> None:
    assert Circumstances(ran=programs(ran(path, line)), on=Machine(gpus=1)).is_alone is alone


def test_of_what_is_told_of_others_nobody_says_that_it_spans_no_hosts() -> None:
    line = "serve m -dp 4 --data-parallel-size-local 2 --data-parallel-address H"
    assert Circumstances(ran=programs(ran(VLLM, line)), on=Machine(gpus=8)).spans_hosts is None
    assert Circumstances(ran=programs(ran(VLLM, line)), on=Machine(gpus=2)).spans_hosts is True


def test_of_two_runs_the_one_that_was_divided_further_tells_the_ranks() -> None:
    assert programs(ran(VLLM, "serve m -tp 2"), ran(VLLM, "serve m -tp 8")).ranks == 8
    assert programs(ran("/home/u/train.py"), ran(VLLM, "serve m -tp 8")).ranks == 8


@pytest.mark.parametrize(
    ("path", "line", "engines"),
    [
        (VLLM, "serve m", {"vllm"}),
        (PYTHON, "-m vllm.entrypoints.openai.api_server", {"vllm"}),
        (PYTHON, "-m sglang.launch_server", {"sglang"}),
        ("/opt/venv/bin/trtllm-serve", "m", {"tensorrt-llm"}),
        ("/usr/bin/ib_write_bw", "", {"rdma"}),
        ("/opt/build/alltoall_perf", "", {"nccl"}),
        (PYTHON, "-m vllmish.server", set()),
        ("/home/u/my-vllm-client.py", "", set()),
        ("/home/u/not-vllm.py", "", set()),
    ],
)
def test_an_engine_is_told_by_the_name_of_its_program_or_module_and_no_other(
    path: str, line: str, engines: set[Reader]
) -> None:
    assert programs(ran(path, line)).engines == engines


@pytest.mark.parametrize(
    ("path", "line", "asks"),
    [
        (VLLM, "bench serve --model m", True),
        (VLLM, "bench latency --model m", False),
        (VLLM, "bench throughput --model m", False),
        (VLLM, "serve m", False),
        (VLLM, "chat --url http://there", True),
        ("/srv/chat.py", "chat", False),
        (PYTHON, "-m sglang.bench_serving", True),
        (PYTHON, "-m sglang.bench_one_batch_server", False),
        (PYTHON, "-m sglang.bench_one_batch", False),
        (PYTHON, "-m sglang.bench_offline_throughput", False),
        (PYTHON, "-m vllm.benchmarks.serve", True),
        (PYTHON, "-m vllm.benchmarks.latency", False),
        (PYTHON, "-m benchmarks.benchmark_serving", True),
        (PYTHON, "-m sglang.launch_server", False),
        (BENCH, "-m served", False),
    ],
)
def test_a_benchmark_of_a_server_asks_it_and_others_load_the_model_themselves(path: str, line: str, asks: bool) -> None:
    """SGLang's of one batch starts the server that it asks, unless it is told of one."""
    task = ran(path, line, compiled=path == BENCH)
    assert programs(task).asks is asks
    assert not programs(task, ran(VLLM, "serve m")).asks


def test_m_names_a_model_and_no_module_where_no_interpreter_runs() -> None:
    task = ran(BENCH, "-m vllm", compiled=True)
    found = programs(task)
    assert (found.engines, found.compiled, found.called) == ({"llama.cpp"}, {"llama-bench"}, {"llama", "bench"})
    assert programs(ran(PYTHON, "-m vllm")).engines == {"vllm"}


@pytest.mark.parametrize(
    ("path", "line", "called", "folders"),
    [
        ("/srv/colibri/glm", "", {"glm"}, {"colibri"}),
        ("/srv/my_engines/llm-2/run.py", "", {"run", "py"}, {"llm", "2"}),
        (PYTHON, "-m colibri.serve", {"python3", "colibri", "serve"}, set()),
        ("/home/train.py", "", {"train", "py"}, set()),
        ("alone", "", {"alone"}, set()),
    ],
)
def test_a_program_is_called_as_its_file_and_its_module_are_and_lies_in_its_folder(
    path: str, line: str, called: set[str], folders: set[str]
) -> None:
    """The folders above that are of whoever made the machine, and some hold programs of any name."""
    found = programs(ran(path, line))
    assert (found.called, found.folders) == (called, folders)


@pytest.mark.parametrize(
    ("tasks", "compiled", "scripted"),
    [
        ((ran(BENCH, compiled=True),), {"llama-bench"}, False),
        ((ran("/usr/bin/wrk", compiled=True),), {"wrk"}, False),
        ((ran(BENCH, compiled=True), ran("/home/u/bench.py")), set(), False),
        ((ran("/usr/bin/srun", compiled=True),), set(), True),
        ((ran("/home/u/bench.py"),), set(), True),
        ((ran("/home/u/bench.py"), ran(VLLM)), set(), False),
    ],
)
def test_what_an_interpreter_or_a_launcher_starts_may_read_and_import_anything(
    tasks: Sequence[Process], compiled: set[str], scripted: bool
) -> None:
    found = programs(*tasks)
    assert (found.compiled, found.scripted) == (compiled, scripted)


@pytest.mark.parametrize(
    ("path", "unseen"),
    [("/usr/bin/docker", True), ("/usr/bin/srun", True), ("enroot", True), (VLLM, False), ("/opt/docker/run", False)],
)
def test_what_starts_others_where_nobody_looked_hands_on_what_it_was_given(path: str, unseen: bool) -> None:
    task = ran(path, compiled=path != VLLM)
    assert programs(task).unseen is unseen
    assert programs(ran(VLLM, "serve m"), task).unseen is unseen


def test_of_runs_that_were_not_read_nobody_knows_what_ran() -> None:
    nothing = {"main": frozenset[Any]()}
    assert programs(Process()) == Programs(letters=nothing, reads=nothing, named=nothing)


# What is the program's own.


def suspects(*tasks: Process) -> Sequence[Suspect]:
    a, b = (subject(name, None, task) for name, task in zip("AB", tasks, strict=True))
    return explain(a, b).suspects


@pytest.mark.parametrize(
    ("path", "variable", "part"),
    [
        (VLLM, "VLLM_ANYTHING", OWN),
        (VLLM, "OMP_NUM_THREADS", None),
        (SERVER, "GGML_ANYTHING", OWN),
        (CAFFE, "CAFFE_ANYTHING", OWN),
        ("/usr/bin/python", "PYTHON_ANYTHING", None),
        ("/opt/python/train", "PYTHON_ANYTHING", None),
        ("/srv/colibri/glm", "COLIBRI_ANYTHING", OWN),
        ("/srv/colibri/glm", "COLI_NUMA", OWN),
        ("/srv/colibri/glm", "COL_NUMA", None),
        ("/srv/colibri/glm", "GLM_X", OWN),
        ("/srv/colibri/glmx", "GLM_X", None),
        ("/srv/glmx/colibri", "GLM_X", None),
        ("/srv/colibri/glm", "LIBRI_X", None),
        ("/srv/colibri/glm", "COLIBRIS_X", None),
        ("/srv/colibri/build/glm", "COLI_NUMA", None),
        ("/home/user/train.py", "USER", None),
        ("/home/train.py", "HOME", None),
        (TORCHRUN, "TORCH_ANYTHING", None),
    ],
)
def test_a_variable_that_bears_the_programs_name_is_its_own(path: str, variable: str, part: float | None) -> None:
    """Or its folder's, or how either begins; three letters begin too much."""
    compiled = path in (SERVER, CAFFE)
    (found,) = suspects(*(ran(path, compiled=compiled, env={variable: value}) for value in "01"))
    assert (found.facts, found.parts.get("own")) == ((f"process/main/env/{variable}",), part)


def test_a_flag_and_an_operand_are_the_programs_own() -> None:
    found = suspects(*(ran(VLLM, f"m{value} --some-flag {value}") for value in "01"))
    assert {one.facts[0]: one.parts.get("own") for one in found} == {
        "process/main/flags/--some-flag": OWN,
        "process/main/operands": OWN,
    }


@pytest.mark.parametrize(
    ("path", "library", "part"),
    [
        (CAFFE, "libcaffe-nv", OWN_CODE),
        (CAFFE, "libcuda", None),
        (SERVER, "libggml-base", OWN_CODE),
        (SERVER, "libstdc++", None),
        (VLLM, "libvllm", None),
        ("/opt/ab", "libab", None),
    ],
)
def test_a_library_that_bears_the_programs_name_is_its_own_code(path: str, library: str, part: float | None) -> None:
    """Packages of engines have rules of their own, and two letters are no name."""

    def read(build: str) -> AnyRecord:
        return reading("mapped", Mapped(libraries=Map({library: Library(path=f"/opt/{library}", build_id=build)})))

    task = ran(path, compiled=path != VLLM)
    a, b = (subject(name, None, task, *slow(level), read(name)) for name, level in (("A", 11), ("B", 15)))
    (found,) = explain(a, b).suspects
    assert (found.facts[0], found.parts.get("own")) == (f"mapped/main/libraries/{library}/build_id", part)


def test_the_file_of_the_program_is_its_own_code() -> None:
    (found,) = suspects(*(Process(program=Program(path=CAFFE, sha256=value)) for value in "01"))
    assert found.parts["own"] == OWN_CODE


# Whether it ran from the tree that is told of it.


@pytest.mark.parametrize(
    ("path", "line", "astray"),
    [
        ("/home/u/repo/bench.py", "", False),
        ("/home/u/repository/bench.py", "", True),
        (VLLM, "serve m", True),
        (PYTHON, "-m repo.bench", False),
        (PYTHON, "-m installed_one.bench", True),
        (PYTHON, "-m checked_out.bench", False),
    ],
)
def test_a_commit_of_the_folder_it_was_started_in_is_another_programs(path: str, line: str, astray: bool) -> None:
    """A module is looked for where it is started, unless its package is an installed one."""
    packages = Libraries(
        packages=Map({name: Package(version="1") for name in ("installed-one", "checked-out")}),
        origins=Map({"checked-out": Origin(url="file:///home/u/repo")}),
    )
    tasks = [ran(path, line, git=Git(root="/home/u/repo", commit=commit)) for commit in "01"]
    a, b = (subject(n, None, task, reading("libraries", packages)) for n, task in zip("AB", tasks, strict=True))
    (found,) = explain(a, b).suspects
    assert (found.facts[0], found.parts.get("astray")) == ("process/main/git/commit", ASTRAY if astray else None)
