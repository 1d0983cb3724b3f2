"""Variables of an engine that no line of the installed engine reads."""

import shutil
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map
from probes.libraries.sections import Engine, Libraries
from tests.probes.environments import NO_VARIABLES, Environment, read
from tests.waiting import until

ENVS = """\
environment_variables = {
    # formerly VLLM_OLD_NAME
    "VLLM_USE_V1": lambda: bool(int(os.getenv("VLLM_USE_V1", "1"))),
    "VLLM_ATTENTION_BACKEND": lambda: os.getenv("VLLM_ATTENTION_BACKEND"),
}
"""
ENVIRON = "class Envs:\n    SGLANG_ENABLE_JIT_DEEPGEMM = EnvBool(True)\n    SGLANG_LOG_MS = EnvBool(False)\n"


@pytest.fixture
def venv(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


def engine(told: Libraries, name: str) -> Engine:
    assert isinstance(told.engines, Map)
    return told.engines.items[name]


def of_vllm(venv: Environment, **variables: str) -> Engine:
    return engine(venv.read(env={**NO_VARIABLES, **variables}), "vllm")


def test_a_name_that_is_misspelt_is_told_beside_the_one_that_was_meant(venv: Environment) -> None:
    venv.install("vllm", "0.33.0", {"vllm/envs.py": ENVS})
    told = of_vllm(venv, VLLM_USE_V1="1", VLLM_ATTENTION_BACKND="FLASHINFER", VLLM_FOO="1", HOME="/", NVLLM_X="1")
    assert told.unknown == Map({"VLLM_ATTENTION_BACKND": "VLLM_ATTENTION_BACKEND", "VLLM_FOO": "none"})
    assert told.listed == 3


def test_what_a_start_script_gives_the_engine_is_asked_for_too(venv: Environment) -> None:
    venv.install("vllm", "0.33.0", {"vllm/envs.py": ENVS})
    code = (
        "import os, subprocess, sys, time; mine = {**os.environ, 'VLLM_USE_V2': '1'};"
        "engine = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE, env=mine);"
        "open(sys.argv[1], 'w'); time.sleep(60)"
    )
    started = venv.root / "started"
    with venv.running(words=("-c", code, str(started)), env={**NO_VARIABLES, "VLLM_FOO": "1"}) as pid:
        until(started.exists)
        assert engine(read(pid), "vllm").unknown == Map({"VLLM_FOO": "none", "VLLM_USE_V2": "VLLM_USE_V1"})


def test_what_another_file_of_the_package_or_a_plugin_reads_is_known(venv: Environment) -> None:
    venv.install("vllm", "0.33.0", {"vllm/envs.py": ENVS, "vllm/v1/ray.py": 'os.getenv("VLLM_HOST_PORT")'})
    venv.install("vllm_ascend", "0.33.0", {"vllm_ascend/envs.py": 'os.getenv("VLLM_ASCEND_TRACE")'})
    assert of_vllm(venv, VLLM_HOST_PORT="1", VLLM_ASCEND_TRACE="1").unknown == Map({})


def test_a_release_without_a_list_is_told_by_all_of_its_files(venv: Environment) -> None:
    venv.install("sglang", "0.4.6", {"sglang/srt/utils.py": 'os.getenv("SGLANG_HOST_IP")'})
    told = engine(venv.read(env={**NO_VARIABLES, "SGLANG_HOST_IP": "::1", "SGLANG_PORTS": "1"}), "sglang")
    assert told == Engine(listed=Gap("absent"), unknown=Map({"SGLANG_PORTS": "none"}))


def test_the_former_prefix_of_sglang_is_taken_for_the_present_one(venv: Environment) -> None:
    venv.install("sglang", "0.5.23", {"sglang/srt/environ.py": ENVIRON})
    told = engine(venv.read(env={**NO_VARIABLES, "SGL_ENABLE_JIT_DEEPGEMM": "0", "SGL_NONE_SUCH": "0"}), "sglang")
    assert told.unknown == Map({"SGL_NONE_SUCH": "none"})


def test_of_an_editable_tree_the_package_is_found_in_it(venv: Environment, tmp_path: Path) -> None:
    tree = tmp_path / "src"
    (tree / "python" / "sglang" / "srt").mkdir(parents=True)
    (tree / "python" / "sglang" / "srt" / "environ.py").write_text(ENVIRON)
    document = f'{{"url": "file://{tree}", "dir_info": {{"editable": true}}}}'
    info = venv.install("sglang", "0.5.23", direct_url_json=document)
    (venv.site / "sglang" / "__init__.py").unlink()
    (venv.site / "sglang").rmdir()
    assert info.is_dir()
    told = engine(venv.read(env={**NO_VARIABLES, "SGLANG_LOG_MSS": "1"}), "sglang")
    assert told == Engine(listed=2, unknown=Map({"SGLANG_LOG_MSS": "SGLANG_LOG_MS"}))


def test_a_package_that_only_a_finder_knows_is_found_where_it_says(venv: Environment, tmp_path: Path) -> None:
    (tmp_path / "lib/sglang/srt").mkdir(parents=True)
    (tmp_path / "lib/sglang/srt/environ.py").write_text(ENVIRON)
    venv.install("sglang", "0.5.23")
    shutil.rmtree(venv.site / "sglang")
    (venv.site / "__editable___sglang_finder.py").write_text(f"MAPPING = {{'sglang': '{tmp_path}/lib/sglang'}}\n")
    (venv.site / "__editable__.sglang.pth").write_text("import __editable___sglang_finder")
    told = engine(venv.read(env={**NO_VARIABLES, "SGLANG_LOG_MSS": "1"}), "sglang")
    assert told == Engine(listed=2, unknown=Map({"SGLANG_LOG_MSS": "SGLANG_LOG_MS"}))


def test_a_package_that_lies_nowhere_is_not_observable(venv: Environment) -> None:
    venv.install("lmdeploy", "0.18.0")
    (venv.site / "lmdeploy" / "__init__.py").unlink()
    (venv.site / "lmdeploy").rmdir()
    told = engine(venv.read(env={**NO_VARIABLES, "LMDEPLOY_LOGFILE": "secret"}), "lmdeploy")
    assert told == Engine(listed=Gap("absent"), unknown=Gap("not_observable"))


def test_an_environment_without_an_engine_has_none(venv: Environment) -> None:
    assert venv.read(env={**NO_VARIABLES, "VLLM_FOO": "1"}).engines == Map({})
