"""Which Python belongs to a command, and what of its environment a script is given."""

import os
from collections.abc import Iterator, Mapping, Sequence

from fingerprint.elsewhere import ELSEWHERE
from probes.kit.facts import Gap, Seen
from probes.kit.interpreters import named
from probes.kit.lazy import lazy_regex

WORDS = 12  # of a command: `numactl -N 0 -m 0 python serve.py`
_PASSED = lazy_regex(
    r"(CUDA|NVIDIA|HIP|HSA|ROCR|ROCM)_[A-Z_]+|GPU_DEVICE_ORDINAL|LD_LIBRARY_PATH|PATH|HOME|TMPDIR|VIRTUAL_ENV|CONDA_PREFIX"
)
_EXEC = lazy_regex(rb"'*exec'* +\"?([^\" ]+)")  # what pip writes where a #! line would be too long


def reduced(env: Mapping[str, str]) -> Mapping[str, str]:
    """Where libraries are and which GPUs are meant."""
    return {name: value for name, value in env.items() if _PASSED.fullmatch(name)}


def python_of(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Seen[str]:
    """The first word that is a Python; else what runs the script; else the one that a shell script would find."""
    program = os.path.basename(argv[0])
    if program in ELSEWHERE:
        return Gap("not_observable", f"{program} runs the command in an environment that is not this one")
    found = next(filter(None, (_found(word, env, cwd) for word in _candidates(argv, env, cwd))), None)
    return found or Gap("absent", "no Python belongs to the command")


def _candidates(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Iterator[str]:
    yield from filter(_is_python, argv[:WORDS])
    yield from filter(_is_python, _runs(_found(argv[0], env, cwd)))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if variable in env:
            yield f"{env[variable]}/bin/python"
    yield from ("python3", "python")


def _is_python(word: str) -> bool:
    known = named(word)
    return known is not None and known.family == "python"


def _runs(script: str | None) -> Sequence[str]:
    """The words of its first line, or of the second where that is a shell's; none of a binary."""
    if script is None:
        return ()
    try:
        with open(script, "rb") as file:
            first, second = file.readline(512), file.readline(512)
    except OSError:
        return ()
    if not first.startswith(b"#!"):
        return ()
    words = [os.fsdecode(word) for word in first[2:].split()]
    match = _EXEC.match(second)
    return [*words, *([os.fsdecode(match[1])] if match else [])]


def _found(word: str, env: Mapping[str, str], cwd: str) -> str | None:
    folders = [""] if "/" in word else os.get_exec_path(env)
    places = (os.path.join(cwd, folder, word) for folder in folders)
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)
