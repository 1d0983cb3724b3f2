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
# Clients of servers and engines, by what their arguments hold, and the options that name a result file of theirs.
_CLIENTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("sglang.bench_serving", "bench_serving.py"), ("--output-file",)),
    (("sglang.bench_one_batch", "bench_one_batch.py"), ("--result-filename",)),
    (("sglang.bench_one_batch_server", "bench_one_batch_server.py"), ("--result-filename",)),
    (("sglang.bench_offline_throughput", "bench_offline_throughput.py"), ("--result-filename",)),
    (("vllm bench serve", "benchmark_serving.py", "benchmark_serving"), ("--result-filename",)),
    (("vllm bench latency", "benchmark_latency.py"), ("--output-json",)),
    (("vllm bench throughput", "benchmark_throughput.py"), ("--output-json",)),
    (("guidellm",), ("--output-path", "--outputs")),
    (("trtllm-bench",), ("--report_json",)),
    (("genai-perf", "aiperf"), ()),
    (("llama-bench", "nvbandwidth"), ()),
    (
        tuple(
            f"{name}_perf"
            for name in (
                "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv", "gather",
                "scatter", "hypercube",
            )
        ),
        (),
    ),
)  # fmt: skip
_ARTIFACTS = ("--artifact-dir", "--output-artifact-dir")
_EXPORTS = ("profile_export_aiperf.json", "profile_export_genai_perf.json")
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
    options = _client(argv)
    if options is not None:
        own = list(_own(argv, options))
        named = [it for it in named if not it.guessed and it.file not in {one.file for one in own}] + own
        named = named or [Candidate(OUTPUT, "auto", guessed=True)]
    return tuple({candidate.file: candidate for candidate in named}.values())


def _client(argv: Sequence[str]) -> "tuple[str, ...] | None":
    """The options of the client that is started; None where it is none."""
    words = [word.rpartition("/")[2] for word in argv]
    text = f" {' '.join(words)} "
    return next((options for names, options in _CLIENTS if any(f" {name} " in text for name in names)), None)


def _own(argv: Sequence[str], options: Sequence[str]) -> Iterator[Candidate]:
    told = dict(_told(argv))
    folder = told.get("--result-dir", "")
    for option in options:
        if file := told.get(option):
            yield Candidate(os.path.join(folder, file), "auto")
    if artifacts := next((told[option] for option in _ARTIFACTS if told.get(option)), ""):
        yield from (Candidate(os.path.join(artifacts, name), "auto", guessed=True) for name in _exports(told))


def _exports(told: "dict[str, str]") -> Sequence[str]:
    """Their names follow from that of the profile, which is `profile_export.json` unless it is given."""
    profile = told.get("--profile-export-file") or told.get("--profile-export-prefix")
    if not profile:
        return _EXPORTS
    stem = profile.removesuffix(".json").removesuffix(".jsonl").removesuffix(".csv")
    return (f"{stem}_genai_perf.json", f"{stem}_aiperf.json", f"{stem}.json")


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
