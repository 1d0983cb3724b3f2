"""Result files are found in the command's own arguments."""

import pytest

from fingerprint.metrics.results import Candidate, result_files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("python bench.py -o out.json --fast", ["out.json"]),
        ("python -m pyperf timeit --output=out.json pass", ["out.json"]),
        ("python -m pyperf timeit --append suite.json pass", ["suite.json"]),
        ("python -m pyperf timeit -oout.json pass", ["out.json"]),
        ("hyperfine --export-json a.json true", ["a.json"]),
        ("taskset -c 0 hyperfine --export-json=a.json true", ["a.json"]),
        ("./bm --benchmark_out=a.json", ["a.json"]),
        ("./bm --benchmark_out=a.json --benchmark_out_format=json", ["a.json"]),
        ("./bm --benchmark_out=a.csv --benchmark_out_format=csv", []),
        ("./bm --benchmark_out a.json", []),
        ("pytest --benchmark-json=a.json", ["a.json"]),
        ("python -m pytest --benchmark-json a.json tests", ["a.json"]),
        ("hyperfine --export-json - true", []),
        ("hyperfine --export-json", []),
        ("sleep 1", []),
        ("python -m sglang.bench_serving --backend sglang --output-file a.jsonl", ["a.jsonl"]),
        ("python3 -m sglang.bench_serving --backend sglang", ["-"]),
        ("python3 -m sglang.benchmark.serving --output-file a.jsonl", ["a.jsonl"]),
        ("python3 -m sglang.benchmark.one_batch_server --result-filename a.jsonl", ["a.jsonl"]),
        ("python -m sglang.bench_one_batch --result-filename=a.jsonl", ["a.jsonl"]),
        ("python -m sglang.bench_offline_throughput --num-prompts 10", ["-"]),
        ("vllm bench serve --save-result --result-dir out --result-filename a.json", ["out/a.json"]),
        ("/opt/bin/vllm bench serve --model m --save-result", ["-"]),
        ("python benchmarks/benchmark_serving.py --result-filename a.json", ["a.json"]),
        ("vllm bench latency --output-json a.json", ["a.json"]),
        ("vllm serve m", []),
        ("guidellm benchmark --target http://h --output-path a.json", ["a.json"]),
        ("guidellm benchmark --output-path out", ["out/benchmarks.json"]),
        ("guidellm run --output kind=json,path=a.json", ["a.json"]),
        ("guidellm benchmark --target http://h", ["benchmarks.json"]),
        ("trtllm-bench --model m throughput --report_json a.json", ["a.json"]),
        (
            "aiperf profile --artifact-dir d",
            [f"d/profile_export{end}" for end in ("_aiperf.json", ".jsonl", "_genai_perf.json")],
        ),
        (
            "genai-perf profile --artifact-dir d --profile-export-file p.json",
            ["d/p_genai_perf.json", "d/p_aiperf.json", "d/p.json", "d/p.jsonl"],
        ),
        ("genai-perf profile -m m", ["-"]),
        ("/opt/llama.cpp/llama-bench -m m.gguf -o json", ["-"]),
        ("mpirun -np 16 ./build/all_reduce_perf -b 8 -e 8G", ["-"]),
        ("nvbandwidth -j", ["-"]),
    ],
)
def test_known_options(command: str, files: list[str]) -> None:
    assert [candidate.file for candidate in result_files(command.split())] == files


def test_an_option_that_any_program_has_is_a_guess() -> None:
    assert [candidate.guessed for candidate in result_files("hyperfine -o x --export-json y".split())] == [True, False]


def test_what_a_client_prints_is_a_guess_and_the_file_that_it_names_is_none() -> None:
    assert result_files("llama-bench -o json".split()) == (Candidate("-", "auto", guessed=True),)
    assert result_files("vllm bench serve --result-filename a".split()) == (Candidate("a", "auto"),)
