"""Records what a program measures, and the state of its host, from inside the program.

    with run("A") as r:
        r.metric("decode_ms", 11.2, unit="ms", better="lower")

The command `fingerprint` does the work, and may be installed anywhere else: it is what FINGERPRINT says, else what the
PATH has. While the run goes on nothing is started here and nothing is sent: metrics and notes are kept in a file
without a name, which forked processes share, and given to the command at the end.

Of what goes wrong the measured program hears nothing: it is told on standard error, each thing once, unless `strict`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple

if TYPE_CHECKING:
    import pytest

__all__ = ["NotRecorded", "Run", "log_to_mlflow", "log_to_wandb", "run"]
__version__ = "0.1.0"

COMMAND = "fingerprint"
_BETTER = ("", "lower", "higher", "unknown")
SECONDS = 120.0
"""So long a verb may take; a host whose files hang is read within the command's own budget."""


class NotRecorded(RuntimeError):
    """Why something is not recorded, in one sentence."""


def run(
    name: str | None = None,
    *,
    workload: dict[str, Any] | None = None,
    benchmark: str | None = None,
    vary: Iterable[str] = (),
    strict: bool = False,
) -> Run:
    """A run of this process, to be entered. name: using one again adds an attempt. workload: what is asked of the
    server. vary: globs of facts whose change is intended. strict: what is not recorded raises NotRecorded."""
    options = [*_option("--name", name), *_option("--benchmark", benchmark)]
    options += [word for glob in vary for word in ("--vary", glob)]
    return Run(options, strict=strict).workload(**(workload or {}))


def _option(flag: str, value: str | None) -> list[str]:
    return [] if value is None else [flag, value]


