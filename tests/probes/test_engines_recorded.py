"""What engines as they were published say of variables, from recordings of their wheels.

Each holds the answers to what `probes.libraries.engines` asked about one wheel, unpacked and not imported: the names in
its list of variables, and which of the other names its files hold.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fingerprint.testing import Replay, load
from probes.kit.facts import Gap, Map, Seen
from probes.libraries.engines import engines
from probes.libraries.sections import Engine

FOLDER = Path(__file__).parent / "engines"
SITE = "/venv/lib/python3.12/site-packages"
VARIABLES = {
    "vllm": "HOME VLLM_ATTENTION_BACKEND VLLM_HOST_PORT VLLM_LOGGING_LEVEL VLLM_USE_V1",
    "sglang": "SGLANG_ENABLE_JIT_DEEPGEM SGLANG_HEALTH_CHECK_TIMEOUT SGLANG_SET_CPU_AFFINITY SGL_ENABLE_JIT_DEEPGEMM",
    "lmdeploy": "LMDEPLOY_LOGFILE LMDEPLOY_LOG_FILE LMDEPLOY_USE_MODELSCOPE",
}


def recorded(engine: str, version: str, *variables: str) -> Engine:
    host = Replay(load(str(FOLDER / f"{engine}-{version}")))
    names = variables or VARIABLES[engine].split()
    return engines(host, lambda: names, {SITE: (engine, f"{engine}-{version}.dist-info")}, {engine: None}).items[engine]


@pytest.mark.parametrize(
    ("engine", "version", "listed", "unknown"),
    [
        ("vllm", "0.8.5", 98, {}),
        # since then the engine has one core, and the backend is a flag
        ("vllm", "0.33.0", 306, {"VLLM_ATTENTION_BACKEND": "none", "VLLM_USE_V1": "none"}),
        ("sglang", "0.4.6", Gap("absent"), {"SGLANG_ENABLE_JIT_DEEPGEM": "none"}),
        ("sglang", "0.5.23", 765, {"SGLANG_ENABLE_JIT_DEEPGEM": "SGLANG_ENABLE_JIT_DEEPGEMM"}),
        ("lmdeploy", "0.18.0", 51, {"LMDEPLOY_LOGFILE": "LMDEPLOY_LOG_FILE"}),
    ],
)
def test_what_a_release_reads_no_more_and_what_is_misspelt(
    engine: str, version: str, listed: Seen[int], unknown: Mapping[str, str]
) -> None:
    assert recorded(engine, version) == Engine(listed=listed, unknown=Map(unknown))


def test_a_question_that_was_not_recorded_is_no_answer() -> None:
    told = recorded("vllm", "0.33.0", "VLLM_FOO")
    assert (told.listed, told.unknown) == (306, Gap("not_read"))


def test_every_recording_is_of_an_engine_that_is_known() -> None:
    assert {folder.name.rpartition("-")[0] for folder in FOLDER.iterdir()} == set(VARIABLES)
