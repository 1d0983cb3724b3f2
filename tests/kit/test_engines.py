"""What a process of a serving engine is, told by the trees that the engines start.

The trees are written from the engines' sources, each beside its version: what they pass to exec, and what they pass
to setproctitle, which puts a title in the place of the arguments and its first 15 bytes in that of the name.
"""

from collections.abc import Mapping

import pytest

from probes.kit.engines import LIKELY, Member, Named, Part, engine_of, names_of, part_of, program_of, servers
from probes.kit.facts import Redacted

PYTHON = "/opt/venv/bin/python3"
SPAWNED = (
    PYTHON,
    "-c",
    "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)",
    "--multiprocessing-fork",
)
TRACKER = (PYTHON, "-c", "from multiprocessing.resource_tracker import main;main(5)")
Tree = tuple[Member, ...]


def started(pid: int, parent: int, *argv: str, **env: str) -> Member:
    return Member(pid, parent, argv, env)


def titled(pid: int, parent: int, title: str) -> Member:
    """Behind the title the kernel hands out the NULs of the arguments that it replaced."""
    return Member(pid, parent, (title, "", "", ""))


def comm(member: Member) -> str:
    """The name that the kernel keeps."""
    return str(member.argv[0]).rpartition("/")[2][:15]


SGLANG_046 = (  # managers/scheduler.py, detokenizer_manager.py
    started(10, 1, PYTHON, "-m", "sglang.launch_server", "--model-path", "/m", "--tp", "2"),
    started(11, 10, *TRACKER),
    titled(12, 10, "sglang::scheduler_TP0"),
    titled(13, 10, "sglang::scheduler_TP1"),
    titled(14, 10, "sglang::detokenizer"),
)
SGLANG_0523 = (  # managers/scheduler.py, data_parallel_controller.py, multi_tokenizer_mixin.py
    started(10, 1, PYTHON, "/opt/venv/bin/sglang", "serve", "--model-path", "/m", "--port=31000"),
    titled(11, 10, "sglang::data_parallel_controller"),
    titled(12, 11, "sglang::scheduler_DP0_PP0_ATTN_CP1_TP3_EP3"),
    titled(13, 11, "sglang::scheduler_DP1"),
    titled(14, 10, "sglang::detokenizer"),
    titled(15, 10, "sglang::detokenizer_router"),
    titled(16, 10, "sglang::tokenizer_worker:16"),
    titled(17, 10, "sglang::tokenizer_worker:17"),
)
VLLM_085 = (  # v1/utils.py, v1/executor/multiproc_executor.py: forked, without titles
    started(20, 1, "/opt/venv/bin/python", "/opt/venv/bin/vllm", "serve", "/m", "--port", "8001"),
    started(21, 20, "/opt/venv/bin/python", "/opt/venv/bin/vllm", "serve", "/m", "--port", "8001"),
    started(22, 21, "/opt/venv/bin/python", "/opt/venv/bin/vllm", "serve", "/m", "--port", "8001"),
    started(23, 21, *SPAWNED),
)
VLLM_0330 = (  # v1/engine/core.py, v1/engine/coordinator.py, v1/utils.py, v1/executor/multiproc_executor.py
    started(20, 1, "/opt/venv/bin/python", "/opt/venv/bin/vllm", "serve", "/m", "--api-server-count", "2"),
    titled(21, 20, "VLLM::APIServer_0"),
    titled(22, 20, "VLLM::APIServer_1"),
    titled(23, 20, "VLLM::DPCoordinator"),
    titled(24, 20, "VLLM::EngineCore_DP0"),
    titled(25, 20, "VLLM::EngineCore_DP1"),
    titled(26, 24, "VLLM::Worker_DP0_TP0_EP0"),
    titled(27, 24, "VLLM::Worker_DP0_PP1_PCP2_TP1_DCP3_EP1"),
    titled(28, 25, "VLLM::Worker"),
    started(29, 26, *TRACKER),
)
TENSORRT_LLM_12 = (  # commands/serve.py, llmapi/mpi_session.py; mpi4py/futures/_core.py
    started(30, 1, "/usr/bin/python3", "/usr/local/bin/trtllm-serve", "/m", "--tp_size", "2", "--port", "8008"),
    started(31, 30, "prte", "--daemonize"),
    started(32, 31, "/usr/bin/python3", "-m", "mpi4py.futures.server", OMPI_COMM_WORLD_RANK="0"),
    started(33, 31, "/usr/bin/python3", "-m", "mpi4py.futures.server", OMPI_COMM_WORLD_RANK="1"),
)
TENSORRT_LLM_12_LAUNCHED = (  # llmapi/trtllm-llmapi-launch: what serves has none of MPI's variables
    started(35, 1, "mpirun", "-n", "2", "trtllm-llmapi-launch", "trtllm-serve", "/m", "--tp_size", "2"),
    started(36, 35, "/bin/bash", "/usr/local/bin/trtllm-llmapi-launch", "trtllm-serve", "/m", "--tp_size", "2"),
    started(37, 36, "/bin/bash", "/usr/local/bin/trtllm-llmapi-launch", "trtllm-serve", "/m", "--tp_size", "2"),
    started(38, 37, "/usr/bin/python3", "/usr/local/bin/trtllm-serve", "/m", "--tp_size", "2"),
    started(39, 36, "python3", "-m", "tensorrt_llm.llmapi.mgmn_leader_node", OMPI_COMM_WORLD_RANK="0"),
    started(46, 35, "/bin/bash", "/usr/local/bin/trtllm-llmapi-launch", "trtllm-serve", "/m", "--tp_size", "2"),
    started(47, 46, "python3", "-m", "tensorrt_llm.llmapi.mgmn_worker_node", OMPI_COMM_WORLD_RANK="1"),
)
TRITON = (  # server/src/command_line_parser.cc, python_backend/src/stub_launcher.cc
    started(40, 1, "/opt/tritonserver/bin/tritonserver", "--model-repository=/models", "--http-port=8010"),
    started(
        41, 40, "/opt/tritonserver/backends/python/triton_python_backend_stub", "/models/pre/1/model.py", "region_1",
        "1048576", "1048576", "40", "/opt/tritonserver/backends/python", "336", "pre_0_0", "DEFAULT",
    ),
)  # fmt: skip
TGI_3 = (  # launcher/src/main.rs
    started(50, 1, "text-generation-launcher", "--model-id", "m/x", "--num-shard", "2", "--port", "8080"),
    started(51, 50, PYTHON, "/usr/bin/text-generation-server", "serve", "m/x", "--sharded", RANK="0", WORLD_SIZE="2"),
    started(52, 50, PYTHON, "/usr/bin/text-generation-server", "serve", "m/x", "--sharded", RANK="1", WORLD_SIZE="2"),
    started(53, 50, "text-generation-router", "serve", "--port", "8080", "--master-shard-uds-path", "/tmp/s-0"),
)
LLAMA_CPP = (started(60, 1, "/usr/bin/llama-server", "-m", "/m.gguf", "-ngl", "99"),)  # common/arg.cpp: 8080
LMDEPLOY_0180 = (  # cli/serve.py, pytorch/engine/executor/mp_executor.py
    started(70, 1, PYTHON, "/opt/venv/bin/lmdeploy", "serve", "api_server", "/m", "--tp", "2"),
    started(71, 70, *SPAWNED),
    started(72, 70, *SPAWNED),
)
OLLAMA = (  # envconfig/config.go, llm/server.go
    started(80, 1, "/usr/local/bin/ollama", "serve", OLLAMA_HOST="0.0.0.0:11500"),
    started(81, 80, "/usr/local/bin/ollama", "runner", "--ollama-engine", "--model", "/b/sha256-1", "--port", "38191"),
    started(82, 80, "/usr/local/bin/ollama", "runner", "--model", "/b/sha256-2", "--port", "38207"),
)


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (
            SGLANG_046,
            {10: "sglang-30000", 12: "sglang-30000.tp0", 13: "sglang-30000.tp1", 14: "sglang-30000.detokenizer"},
        ),
        (
            SGLANG_0523,
            {
                10: "sglang-31000",
                11: "sglang-31000.controller",
                12: "sglang-31000.dp0.pp0.attn-cp1.tp3.ep3",
                13: "sglang-31000.dp1.tp0",
                14: "sglang-31000.detokenizer",
                15: "sglang-31000.detokenizer-router",
                16: "sglang-31000.tokenizer",
                17: "sglang-31000.tokenizer.2",
            },
        ),
        (VLLM_085, {20: "vllm-8001"}),
        (
            VLLM_0330,
            {
                20: "vllm-8000",
                21: "vllm-8000.api-server-0",
                22: "vllm-8000.api-server-1",
                23: "vllm-8000.coordinator",
                24: "vllm-8000.engine-core.dp0",
                25: "vllm-8000.engine-core.dp1",
                26: "vllm-8000.dp0.tp0.ep0",
                27: "vllm-8000.dp0.pp1.pcp2.tp1.dcp3.ep1",
                28: "vllm-8000.worker",
            },
        ),
        (TENSORRT_LLM_12, {30: "tensorrt-llm-8008", 32: "tensorrt-llm-8008.rank0", 33: "tensorrt-llm-8008.rank1"}),
        (
            TENSORRT_LLM_12_LAUNCHED,
            {38: "tensorrt-llm-8000", 39: "tensorrt-llm-8000.rank0", 47: "tensorrt-llm-8000.rank1"},
        ),
        (TRITON, {40: "triton-8010", 41: "triton-8010.worker"}),
        (TGI_3, {50: "tgi-8080", 51: "tgi-8080.tp0", 52: "tgi-8080.tp1", 53: "tgi-8080.router"}),
        (LLAMA_CPP, {60: "llama-cpp-8080"}),
        (LMDEPLOY_0180, {70: "lmdeploy-23333"}),
        (OLLAMA, {80: "ollama-11500", 81: "ollama-11500.worker", 82: "ollama-11500.worker.2"}),
    ],
)
def test_the_processes_of_each_engine_are_named_by_server_and_rank(tree: Tree, names: Mapping[int, str]) -> None:
    assert names_of(tree) == names