class Run:
    """id and label: none unless it is recorded."""

    def __init__(self, options: list[str], *, strict: bool = False, tell: Callable[[str], None] | None = None) -> None:
        self.id = ""
        self.label = ""
        self._options = options
        self._strict = strict
        self._tell = tell or _tell_once
        self._owner = 0
        self._spool = _Spool()

    def __enter__(self) -> Run:
        return self.begin()

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if error is not None:
            self._strict = False  # what the program raised is worth more
        self.end()

    def begin(self) -> Run:
        """As entering does, where no `with` can stand, as in the cells of a notebook; the program's end ends it."""
        import atexit

        if self._owner:
            self._trouble(f"{self.label or 'this run'} has begun already: make another with run()")
            return self
        self._owner = os.getpid()
        with self._troubles():
            self._spool.open()
            atexit.register(self.end)
            self.id, self.label = _begun(["--pid", str(self._owner), *self._options])
        return self

    def end(self) -> None:
        """Gives what was measured to the command. In a forked process, and when it is over, nothing."""
        import atexit

        if not self._spool.is_open or self._owner != os.getpid():
            return
        atexit.unregister(self.end)
        troubles: list[str] = []
        kept: list[dict[str, Any]] = []
        with _Troubles(troubles.append):
            kept = self._spool.close()
        for verb, given in _verbs(self.id, kept, troubles.append) if self.id else ():
            with _Troubles(troubles.append):
                _fingerprint(verb, given)
        for words in "\n".join(troubles).splitlines():  # once all is given that could be
            self._trouble(words)

    def metric(self, name: str, value: Any, *, unit: str = "", better: str = "", series: bool = False) -> None:
        """A number, or several in the order measured; said again of one name, it adds to them. unit, better: by the
        name unless given (`fingerprint metric --help`). series: readings of one course of work, not repeats of it."""
        with self._troubles():
            if better not in _BETTER:
                raise NotRecorded(f"{name} is not recorded: {better!r} is not one of 'lower', 'higher', 'unknown'")
            said = {"name": str(name), "values": _numbers(name, value), "unit": unit, "series": bool(series)}
            self._keep({"metric": {**said, "better": better or None}})

    def note(self, text: str) -> None:
        """A remark, which `fingerprint show` prints."""
        with self._troubles():
            self._keep({"note": str(text)})

    def workload(self, **facts: Any) -> Run:
        """What is asked of the server; said before the run begins, as it is of the run from its first moment on."""
        if facts and self._owner:
            self._trouble("the workload is not recorded: say it before the run begins, as run('A', workload={...})")
            return self
        for key, value in facts.items():
            self._options += ["--workload", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
        return self

    def report(self, form: str = "json") -> str:
        """What `fingerprint show` prints of it: json, html, markdown or text. Raises NotRecorded, strict or not."""
        if not self.id:
            raise NotRecorded("there is no report of a run that is not recorded")
        return _fingerprint(["show", self.id, "--format", form]).stdout

    def _keep(self, said: dict[str, Any]) -> None:
        if not self._spool.is_open:
            over = f"{self.label or 'the run'} is over" if self._owner else "the run has not begun: enter it first"
            what = said["metric"]["name"] if "metric" in said else said["note"]
            raise NotRecorded(f"{what!r} is not recorded: {over}")
        self._spool.write(said)

    def _troubles(self) -> _Troubles:
        return _Troubles(self._trouble)

    def _trouble(self, words: str) -> None:
        if self._strict:
            raise NotRecorded(words) from None
        self._tell(words)


class _Troubles:
    """What goes wrong within is told, or raised as NotRecorded."""

    def __init__(self, trouble: Callable[[str], None]) -> None:
        self._trouble = trouble

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._trouble(str(error) if isinstance(error, NotRecorded) else f"{type(error).__name__}: {error}")
        return True


class _Spool:
    """One JSON text a line, in a file that forked processes append to: a write of O_APPEND is not torn by another."""

    def __init__(self) -> None:
        self._file: Any = None

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def open(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115  # closed at the run's end

    def write(self, said: dict[str, Any]) -> None:
        import json

        self._file.write(json.dumps(said).encode() + b"\n")

    def close(self) -> list[dict[str, Any]]:
        """What was written, in order."""
        import json

        with self._file as file:
            file.seek(0)
            kept = [json.loads(line) for line in file.read().splitlines()]
        self._file = None
        return kept


def _numbers(name: str, value: Any) -> list[float]:
    """A tensor without dimensions has a method __iter__ that refuses."""
    several = hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0
    try:
        numbers = [float(one) for one in (value if several else [value])]
    except (TypeError, ValueError):
        raise NotRecorded(f"{name} is not recorded: {value!r} is no number") from None
    except OverflowError:
        raise NotRecorded(f"{name} is not recorded: it is larger than any measured value") from None
    if not numbers:
        raise NotRecorded(f"{name} is not recorded: it has no values")
    for at, number in enumerate(numbers):
        if number - number != 0:  # of nan and inf it is nan
            raise NotRecorded(f"{name}[{at}] is {number}, which is not a measured value: it is not recorded")
    return numbers


def _verbs(
    run_id: str, kept: list[dict[str, Any]], trouble: Callable[[str], None]
) -> Iterator[tuple[list[str], bytes]]:
    """The command's arguments and input: what ends the run, then each note and all metrics, as many as there are."""
    import json

    yield ["end", "--quiet", run_id], b""
    metrics: dict[str, dict[str, Any]] = {}
    for said in kept:
        if "note" in said:
            yield ["note", "--", run_id, said["note"]], b""
            continue
        metric = said["metric"]
        first = metrics.setdefault(metric["name"], {**metric, "values": []})
        if {**first, "values": 0} != {**metric, "values": 0}:
            trouble(f"{metric['name']} is given in two ways; its first unit, direction and kind are recorded")
        first["values"] += metric["values"]
    if metrics:
        lines = (json.dumps(metric).encode() + b"\n" for metric in metrics.values())
        yield ["metric", "--json", "-", run_id], b"".join(lines)


_told: set[str] = set()


def _tell_once(words: str) -> None:
    """A notebook's or a daemon's standard error may be gone."""
    if words in _told or sys.stderr is None:
        return
    _told.add(words)
    try:
        sys.stderr.write(f"fingerprint_client: {words}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


class _Said(NamedTuple):
    stdout: str
    stderr: str


def _begun(options: list[str]) -> tuple[str, str]:
    """The new run's id, and what a person calls it."""
    import json

    told = _fingerprint(["begin", "--format", "json", *options]).stdout
    try:
        begun = json.loads(told)
        return begun["id"], f"{begun['name']}#{begun['attempt']}"
    except (ValueError, LookupError, TypeError):
        raise NotRecorded(f"`{COMMAND} begin` of another version does not say which run it began: {told!r}") from None


def _fingerprint(words: list[str], given: bytes = b"") -> _Said:
    """Raises NotRecorded. By files, not pipes: who reads a pipe waits for whatever inherited it."""
    import subprocess
    import tempfile

    argv = [*_command(), *words]
    with tempfile.TemporaryFile() as in_, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        in_.write(given)
        in_.seek(0)
        try:
            status = subprocess.call(argv, stdin=in_, stdout=out, stderr=err, env=_environment(), timeout=SECONDS)
        except OSError as error:
            raise NotRecorded(f"nothing is recorded: {argv[0]} cannot be executed ({error.strerror})") from None
        except subprocess.TimeoutExpired:
            raise NotRecorded(f"`{COMMAND} {words[0]}` has not ended within {SECONDS:g} s") from None
        said = _Said(_read(out), _read(err))
    if status != 0:
        raise NotRecorded(said.stderr.strip() or f"`{COMMAND} {words[0]}` ended with status {status}")
    return said


def _read(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", "replace")
    return text


def _command() -> list[str]:
    """Raises NotRecorded."""
    import shlex
    import shutil

    words = shlex.split(os.environ.get("FINGERPRINT", "")) or [COMMAND]
    if shutil.which(words[0]) is None:
        raise NotRecorded(
            f"nothing is recorded: there is no command {words[0]}; install serving-fingerprint, in an environment of "
            "its own, and let FINGERPRINT say where (FINGERPRINT=/opt/fingerprint/bin/fingerprint)"
        )
    return words


def _environment() -> dict[str, str]:
    """The command's Python is its own: what steers that of the program stays away from it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


# Loggers: the report beside what an experiment tracker keeps.


def log_to_mlflow(run: Run) -> None:
    """Attaches the report, as JSON and HTML, to the active run of MLflow. Called before the run is over, it is told as
    one that goes on, without its metrics."""
    with run._troubles():
        import mlflow

        for form in ("json", "html"):
            mlflow.log_text(run.report(form), f"fingerprint/{run.label.replace('#', '-')}.{form}")
        mlflow.set_tag("fingerprint.run", run.id)


def log_to_wandb(run: Run) -> None:
    """As log_to_mlflow, to the active run of Weights & Biases."""
    with run._troubles():
        import wandb

        if wandb.run is None:
            raise NotRecorded("no run of Weights & Biases is active: call wandb.init() first")
        artifact = wandb.Artifact(f"fingerprint-{run.id}", type="fingerprint", metadata={"run": run.label})
        for form in ("json", "html"):
            with artifact.new_file(f"fingerprint.{form}", encoding="utf-8") as file:
                file.write(run.report(form))
        wandb.run.log_artifact(artifact)


# The pytest plugin: pytest finds these hooks by the entry point, or by `-p fingerprint_client`.

_SESSION = "pytest"
_MARK = "fingerprint(name): records how long the test took, as a metric called so (default: its node id)"
_KEPT = "fingerprint"
"""The property of a test under which a report carries a measure: with pytest-xdist from a worker to the session."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("fingerprint").addoption(
        "--fingerprint", nargs="?", const=_SESSION, metavar="NAME", help="Record this session as a run.  [NAME: pytest]"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    config.pluginmanager.register(_fixtures(), "fingerprint-fixtures")
    config.pluginmanager.register(_Session(_asked(config)), "fingerprint-session")


def _asked(config: pytest.Config) -> str | None:
    """The run's name; none where nothing is to be recorded. Raises UsageError for a path that was taken for it."""
    import pytest

    name: str | None = config.getoption("--fingerprint")
    if (
        name
        and name != _SESSION
        and os.path.exists(name)
        and f"--fingerprint={name}" not in config.invocation_params.args
    ):
        raise pytest.UsageError(f"--fingerprint took {name} for its NAME: write --fingerprint=NAME, or put it last")
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist: what it measures goes to whom started it
    return None if is_worker or config.getoption("collectonly") else name


class Measures:
    """What the fixture `fingerprint_run` gives to a test: its values go into the session's run."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def metric(self, name: str, value: Any, *, unit: str = "", better: str = "", series: bool = False) -> None:
        """As `Run.metric`; raises NotRecorded, and so fails the test, for what is no number."""
        self._properties.append((_KEPT, [name, _numbers(name, value), unit, better, series]))


def _fixtures() -> object:
    """Made late: pytest is there only where it runs."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def fingerprint_run(self, request: pytest.FixtureRequest) -> Measures:
            """Takes metrics of a test: fingerprint_run.metric(name, value, unit=...)."""
            return Measures(request.node.user_properties)

    return Fixtures()


class _Session:
    """name: none where nothing is to be recorded."""

    def __init__(self, name: str | None) -> None:
        self._recorded = name is not None
        self._troubles: list[str] = []
        self._run = Run(_option("--name", name), tell=self._troubles.append)
        self._began = 0.0

    def pytest_sessionstart(self) -> None:
        import time

        if self._recorded:
            self._run.begin()
            self._began = time.perf_counter()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("fingerprint")
        if mark:
            name = mark.args[0] if mark.args else mark.kwargs.get("name", item.nodeid)
            item.user_properties.append((_KEPT, [name]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Where the session is recorded, of each test once: all that it has is there after the call."""
        if not self._run.id or report.when != "call":
            return
        for key, measure in report.user_properties:
            if key == _KEPT:
                self._measured(report, *measure)  # type: ignore[misc]  # a list, as it was made above

    def _measured(self, report: pytest.TestReport, name: str, values: list[float] | None = None, *given: Any) -> None:
        """Without values: how long the test took, if it passed."""
        if values is not None:
            self._run.metric(name, values, **dict(zip(("unit", "better", "series"), given)))
        elif report.passed:
            self._run.metric(name, report.duration, unit="s", better="lower")

    def pytest_sessionfinish(self) -> None:
        import time

        if self._run.id:
            self._run.metric("session_s", time.perf_counter() - self._began, unit="s", better="lower")
        self._run.end()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for trouble in dict.fromkeys(self._troubles):
            terminalreporter.write_line(f"fingerprint: {trouble}")
        if self._run.id:
            terminalreporter.write_line(
                f"fingerprint: recorded {self._run.label} (see: fingerprint show {self._run.id})"
            )
