"""From an executable and its arguments to program, interpreter, flags and operands."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from probes.kit.answering import unanswered
from probes.kit.configured import configured
from probes.kit.facts import Gap, Map, Redacted, Seen, no_answer, seen_or, then
from probes.kit.filepaths import absolute, is_file
from probes.kit.flags import flags
from probes.kit.host import Host
from probes.kit.interpreters import Named, module_of, named, script_at
from probes.kit.pythons import environment, path_folders, version
from probes.process.sections import Interpreter, Program, Text

_COMPILED = Gap("absent", "the program is the executable itself")


class Started(NamedTuple):
    """What a program's identity is derived from.

    executable  resolved path
    file        where the executable's bytes are read, e.g. /proc/PID/exe
    search      PATH of its environment; imports: PYTHONPATH
    called      argv[0], of an ancestor where a title stands in its place
    files       the host as the process sees its files
    began       when it was, in ns since 1970; None where that is yet to come
    """

    executable: Seen[str]
    file: str
    argv: Seen[tuple[Text, ...]]
    cwd: Seen[str]
    called: Seen[Text]
    files: Host
    search: str = ""
    imports: Seen[str] = ""
    began: Callable[[], Seen[int]] | None = None


class Described(NamedTuple):
    program: Program
    interpreter: Interpreter
    argv0: Seen[Text]
    flags: Seen[Map[Seen[tuple[Text, ...]]]]
    operands: Seen[tuple[Text, ...]]
    configured: Seen[tuple[str, ...]]


def described(host: Host, started: Started) -> Described:
    executable, argv = started.executable, started.argv
    known = None if isinstance(executable, Gap) else named(executable)
    if isinstance(executable, Gap) or known is None:
        program = Program(path=executable, sha256=_executables_digest(host, started))
        none = executable if isinstance(executable, Gap) else _COMPILED
        interpreter = Interpreter(environment=none, path=none, sha256=none, version=none, options=none)
        own = then(argv, _own_words if isinstance(executable, Gap) else lambda words: words[1:])
        return Described(program, interpreter, then(argv, first), *_line(started, own))
    if isinstance(argv, Gap):
        program = Program(path=argv, sha256=argv)
        return Described(program, _interpreter(host, started, known, argv), argv, *_line(started, argv))
    at = script_at(known.family, argv)
    options = () if at is None else tuple(argv[1:at])
    script = _script(started, argv, at)
    program = Program(path=script, sha256=then(script, started.files.sha256))
    line = _line(started, argv[1:] if at is None else argv[at + 1 :])
    return Described(program, _interpreter(host, started, known, options), then(argv, first), *line)


class _Line(NamedTuple):
    flags: Seen[Map[Seen[tuple[Text, ...]]]]
    operands: Seen[tuple[Text, ...]]
    configured: Seen[tuple[str, ...]]


def _line(started: Started, words: Seen[tuple[Text, ...]]) -> _Line:
    """The flags with those of the file that they name."""
    if isinstance(words, Gap):
        return _Line(words, words, words)
    line = flags(words)
    file = then(started.argv, lambda argv: configured(started.files, argv, started.cwd, started.began))
    if isinstance(file, Gap):
        return _Line(*line, file)
    given = line.flags.items
    return _Line(Map(file.under(given)), line.operands, tuple(sorted(file.flags.keys() - given.keys())))


def _own_words(argv: tuple[Text, ...]) -> tuple[Text, ...]:
    """Of a program whose file may not be told: an interpreter by the name it was called by, so that the words are the
    same as to one who may."""
    called = first(argv)
    known = None if isinstance(called, Redacted) else named(called)
    return argv[1 + (script_at(known.family, argv) or 0 if known else 0) :]


def first(argv: tuple[Text, ...]) -> Text:
    return argv[0] if argv else ""


def _script(started: Started, argv: Sequence[Text], at: int | None) -> Seen[str]:
    if at is None:
        return _module(started, argv)
    word = argv[at]
    if isinstance(word, Redacted):
        return Gap("not_observable", "the script's name looks like a secret and was redacted")
    path = word if word.startswith("/") else then(started.cwd, lambda cwd: absolute(word, cwd))
    return then(path, lambda there: _seen_file(started.files, there))


def _seen_file(files: Host, path: str) -> Seen[str]:
    """The path itself, unless it is relative to a folder that the process has left since; of a folder that Python was
    given, the file in it that it runs."""
    info = files.stat(path)
    if is_file(files, f"{path}/__main__.py"):
        return f"{path}/__main__.py"
    if is_file(files, path) or (isinstance(info, Gap) and info.code != "absent"):
        return path
    return Gap("not_observable", f"no file {path}: the process has left the folder that its argument is relative to")


def _module(started: Started, argv: Sequence[Text]) -> Seen[str]:
    module = module_of(argv)
    if module is None and len(argv) == 1 and isinstance(argv[0], str) and named(argv[0]) is None:
        return Gap("not_observable", "a title stands over its arguments")
    if module is None:
        return Gap("absent", "no script: the code stands in the arguments or came by standard input")
    place = module.replace(".", "/")
    for folder in _import_folders(started):
        if isinstance(folder, Gap):
            return folder
        for tail in (f"{place}/__main__.py", f"{place}.py"):
            if silent := no_answer(started.files.stat(f"{folder}/{tail}")):
                return silent
            if is_file(started.files, f"{folder}/{tail}"):
                return f"{folder}/{tail}"
    return Gap("not_observable", f"module {module} lies in none of the folders that can be told from outside")


def _import_folders(started: Started) -> Iterator[Seen[str]]:
    """The first entries of sys.path: the working directory, PYTHONPATH, the environment's site-packages. A gap stands
    for those that are not told."""
    if not isinstance(started.cwd, Gap):
        yield started.cwd
    if isinstance(started.imports, Gap):
        yield started.imports
    else:
        yield from path_folders(started.imports, started.cwd)
    home = _environment(started)
    for name in () if isinstance(home, Gap) else seen_or(started.files.names(f"{home}/lib"), ()):
        if name.startswith("python3"):
            yield f"{home}/lib/{name}/site-packages"


def _executables_digest(host: Host, started: Started) -> Seen[str]:
    path = started.executable
    return then(path, lambda there: unanswered(started.files, there) or host.sha256(started.file))


def _interpreter(host: Host, started: Started, known: Named, options: Seen[tuple[Text, ...]]) -> Interpreter:
    python = known.family == "python"
    prefix = _environment(started) if python else Gap("absent", "only Python has environments")
    return Interpreter(
        environment=prefix,
        path=started.executable,
        sha256=_executables_digest(host, started),
        version=version(started.files, prefix, known),
        options=options,
    )


def _environment(started: Started) -> Seen[str]:
    if isinstance(started.called, Gap) or isinstance(started.executable, Gap):
        return started.called if isinstance(started.called, Gap) else started.executable
    return environment(started.files, started.executable, started.called, started.search, started.cwd)