def test_servers_of_several_engines_are_told_apart_in_one_look_at_a_host() -> None:
    found = servers((*SGLANG_046, *VLLM_0330, *TGI_3, started(1, 0, "/sbin/init")))
    assert [(server.name, server.pid, len(server.parts)) for server in found] == [
        ("sglang-30000", 10, 3),
        ("tgi-8080", 50, 3),
        ("vllm-8000", 20, 8),
    ]


def test_every_process_that_an_engine_tells_is_likely_by_the_name_that_the_kernel_keeps() -> None:
    trees = (SGLANG_046, SGLANG_0523, VLLM_0330, TENSORRT_LLM_12, TRITON, TGI_3, LLAMA_CPP, LMDEPLOY_0180, OLLAMA)
    for tree in trees:
        assert [comm(one) for one in tree if one.pid in names_of(tree) and not LIKELY.match(comm(one))] == []
    assert not any(LIKELY.match(name) for name in ("bash", "systemd", "nginx", "kworker/0:1", "dockerd"))


def test_two_servers_on_one_port_in_networks_of_their_own_are_numbered() -> None:
    second = tuple(one._replace(pid=one.pid + 100, parent=one.parent + 100) for one in SGLANG_046)
    assert [server.name for server in servers((*SGLANG_046, *second))] == ["sglang-30000", "sglang-30000-2"]


