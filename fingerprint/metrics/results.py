"""Result files that a command's own arguments name. Imports nothing heavy: each run asks."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

FORMATS = ("pyperf", "hyperfine", "google-benchmark", "pytest-benchmark")
_PYPERF, _HYPERFINE, _GOOGLE, _PYTEST = FORMATS
# Options of one client alone.
_OPTIONS = {
    "--export-json": _HYPERFINE,
    "--benchmark_out": _GOOGLE,
    "--benchmark-json": _PYTEST,
}
# pyperf's options are those of a hundred programs, and the program is the user's own script.
_GUESSED = {"-o": _PYPERF, "--output": _PYPERF, "--append": _PYPERF}
KNOWN = "pyperf -o, --output and --append; hyperfine --export-json; --benchmark_out=; pytest --benchmark-json"


class Candidate(NamedTuple):
    """client: whose option it is. guessed: it may be an option of any other program, and the file anything."""

    file: str
    client: str
    guessed: bool = False


def result_files(argv: Sequence[str]) -> tuple[Candidate, ...]:
    """In the order of the arguments, each file once. Those of a shell's text (`sh -c`) are not seen."""
    found = {candidate.file: candidate for candidate in _candidates(argv) if candidate.file not in ("", "-")}
    return tuple(found.values())


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
