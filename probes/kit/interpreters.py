"""How the command lines of interpreters are built: which argument is the script."""

from collections.abc import Sequence
from typing import NamedTuple

from probes.kit.facts import Redacted
from probes.kit.lazy import lazy_regex


class Syntax(NamedTuple):
    """Short options are letters: `stops` bring code or a module instead of a script, `takes` consume
    the next argument when nothing is attached, `attached` swallow the rest of their word. Long ones are words."""

    stops: str
    takes: str
    attached: str = ""
    long_stops: frozenset[str] = frozenset()
    long_takes: frozenset[str] = frozenset()


# From the manual pages: python(1), dash(1), bash(1), perlrun(1), ruby(1), node(1).
_SYNTAX = {
    "python": Syntax("cm", "WX", long_takes=frozenset({"--check-hash-based-pycs"})),
    "sh": Syntax("cs", "oO", long_takes=frozenset({"--rcfile", "--init-file"})),
    "perl": Syntax("eE", "I", "0CdDiFlmMVx"),
    "ruby": Syntax("e", "IrCEX", "0KTWxi"),
    "node": Syntax(
        "epi", "rC", long_stops=frozenset({"--eval", "--print", "--interactive", "--test"}),
        long_takes=frozenset({"--require", "--import", "--loader", "--experimental-loader", "--conditions"}),
    ),
}  # fmt: skip
_FAMILY = lazy_regex(
    r"(?:(?P<python>python|pypy)|(?P<sh>sh|bash|dash|ash|zsh|ksh)|(?P<perl>perl)|(?P<ruby>ruby)|(?P<node>node(?:js)?))"
    r"(?P<version>[\d.]*)t?$"
)


class Named(NamedTuple):
    """What an interpreter's file name tells: `python3.11` is of the family python and of version 3.11."""

    family: str
    version: str


def named(executable: str) -> Named | None:
    """None for a program that is no known interpreter."""
    match = _FAMILY.match(executable.rpartition("/")[2])
    family = match and next(name for name in _SYNTAX if match[name])
    return Named(family, match["version"]) if match and family else None


def script_at(family: str, argv: Sequence[str | Redacted]) -> int | None:
    """The index of the script in `argv`. None where the code is a module, an argument or the standard input."""
    syntax, at = _SYNTAX[family], 1
    while at < len(argv):
        word = argv[at]
        if isinstance(word, Redacted) or word == "-":
            return None
        if word == "--":
            return at + 1 if at + 1 < len(argv) else None
        if word[:1] not in ("-", "+"):
            return at
        consumed = _words_of_option(syntax, word)
        if not consumed:
            return None
        at += consumed
    return None


def _words_of_option(syntax: Syntax, word: str) -> int:
    """How many words the option takes, itself included; 0 where no script follows."""
    if word.startswith("--"):
        return 0 if word.partition("=")[0] in syntax.long_stops else 1 + (word in syntax.long_takes)
    for place, letter in enumerate(word[1:], start=2):
        if letter in syntax.stops:
            return 0
        if letter in syntax.takes:
            return 2 if place == len(word) else 1
        if letter in syntax.attached:
            return 1
    return 1


class Module(NamedTuple):
    """What `-m` names, and the index of the first word that is the module's own."""

    name: str
    end: int


def module_of(argv: Sequence[str | Redacted]) -> str | None:
    """The name behind Python's `-m`, or None."""
    module = module_in(argv)
    return None if module is None else module.name


def module_in(argv: Sequence[str | Redacted]) -> Module | None:
    """None where Python runs no module, or its name was redacted."""
    syntax, at = _SYNTAX["python"], 1
    while at < len(argv):
        word = argv[at]
        if isinstance(word, Redacted) or word[:1] != "-" or word in ("-", "--"):
            return None
        consumed = _words_of_option(syntax, word)
        if not consumed:
            return _module(argv, at, word)
        at += consumed
    return None


def _module(argv: Sequence[str | Redacted], at: int, word: str) -> Module | None:
    """word: at `at`, an option behind which no script follows: it has an `m`, or a `c` before that."""
    before, m, attached = word.partition("m")
    if not m or "c" in before:
        return None
    name = attached or (argv[at + 1] if at + 1 < len(argv) else "")
    return Module(name, at + 1 + (not attached)) if isinstance(name, str) and name else None