def test_servers_that_a_router_started_are_servers_of_their_own() -> None:
    tree = (
        started(10, 1, PYTHON, "-m", "sglang_router.launch_router", "--port", "30000"),
        started(11, 10, PYTHON, "-m", "sglang.launch_server", "--port", "31001"),
        titled(12, 11, "sglang::scheduler_TP0"),
    )
    assert names_of(tree) == {10: "sglang-30000", 11: "sglang-31001", 12: "sglang-31001.tp0"}


def test_a_launcher_below_one_on_another_port_is_a_server_of_its_own() -> None:
    tree = (
        started(10, 1, "llama-server", "--models-dir", "/models"),
        started(11, 10, "llama-server", "-m", "/models/a.gguf", "--port", "40123"),
    )
    assert names_of(tree) == {10: "llama-cpp-8080", 11: "llama-cpp-40123"}


def test_the_llama_server_below_ollama_is_ollamas_worker() -> None:
    tree = (started(80, 1, "ollama", "serve"), started(81, 80, "/usr/lib/ollama/llama-server", "--port", "40000"))
    assert names_of(tree) == {80: "ollama-11434", 81: "ollama-11434.worker"}


def test_a_scheduler_whose_launcher_is_gone_belongs_to_no_server() -> None:
    assert servers([titled(12, 1, "sglang::scheduler_TP0")]) == ()


def test_schedulers_that_are_all_titled_alike_are_not_all_the_first_rank() -> None:
    tree = (SGLANG_046[0], titled(12, 10, "sglang::scheduler"), titled(13, 10, "sglang::scheduler"))
    assert names_of(tree) == {10: "sglang-30000", 12: "sglang-30000.scheduler", 13: "sglang-30000.scheduler.2"}
    assert names_of(tree[:2])[12] == "sglang-30000.tp0"


def test_a_rank_of_mpi_between_two_servers_belongs_to_neither() -> None:
    second = tuple(one._replace(pid=one.pid + 100, parent=one.parent + 100) for one in TENSORRT_LLM_12_LAUNCHED)
    lost = started(300, 1, "python3", "-m", "tensorrt_llm.llmapi.mgmn_worker_node", OMPI_COMM_WORLD_RANK="1")
    tree = (started(1, 0, "/sbin/init"), *TENSORRT_LLM_12_LAUNCHED, second[0]._replace(parent=1), *second[1:], lost)
    assert [list(server.parts) for server in servers(tree)] == [[39, 47], [139, 147]]


