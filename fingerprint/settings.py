"""Settings: files, then the environment, then flags; the later wins, key by key.

    /etc/fingerprint/config.toml, $XDG_CONFIG_HOME/fingerprint/config.toml    sampling.then_hz = 2
    environment                                                               FINGERPRINT_SAMPLING_THEN_HZ=2
    flags                                                                     of the verb

Each source is decoded strictly by itself, so that whoever is refused is named. pydantic is imported
only then, for the words.
"""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn

import msgspec

from fingerprint.folders import SYSTEM_CONFIG, config_folder
from fingerprint.trouble import Trouble
from probes.kit.nvml.options import Options

if TYPE_CHECKING:
    from fingerprint.refused import Complaint

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Hertz = Annotated[float, msgspec.Meta(gt=0, le=100)]
FILES = ("store", "redaction.key_file", "service.socket", "service.reader", "service.token_file")
NVML_WORDS = ("auto", "on", "off")
SWITCHES = {"true": True, "1": True, "false": False, "0": False, "": False}  # of a variable; a file has TOML's own
BESIDE_NVML_SECONDS = 1.0  # what a snapshot takes for all the rest, and more
LARGEST = 1 << 20  # bytes of a config.toml; a file of another kind, or without an end, must not stop a run
DEFAULT = "default"
_PREFIX = "FINGERPRINT_"
_NEAR = 0.85  # FINGERPRINT_API_KEY belongs to another product; only what is close to a name of ours is a slip


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class Sampling(Part, frozen=True):
    """How often a run is looked at, in samples per second."""

    first_minute_hz: Hertz = 5
    then_hz: Hertz = 1


class Redaction(Part, frozen=True):
    """key_file: a key shared with other hosts or users. allow: more variables whose values are kept in clear."""

    key_file: str = ""
    allow: tuple[str, ...] = ()


class Areas(Part, frozen=True):
    """skip: areas that are not read."""

    skip: tuple[str, ...] = ()


class Service(Part, frozen=True):
    """Of fingerprintd alone.

    socket, group: where the API listens, and who may connect beside root and the service's own user.
    reader: where the reader listens; where nothing does, the service starts one of its own.
    tcp: an address and port (127.0.0.1:9099) on which whoever has the token of token_file may ask, too; empty: none.
    An address that is not of this host itself needs behind_tls: that something in front of it encrypts.
    keep_days, keep_bytes: how long, and how much of it, what nobody gave a name is kept.
    """

    socket: str = "/run/fingerprint/api.sock"
    group: str = "fingerprint"
    reader: str = "/run/fingerprint-reader/reader.sock"
    tcp: str = ""
    token_file: str = ""
    behind_tls: bool = False
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 400
    keep_bytes: Annotated[int, msgspec.Meta(ge=1 << 20)] = 2_000_000_000


class Settings(Part, frozen=True):
    """store: the database's file, empty for the default. budget_s: seconds that a whole snapshot may take.

    deep: of an environment every file of every package is held against its RECORD, not only what runs of those that
    matter most (probes/libraries/watched.py).
    nvml: `auto`, `on`, `off` or a library's path; with nvml_budget_s, nvml_gpu_budget_s and nvml_lock it says how NVML
    is used (probes/kit/nvml/options.py).
    canary: fixed work before and after a command (docs/canary.md).
    """

    store: str = ""
    budget_s: Seconds = 5
    color: Literal["auto", "always", "never"] = "auto"
    deep: bool = False
    nvml: str = "auto"
    nvml_budget_s: Seconds = 3
    nvml_gpu_budget_s: Seconds = 1.5
    nvml_lock: str = ""
    canary: bool = False
    sampling: Sampling = Sampling()
    redaction: Redaction = Redaction()
    areas: Areas = Areas()
    service: Service = Service()

    def colored(self, environ: Mapping[str, str], *, terminal: bool) -> bool:
        """Whether text is coloured: https://no-color.org, which an explicit `always` overrides."""
        if self.color != "auto":
            return self.color == "always"
        return terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    @property
    def nvml_options(self) -> Options:
        """A snapshot that was given less time than usual gives NVML less of it."""
        budget_s = min(self.nvml_budget_s, max(self.budget_s - BESIDE_NVML_SECONDS, 0.8 * self.budget_s))
        return Options(
            library=os.path.expanduser(self.nvml),
            budget_s=budget_s,
            gpu_budget_s=min(self.nvml_gpu_budget_s, budget_s),
            lock=os.path.expanduser(self.nvml_lock),
        )


class SettingsError(Trouble):
    """One sentence: the file, variable or flag, the key, what was found and what is expected."""


class Value(NamedTuple):
    """One key as it stands, and where it came from."""

    key: str
    value: Any
    origin: str


class _Source(NamedTuple):
    """A file, a variable or a flag, and the nested tables that it gives."""

    name: str
    table: Mapping[str, Any]


