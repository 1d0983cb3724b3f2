"""One pass over a log: what was said, how often, and where first, however the log comes in pieces."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.said.heard import Heard
from fingerprint.said.scan import LONGEST, heard

LINES = (
    b"INFO: ready\n",
    b"\n",
    b"OSError: [Errno 24] Too many open files\n",
    b"accept: Too many open files in system\r\n",
    b"RuntimeError: CUDA error: out of memory\n",
    b"[rank0] Custom allreduce is disabled because your platform lacks GPU P2P capability\n",
    b"worker workers are out of shared memory. No space left on device: '/dev/shm/a'\n",
    b"No space left on device",
    b"\xff\x00 version device Using yTorch\n",
)
CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent")) / "raw/server-log"


@given(st.lists(st.sampled_from(LINES)), st.lists(st.integers(0, 400)))
def test_however_a_log_is_cut_the_same_is_heard(lines: list[bytes], cuts: list[int]) -> None:
    log = b"".join(lines)
    ends = sorted({min(cut, len(log)) for cut in (0, *cuts, len(log))})
    assert heard([log[a:b] for a, b in pairwise(ends)]) == heard([log])


def test_each_line_counts_once_and_the_first_is_told() -> None:
    log = b"ready\nToo many open files: Too many open files\nready\nOSError: Too many open files\n"
    assert heard([log]) == {"open-files": Heard(lines=2, first=2)}


def test_a_line_may_say_several_things_and_a_message_may_be_told_from_one_that_holds_it() -> None:
    assert list(heard([LINES[6]])) == ["worker-shared-memory", "shared-memory-full"]
    assert list(heard([LINES[3]])) == ["open-files-of-the-host"]
    assert list(heard([LINES[7]])) == ["no-space-left"]


def test_of_a_line_without_end_only_the_beginning_is_held_and_the_next_line_is_heard() -> None:
    parts = [b"Too many open files ", *[b"." * LONGEST] * 4, b"failed to mlock", b"\ninvalid device ordinal"]
    assert heard(parts) == {"open-files": Heard(1, 1), "cuda-invalid-ordinal": Heard(1, 2)}
    assert heard(parts) == heard([b"".join(parts)])


def test_nothing_is_heard_in_nothing() -> None:
    assert heard([]) == heard([b""]) == {}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="FINGERPRINT_CORPUS names no folder with raw/server-log")
def test_of_real_logs_it_hears_what_a_reader_finds_and_nothing_else() -> None:
    """Read by eye, each of these lines: what programs print otherwise holds none of the messages."""
    found = {file.stem: list(told) for file in sorted(CORPUS.glob("*.log")) if (told := heard([file.read_bytes()]))}
    assert found == {
        "llama_server_apollo": ["cuda-launch-failure"],
        "vllm_0.11.0_l4": ["sampling-without-flashinfer"],
        "vllm_production_stack": ["sampling-without-flashinfer"],
        "vx_sglang_2384_sglang": ["kernel-too-large"],
        "vx_sglang_4062_sglang": ["all-reduce-over-pcie"],
        "vx_sglang_4127_sglang": ["all-reduce-over-pcie"],
        "vx_sglang_5576_sglang": ["symbol-missing", "gpu-memory-full"],
        "vx_sglang_6753_1_sglang": ["register-gpu-memory-failed"],
        "vx_sglang_6933_sglang": ["gpu-memory-full"],
        "vx_vllm_10478_vllm": ["without-graphs"],
        "vx_vllm_16692_vllm": ["all-reduce-ranks", "blocks-untuned", "experts-untuned"],
        "vx_vllm_6768_1_vllm": ["without-flash-attention"],
        "vx_vllm_8881_vllm": ["threads-reduced"],
    }
