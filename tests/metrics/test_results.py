"""Result files are found in the command's own arguments."""

import pytest

from fingerprint.metrics.results import result_files


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
    ],
)
def test_known_options(command: str, files: list[str]) -> None:
    assert [candidate.file for candidate in result_files(command.split())] == files


def test_an_option_that_any_program_has_is_a_guess() -> None:
    assert [candidate.guessed for candidate in result_files("hyperfine -o x --export-json y".split())] == [True, False]
