"""Whose Python is asked of GPUs: the command's own."""

import os
from pathlib import Path

import pytest

from fingerprint.canary.environment import python_of, reduced
from probes.kit.facts import Gap


@pytest.fixture
def bin_(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "python3": "", "python3.12": "", "env": "", "numactl": "",
        "sglang": f"#!{folder}/python3.12 -sE\nimport sglang\n",
        "short": "#!/usr/bin/env -S python3 -u\n",
        "long": f"#!/bin/sh\n'''exec' \"{folder}/python3.12\" \"$0\" \"$@\"\n' '''\n",
        "bench.sh": "#!/bin/sh\npython3 bench.py\n",
    }.items():  # fmt: skip
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("python3 serve.py", "python3"),
        ("numactl -N 0 -m 0 python3.12 -m sglang", "python3.12"),
        ("env CUDA_VISIBLE_DEVICES=0 python3 serve.py", "python3"),
        ("sglang serve", "python3.12"),
        ("short", "python3"),
        ("long", "python3.12"),
        ("bench.sh 4", "python3"),
        ("./bench.sh 4", "python3"),
        ("nowhere", "python3"),
    ],
)
def test_the_first_that_belongs_to_the_command_counts(bin_: Path, command: str, python: str) -> None:
    assert python_of(command.split(), {"PATH": str(bin_)}, str(bin_)) == f"{bin_}/{python}".replace("/./", "/")


def test_a_script_runs_in_the_environment_that_is_entered(bin_: Path, tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    os.link(bin_ / "python3", tmp_path / "venv/bin/python")
    env = {"PATH": str(bin_), "VIRTUAL_ENV": str(tmp_path / "venv")}
    assert python_of(["bench.sh"], env, "/") == str(tmp_path / "venv/bin/python")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("docker run --gpus all img python3 x.py", "docker runs the command in an environment that is not this one"),
        ("true", "no Python belongs to the command"),
    ],
)
def test_without_one_there_is_a_reason(tmp_path: Path, command: str, why: str) -> None:
    found = python_of(command.split(), {"PATH": str(tmp_path)}, "/")
    assert isinstance(found, Gap)
    assert found.detail == why


def test_the_script_sees_where_libraries_are_and_which_gpus_and_nothing_else() -> None:
    kept = {"PATH": "/bin", "LD_LIBRARY_PATH": "/lib", "CUDA_VISIBLE_DEVICES": "0", "NVIDIA_VISIBLE_DEVICES": "all"}
    assert reduced({**kept, "HF_TOKEN": "x", "LD_PRELOAD": "/x.so", "PYTHONPATH": "/x"}) == kept