def load(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force. flags: dotted key -> value, None where the flag was not given. Raises SettingsError."""
    return msgspec.convert(_nested({value.key: value.value for value in values(environ, flags)}), Settings)


def values(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> tuple[Value, ...]:
    """Every key in declared order, with its value in force and its origin. Raises SettingsError."""
    found = {key: Value(key, default, DEFAULT) for key, default in _flat(msgspec.to_builtins(Settings())).items()}
    for source in _sources(environ, flags or {}):
        _check(source)
        found.update({key: Value(key, value, source.name) for key, value in _flat(source.table).items()})
    _check_budgets(found)
    return tuple(found.values())


def _sources(environ: Mapping[str, str], flags: Mapping[str, Any]) -> Iterator[_Source]:
    for folder in (SYSTEM_CONFIG, config_folder(environ)):
        if folder is not None:
            yield _file(folder / "config.toml")
    yield from _variables(environ)
    for key, value in flags.items():
        if value is not None:
            yield _Source(f"--{key.rpartition('.')[2].replace('_', '-')}", _nested({key: value}))


def _file(path: Path) -> _Source:
    try:
        source = _Source(str(path), _toml(_content(path).decode()))
    except (FileNotFoundError, NotADirectoryError):
        return _Source(str(path), {})
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}): mend or remove it") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    _check_files(source)
    return source


def _content(path: Path) -> bytes:
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SettingsError(f"{path} is no regular file: mend or remove it")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SettingsError(f"{path} is larger than {LARGEST >> 10} KiB: mend or remove it")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _check_files(source: _Source) -> None:
    """A relative name in a file would mean another one in each working directory."""
    for key, value in _flat(source.table).items():
        if key in FILES and isinstance(value, str) and value and ("\0" in value or value[0] not in "/~"):
            raise SettingsError(f"{source.name}: {key} is {value!r}, but must begin with / or ~/")


def _toml(text: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: Mapping[str, Any] = tomllib.loads(text)
    return table


def _variables(environ: Mapping[str, str]) -> Iterator[_Source]:
    keys = {key.upper().replace(".", "_"): key for key in _types()}
    for variable, text in environ.items():
        name = variable.removeprefix(_PREFIX)
        if name == variable:
            continue
        if key := keys.get(name):
            yield _Source(variable, _nested({key: _of_text(text, _types()[key])}))
        elif near := _nearest(name, keys, _NEAR):
            raise SettingsError(f"{variable} in the environment is no setting: did you mean {_PREFIX}{near}?")


def _of_text(text: str, hint: Any) -> Any:
    """A variable's text as a file would write it; what does not fit stays text and is refused as such."""
    if hint is str:
        return text
    text = text.encode("utf-8", "backslashreplace").decode()  # a variable can be any bytes
    if hint == tuple[str, ...]:
        return [part.strip() for part in text.split(",") if part.strip()]
    if hint is bool:
        return SWITCHES.get(text.lower(), text)
    try:
        return float(text) if hint in (Seconds, Hertz) else text
    except ValueError:
        return text


def _check(source: _Source) -> None:
    try:
        settings = msgspec.convert(source.table, Settings)
    except msgspec.ValidationError as error:
        _refuse(source, error)
    if settings.areas.skip:
        _check_areas(source, settings.areas.skip)
    _check_place(source, "nvml", settings.nvml, NVML_WORDS)
    _check_place(source, "nvml_lock", settings.nvml_lock, ("",))


def _check_place(source: _Source, key: str, text: str, words: tuple[str, ...]) -> None:
    """Whoever calls NVML does so in a folder of its own: a relative name would be another file there."""
    if text not in words and ("\0" in text or text[:1] not in ("/", "~")):
        expected = ", ".join(map(repr, words))
        raise SettingsError(f"{source.name}: {key} is {text!r}, but must be {expected} or begin with / or ~/")


def _check_budgets(found: Mapping[str, Value]) -> None:
    """Not of a flag: that is about one snapshot, and NVML is given less of it (`Settings.nvml_options`)."""
    nvml, whole = found["nvml_budget_s"], found["budget_s"]
    least = nvml.value + BESIDE_NVML_SECONDS
    if nvml.origin != DEFAULT and whole.value < least and not whole.origin.startswith("--"):
        raise SettingsError(
            f"{nvml.origin}: nvml_budget_s is {nvml.value:g}, but the whole snapshot has budget_s = {whole.value:g}: "
            f"set budget_s to {least:g} or more"
        )


def _check_areas(source: _Source, skip: tuple[str, ...]) -> None:
    from probes.kit.probe import areas

    for name in skip:
        if name not in areas():
            raise SettingsError(
                f"{source.name}: areas.skip names '{name}', which is no area: {_instead(name, areas())}"
            )


def _refuse(source: _Source, error: msgspec.ValidationError) -> NoReturn:
    from fingerprint.refused import complaints

    first, *more = [_words(complaint) for complaint in complaints(Settings, source.table)] or [str(error)]
    raise SettingsError(f"{source.name}: {first}" + (f" (and {len(more)} more)" if more else ""))


def _words(complaint: "Complaint") -> str:
    if complaint.unknown:
        return f"{complaint.key} is no setting: {_instead(complaint.key, _types())}"
    return f"{complaint.key} is {complaint.found!r}, but must be {complaint.expected}"


def _instead(name: str, known: Any) -> str:
    near = _nearest(name, known, 0.5)
    return f"did you mean {near}?" if near else f"there are {', '.join(known)}"


def _nearest(name: str, known: Any, cutoff: float) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, cutoff)), None)


def _types(part: type[Part] = Settings, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> type, in declared order."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(part):
        if isinstance(field.type, type) and issubclass(field.type, Part):
            found.update(_types(field.type, f"{prefix}{field.name}."))
        else:
            found[prefix + field.name] = field.type
    return found


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value of tables that were checked."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found.update(_flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return found


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in flat.items():
        *parts, name = key.split(".")
        inner = table
        for part in parts:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return table
