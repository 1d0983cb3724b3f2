"""Which numbers are of serving: by their names, by what ran, and where nobody knows that, by what they count."""

import pytest

from fingerprint.explain.serving import is_of_serving
from fingerprint.runs.record import Attached
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_programs import BENCH, CAFFE, PYTHON, TORCHRUN, VLLM, ran

GENAI_PERF, TGI = "/opt/venv/bin/genai-perf", "/opt/venv/bin/text-generation-server"


def of_serving(name: str, unit: str, *tasks: Process, attached: tuple[Attached, ...] = ()) -> bool:
    last = tasks[-1] if tasks else None
    sides = [subject("A", None, tasks[0] if tasks else None), subject("B", None, last, attached=attached)]
    return is_of_serving(name, sides, unit)


@pytest.mark.parametrize(
    "task",
    [
        ran(VLLM, "serve m"),
        ran(BENCH, compiled=True),
        ran("/home/u/bench_serving.py"),
        ran("/usr/bin/docker", "run -p 8000:8000 lmsysorg/lmdeploy", compiled=True),
        ran("/usr/bin/ssh", "host ./bench.sh", compiled=True),
        ran("/usr/bin/bash", "run.sh", compiled=True),
    ],
)
def test_what_serves_or_asks_is_known_and_what_was_started_where_nobody_looked_may(task: Process) -> None:
    assert of_serving("step_ms", "ms", task)


@pytest.mark.parametrize(
    "task", [ran("/home/u/train.py"), ran("/home/u/bench.py"), ran(GENAI_PERF, "profile"), ran(CAFFE, compiled=True)]
)
def test_what_nobody_knows_has_no_clients_unless_its_number_tells_of_them(task: Process) -> None:
    assert not of_serving("step_ms", "ms", task)
    assert of_serving("ttft_ms", "ms", task)


@pytest.mark.parametrize(
    ("name", "unit"), [("total_throughput", "tok/s"), ("x", "tokens/s"), ("tokens_per_second", "")]
)
@pytest.mark.parametrize("path", [GENAI_PERF, TGI, "/home/u/bench.py", "/home/u/constraint.py"])
def test_tokens_a_second_are_those_of_a_server_or_of_its_client(path: str, name: str, unit: str) -> None:
    assert of_serving(name, unit, ran(path))
    assert not of_serving("throughput", "GB/s", ran(path))


@pytest.mark.parametrize(
    "task",
    [
        ran("/home/u/train.py"),
        ran("/home/u/pretrain_gpt.py"),
        ran("/opt/llm.c/train_gpt2cu", compiled=True),
        ran("/home/u/finetune.py"),
        ran("/home/u/fine-tuning.py"),
        ran(PYTHON, "-m trainer.main"),
        ran(TORCHRUN, "--nproc-per-node 8 main.py"),
        ran("/opt/venv/bin/accelerate", "launch main.py"),
        ran("/opt/venv/bin/tune", "run lora"),
    ],
)
def test_unless_it_trains(task: Process) -> None:
    assert not of_serving("total_throughput", "tok/s", task)
    launched = ran("/usr/bin/mpirun", "-np 8", compiled=True)
    assert of_serving("total_throughput", "tok/s", launched)
    assert not of_serving("total_throughput", "tok/s", launched, task)


def test_a_test_between_gpus_is_known_wherever_it_was_started() -> None:
    launched, test = ran("/usr/bin/mpirun", "-np 8", compiled=True), ran("/usr/bin/all_reduce_perf", compiled=True)
    assert not of_serving("step_ms", "ms", test)
    assert not of_serving("step_ms", "ms", launched, test)
    assert of_serving("step_ms", "ms", launched)
    assert not of_serving("busbw", "GB/s", launched)


def test_of_what_nobody_read_anything_may_be() -> None:
    assert of_serving("step_ms", "ms")
    assert not of_serving("busbw", "GB/s")
    assert not of_serving("step_ms", "ms", ran("/opt/tool", compiled=True))


def test_a_server_that_somebody_else_started_serves() -> None:
    attached = (Attached(target="vllm-8000", pid=7, started=1, port=8000),)
    assert of_serving("step_ms", "ms", ran("/home/u/main.py"), attached=attached)
    assert not of_serving("step_ms", "ms", ran("/home/u/main.py"))