def test_a_wrapper_is_not_the_server_that_it_starts() -> None:
    tree = (started(9, 1, "bash", "-c", "vllm serve /m"), *(one._replace(parent=9) for one in VLLM_085[:1]))
    assert names_of(tree) == {20: "vllm-8001"}


def test_a_cycle_of_parents_that_pids_used_again_make_is_no_endless_one() -> None:
    tree = (titled(12, 13, "sglang::scheduler_TP0"), titled(13, 12, "sglang::detokenizer"))
    assert servers(tree) == ()


@pytest.mark.parametrize(
    ("argv", "env", "port"),
    [
        (("vllm", "serve", "/m", "--port", "9000"), {}, 9000),
        (("vllm", "serve", "/m", "--port=9000"), {}, 9000),
        (("vllm", "serve", "--port", "9000", "/m"), {}, 9000),
        (("vllm", "serve", "/m", "--config", "/c.yaml"), {}, None),
        (("vllm", "serve", "/m", "--port", "$PORT"), {}, None),
        (("text-generation-launcher",), {"PORT": "80"}, 80),
        (("text-generation-launcher", "-p", "81"), {"PORT": "80"}, 81),
        (("llama-server",), {"LLAMA_ARG_PORT": "8090"}, 8090),
        ((PYTHON, "-m", "llama_cpp.server"), {}, 8000),
        (("ollama", "serve"), {"OLLAMA_HOST": "0.0.0.0"}, 11434),
        (("ollama", "serve"), {"OLLAMA_HOST": "http://127.0.0.1:5000"}, 5000),
    ],
)
def test_the_port_is_the_flags_else_the_variables_else_the_engines_own(
    argv: tuple[str, ...], env: Mapping[str, str], port: int | None
) -> None:
    part = part_of(argv, env)
    assert part is not None
    assert part.port == port


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (("prod::Worker_TP5",), Part("vllm", "worker", (("tp", 5),))),
        (("ray::RayWorkerWrapper.execute_method",), Part("vllm", "worker")),
        (("ray::Worker",), None),
        (
            (PYTHON, "-X", "dev", "-m", "vllm.entrypoints.openai.api_server"),
            Part("vllm", "launcher", port=8000),
        ),
        ((PYTHON, "-Wignore", "-usmvllm.entrypoints.openai.api_server"), Part("vllm", "launcher", port=8000)),
        ((PYTHON, "/src/vllm/entrypoints/openai/api_server.py"), Part("vllm", "launcher", port=8000)),
        ((PYTHON, "-O", "python/sglang/launch_server.py", "--port", "1"), Part("sglang", "launcher", port=1)),
        ((PYTHON, "launch_server.py"), None),
        ((PYTHON, "train.py", "--serve", "vllm", "serve"), None),
        ((PYTHON, Redacted("k", "d")), None),
        (SPAWNED, None),
        ((), None),
        (("llama-bench", "-m", "/m.gguf"), None),
        (("lmdeploy", "serve", "proxy", "--server-port", "8000"), Part("lmdeploy", "router", port=8000)),
        (("trtllm-serve", "disaggregated", "-c", "x"), Part("tensorrt-llm", "router", port=8000)),
    ],
)
def test_a_process_by_itself_is_told_by_title_program_and_environment(
    argv: tuple[str | Redacted, ...], part: Part | None
) -> None:
    assert part_of(argv, {}) == part


def test_the_words_behind_a_script_or_module_are_its_own() -> None:
    assert program_of((PYTHON, "-W", "ignore", "/opt/venv/bin/vllm", "serve")) == ("vllm", ("serve",))
    assert program_of((PYTHON, "-m", "a.b", "-x")) == ("a.b", ("-x",))
    assert program_of((PYTHON,)) == ("", ())
    assert program_of(()) == ("", ())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sglang-30000", Named("sglang-30000", "sglang", 30000, "")),
        ("sglang-30000.dp0.tp3", Named("sglang-30000", "sglang", 30000, "dp0.tp3")),
        ("sglang-30000-2.tp3", Named("sglang-30000-2", "sglang", 30000, "tp3")),
        ("llama-cpp-8080", Named("llama-cpp-8080", "llama-cpp", 8080, "")),
        ("tensorrt-llm.rank0", Named("tensorrt-llm", "tensorrt-llm", None, "rank0")),
        ("main", None),
        ("main.vllm.1", None),
        ("vllmish-1", None),
        ("", None),
    ],
)
def test_the_name_of_a_target_tells_its_server_and_its_part(name: str, told: Named | None) -> None:
    assert engine_of(name) == told


def test_every_name_that_is_given_is_understood() -> None:
    for tree in (SGLANG_046, SGLANG_0523, VLLM_085):
        given = names_of(tree)
        assert given
        assert all(engine_of(name) for name in given.values())
