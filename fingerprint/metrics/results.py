"""Where a command's own arguments say that its results go. Imports nothing heavy: each run asks."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FORMATS = (
    "pyperf", "hyperfine", "google-benchmark", "pytest-benchmark", "sglang-bench-serving", "sglang-bench-one-batch",
    "sglang-bench-offline", "vllm-bench-serve", "vllm-bench-batch", "inferencex", "genai-perf", "aiperf", "guidellm",
    "llama-bench", "trtllm-bench", "nccl-tests", "nvbandwidth",
)  # fmt: skip
OUTPUT = "-"  # what the command prints
_PYPERF, _HYPERFINE, _GOOGLE, _PYTEST = FORMATS[:4]
# Options of one client alone.
_OPTIONS = {
    "--export-json": _HYPERFINE,
    "--benchmark_out": _GOOGLE,
    "--benchmark-json": _PYTEST,
}
# pyperf's options are those of a hundred programs, and the program is the user's own script.
_GUESSED = {"-o": _PYPERF, "--output": _PYPERF, "--append": _PYPERF}
_GUIDELLM = "--output-path"
# Clients of servers and engines by how they are called, and the option that names a result file of theirs.
_CLIENTS: tuple[tuple[str, str], ...] = (
    ("sglang.bench_serving", "--output-file"),
    ("sglang.benchmark.serving", "--output-file"),
    ("bench_serving.py", "--output-file"),
    *(
        (called, "--result-filename")
        for name in ("one_batch", "one_batch_server", "offline_throughput")
        for called in (f"sglang.bench_{name}", f"sglang.benchmark.{name}", f"bench_{name}.py")
    ),
    ("vllm bench serve", "--result-filename"),
    ("benchmark_serving.py", "--result-filename"),
    *(
        (called, "--output-json")
        for name in ("latency", "throughput")
        for called in (f"vllm bench {name}", f"benchmark_{name}.py")
    ),
    ("guidellm", _GUIDELLM),
    ("trtllm-bench", "--report_json"),
    *((name, "") for name in ("genai-perf", "aiperf", "llama-bench", "nvbandwidth")),
    *(
        (f"{name}_perf", "")
        for name in ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv",
                     "gather", "scatter", "hypercube")
    ),
)  # fmt: skip
_ARTIFACTS = ("--artifact-dir", "--output-artifact-dir")
_EXPORTS = ("profile_export_aiperf.json", "profile_export.jsonl", "profile_export_genai_perf.json")
KNOWN = (
    "pyperf -o, --output and --append; hyperfine --export-json; --benchmark_out=; pytest --benchmark-json; sglang's "
    "--output-file and --result-filename; vllm's --result-dir with --result-filename, --output-json; guidellm "
    "--output-path; trtllm-bench --report_json; --artifact-dir of genai-perf and aiperf"
)


class Candidate(NamedTuple):
    """client: whose option it is, `auto` where the content tells. guessed: it may be an option of any other program,
    and the file anything; of what a client prints, that it may have printed no result."""

    file: str
    client: str
    guessed: bool = False


def result_files(argv: Sequence[str]) -> tuple[Candidate, ...]:
    """In the order of the arguments, each file once. Those of a shell's text (`sh -c`) are not seen. A client that
    names no file is read by what it prints."""
    named = [it for it in _candidates(argv) if it.file not in ("", "-")]
    option = _client(argv)
    if option is not None:
        own = list(_own(argv, option))
        named = [it for it in named if not it.guessed and it.file not in {one.file for one in own}] + own
        named = named or [Candidate(OUTPUT, "auto", guessed=True)]
    return tuple({candidate.file: candidate for candidate in named}.values())


def _client(argv: Sequence[str]) -> str | None:
    """The option of the client that is started, empty where it has none; None where it is none."""
    text = f" {' '.join(word.rpartition('/')[2] for word in argv)} "
    return next((option for called, option in _CLIENTS if f" {called} " in text), None)


def _own(argv: Sequence[str], option: str) -> Iterator[Candidate]:
    told = dict(_told(argv))
    if option == _GUIDELLM:
        yield _of_guidellm(told)
    elif file := told.get(option):
        yield Candidate(os.path.join(told.get("--result-dir", ""), file), "auto")
    if artifacts := next((told[name] for name in _ARTIFACTS if told.get(name)), ""):
        yield from (Candidate(os.path.join(artifacts, name), "auto", guessed=True) for name in _exports(told))


def _of_guidellm(told: "dict[str, str]") -> Candidate:
    """A folder may be named, or `--output kind=json,path=FILE`; without any it is in the working directory."""
    file = told.get(_GUIDELLM) or told.get("--output-dir") or told.get("--output", "").partition("path=")[2]
    path = file if file.endswith(".json") else os.path.join(file, "benchmarks.json")
    return Candidate(path, "auto", guessed=not file)


def _exports(told: "dict[str, str]") -> Sequence[str]:
    """Their names follow from that of the profile, which is `profile_export.json` unless it is given."""
    profile = told.get("--profile-export-file") or told.get("--profile-export-prefix")
    if not profile:
        return _EXPORTS
    stem = profile.removesuffix(".json").removesuffix(".jsonl").removesuffix(".csv")
    return (f"{stem}_genai_perf.json", f"{stem}_aiperf.json", f"{stem}.json", f"{stem}.jsonl")


def _told(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word, behind in zip(argv, [*argv[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option.startswith("--"):
            yield option, value if equals else behind


def _candidates(argv: Sequence[str]) -> Iterator[Candidate]:
    is_json = "--benchmark_out_format" not in " ".join(argv) or "--benchmark_out_format=json" in argv
    for word, behind in zip(argv, [*argv[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option == "--benchmark_out":  # of this library's options the value never stands behind a blank
            if is_json:
                yield Candidate(value, _GOOGLE)
        elif option in _OPTIONS:
            yield Candidate(value if equals else behind, _OPTIONS[option])
        elif option in _GUESSED:
            yield Candidate(value if equals else behind, _GUESSED[option], guessed=True)
        elif word.startswith("-o") and not word.startswith("--"):
            yield Candidate(word[2:], _PYPERF, guessed=True)
