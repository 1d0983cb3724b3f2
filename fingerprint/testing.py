"""Recorded hosts: what a machine answered, and a Host that answers the same again.

A recording is a folder that diffs well:

    recording.json   one row a question, sorted: [call, key, answer]; long texts line by line
    snapshot.json    what the probes make of it: every section, gaps and volatile values included

Made on a user's machine, both become a fixture under tests/hosts/. Environment values and arguments were
redacted when they were read (probes/kit/redact.py); `anonymised` takes out what else names a machine.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, TypeVar, Union, get_args, get_type_hints

import msgspec

from probes.kit.facts import Gap, Seen
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe, discover
from probes.kit.redact import Redactor, is_secret_name

R = TypeVar("R")

RECORDING = "recording.json"
SNAPSHOT = "snapshot.json"
HOSTNAME = "/proc/sys/kernel/hostname"
NOT_RECORDED = Gap("not_read", "not recorded")
REDACTED = "redacted"

Folder = Union[str, os.PathLike[str]]
# (call, key) -> the answer, as Host's method of that name returns it.
Answers = Mapping[tuple[str, str], Any]


class Recorder(Host):
    """Asks another Host and keeps each first answer; asked again it gives the same one, as a replay would."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.root, host.redactor, host.options, deep=host.deep)
        self.answers: dict[tuple[str, str], Any] = {}
        self._host = host

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        if (call, key) not in self.answers:
            self.answers[call, key] = self._host._ask(call, key, live)
        answer: Seen[R] = self.answers[call, key]
        return answer


class Replay(Host):
    """Answers from a recording, and `not_read` to everything else. It never touches the machine.

    Its redactor's key is no secret, so that each replay gives the same section: a recording holds none either.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(redactor=Redactor(b"replay"))
        self._answers = answers

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        answer: Seen[R] = self._answers.get((call, key), NOT_RECORDED)
        return answer


def record(host: Host, areas: Iterable[str] | None, folder: Folder, stand_ins: Mapping[str, str] | None = None) -> None:
    """Reads the areas (None: all) of `host` and writes recording and snapshot into `folder`, which is made.

    The answers are `anonymised` first, with `stand_ins` for further words.
    """
    recorder = Recorder(host)
    recorder.text(HOSTNAME)
    sections_of(recorder, areas)
    save(anonymised(recorder.answers, stand_ins), folder)
    expect(folder, areas)


def expect(folder: Folder, areas: Iterable[str] | None = None) -> None:
    """Writes the snapshot of a recording anew: after a probe has changed, when the difference is meant."""
    sections = sections_of(Replay(load(folder)), areas)
    _write(os.path.join(folder, SNAPSHOT), msgspec.json.format(msgspec.json.encode(sections), indent=1))


def sections_of(host: Host, areas: Iterable[str] | None = None) -> dict[str, Any]:
    """Area -> section of the host as JSON, without what was not read. A probe that raises gives {"failed": why}."""
    probes = discover(areas)
    return {area: _section(probe, host) for area, probe in probes.items() if probe.of == "host"}


def _section(probe: Probe[Any], host: Host) -> Any:
    try:
        section = msgspec.json.encode(probe.read(host, HOST))
        msgspec.json.decode(section, type=probe.section)
    except Exception as error:  # noqa: BLE001  # a recording that breaks a probe is the one most wanted
        return {"failed": f"{type(error).__name__}: {error}"}
    return _read_parts(msgspec.json.decode(section))


def _read_parts(value: Any) -> Any:
    """A section without its `not_read` fields; the keys of collections all stay."""
    if not isinstance(value, dict):
        return value
    if value.get("$") == "map":
        return {**value, "items": {key: _read_parts(item) for key, item in value["items"].items()}}
    return {name: _read_parts(field) for name, field in value.items() if not _is_not_read(field)}


def _is_not_read(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "gap" and value["code"] == "not_read"


def save(answers: Answers, folder: Folder) -> None:
    """Writes the recording; a question answered `not_read` is left out, as that is a replay's answer anyway."""
    os.makedirs(folder, exist_ok=True)
    told = {question: answer for question, answer in answers.items() if answer != NOT_RECORDED}
    rows = ",\n".join(_row(call, key, told[call, key]) for call, key in sorted(told))
    _write(os.path.join(folder, RECORDING), f"[\n{rows}\n]\n".encode())


def load(folder: Folder) -> Answers:
    """The recording in `folder`. Raises ValueError, in words, for what is none."""
    path = os.path.join(folder, RECORDING)
    try:
        with open(path, "rb") as file:
            rows = msgspec.json.decode(file.read(), type=list[tuple[str, str, Any]])
        return {(call, key): _answer(call, value) for call, key, value in rows}
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} is no recording that this version reads ({error}): make one with `fingerprint record`"
        ) from error


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content.rstrip(b"\n") + b"\n")


def _row(call: str, key: str, answer: Any) -> str:
    start = f"{_json([call, key])[:-1]},"
    if isinstance(answer, str) and "\n" in answer.rstrip("\n"):
        lines = ",\n".join(f"  {_json(line)}" for line in answer.split("\n"))
        return f'{start}{{"$":"lines","lines":[\n{lines}\n]}}]'
    return f"{start}{_json(answer)}]"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _answer(call: str, value: Any) -> Any:
    tag = value.get("$") if isinstance(value, dict) else None
    if tag == "lines":
        return "\n".join(value["lines"])
    return msgspec.convert(value, Gap if tag == "gap" else _type_of(call))


@cache
def _type_of(call: str) -> Any:
    """What Host's method of that name returns when it does not return a Gap. A union of both cannot be
    decoded for every type (Stat carries no tag), and need not be: a Gap shows by its own."""
    method = getattr(Host, call, None)
    if method is None:
        raise ValueError(f"no question is called {call!r}")
    arms = [arm for arm in get_args(get_type_hints(method)["return"]) if arm is not Gap]
    return Union[tuple(arms)]


def anonymised(answers: Answers, stand_ins: Mapping[str, str] | None = None) -> Answers:
    """The answers with stand-ins for what names a machine, its network or its people.

    The host's name becomes `host`; MAC and IPv4 addresses, UUIDs, GUIDs, machine ids, serial numbers of
    /proc/cpuinfo, of boards, of their chassis and of disks, and names under /home become numbered stand-ins, the same
    one wherever the same value stood. Words that carry a secret (a password in a URL, a token) become `redacted`.
    `stand_ins` adds words to replace.
    """
    words = {**_hostname(answers), **_unit_numbers(answers), **(stand_ins or {})}
    replace = _Replacing(words)
    return {
        (call, replace(key)): _answer(call, _mapped(_cluster_named(_plain(key, answer), replace), replace))
        for (call, key), answer in sorted(answers.items(), key=lambda item: item[0])
    }


def _plain(key: str, answer: Any) -> Any:
    return msgspec.to_builtins(_without_secret(key, answer))


def _without_secret(key: str, answer: Any) -> Any:
    """The content of a file that is named after a secret, e.g. a module's parameter `password`, goes whole."""
    return REDACTED if isinstance(answer, str) and is_secret_name(key.rpartition("/")[2]) else answer


def _hostname(answers: Answers) -> dict[str, str]:
    name = answers.get(("text", HOSTNAME))
    return {name.strip(): "host"} if isinstance(name, str) and name.strip() not in ("", "(none)") else {}


def _unit_numbers(answers: Answers) -> dict[str, str]:
    """What is told of a unit that has no form of its own: by NVML, known by the call or the member of a struct, or in a
    file, known by its name."""
    found: dict[str, str] = {}
    for (call, key), answer in sorted(answers.items(), key=lambda item: item[0]):
        told = answer if isinstance(answer, dict) else {key.rpartition(" " if call == "nvml" else "/")[2]: answer}
        for name, value in told.items() if call in ("nvml", "text") else ():
            number = value.strip() if isinstance(value, str) else ""
            if name in _UNITS and len(number) >= LEAST_OF_A_NUMBER and number.strip("0"):
                found.setdefault(number, _UNITS[name].format(len(found) + 1))
    return found


def _cluster_named(answer: Any, change: Callable[[str], str]) -> Any:
    """A fabric's UUID comes as its 16 bytes; all zero is none."""
    octets = answer.get(CLUSTER) if isinstance(answer, dict) else None
    if not octets or not any(octets):
        return answer
    text = bytes(octets).hex()
    named = change("-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])))
    return {**answer, CLUSTER: list(bytes.fromhex(named.replace("-", "")))}


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Every string inside a JSON value, keys included, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(k): _mapped(v, change) for k, v in value.items()}
    return [_mapped(v, change) for v in value] if isinstance(value, (list, tuple)) else value


_NAMING: Mapping[str, str] = {
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b": "00000000-0000-4000-8000-{:012x}",
    r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b": "02:00:00:00:00:{:02x}",
    r"\b(?!(?:0000:){7}0000\b)(?:[0-9a-f]{4}:){7}[0-9a-f]{4}\b": "fe80:0000:0000:0000:0200:0000:0000:{:04x}",
    r"\b(?!(?:0000:){3}0000\b)(?:[0-9a-f]{4}:){3}[0-9a-f]{4}\b": "0200:0000:0000:{:04x}",
    r"\b[0-9a-f]{32}\b": "{:032x}",
    r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])": "192.0.2.{}",
    r"(?<=/home/)[^/\s:\"]+": "user{}",
    r"(?<=identification = )\w+": "{:06x}",
    r"(?<=^Serial\t\t: )\w+": "{:016x}",
}

_UNITS: Mapping[str, str] = {
    "nvmlDeviceGetSerial": "16{:011d}",
    "serial": "19{:011d}",
    "chassisSerialNumber": "18{:011d}",
    "ibGuid": "{:016x}",
    "rackGuid": "{:016x}",
}
CLUSTER = "clusterUuid"
LEAST_OF_A_NUMBER = 6
"""A shorter one names nobody, and stands in many a text by chance."""


class _Replacing:
    """One numbering over all strings of a recording."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = [(re.compile(rf"(?<![\w-]){re.escape(w)}(?![\w-])"), stand_in) for w, stand_in in words.items()]
        self._naming = [(re.compile(pattern, re.MULTILINE), form) for pattern, form in _NAMING.items()]
        self._known: dict[tuple[str, str], str] = {}
        self._redactor = Redactor.ephemeral()

    def __call__(self, text: str) -> str:
        for pattern, stand_in in self._words:
            text = pattern.sub(stand_in, text)
        text = "".join(self._without_secrets(text))
        for pattern, form in self._naming:
            text = pattern.sub(partial(self._numbered, form), text)
        return text

    def _numbered(self, form: str, match: re.Match[str]) -> str:
        value = match.group()
        if (form, value) not in self._known:
            taken = sum(1 for other, _ in self._known if other == form)
            self._known[form, value] = form.format(taken + 1)
        return self._known[form, value]

    def _without_secrets(self, text: str) -> Iterator[str]:
        """Words and the white space between them, alternating."""
        parts = re.split(r"([\s\0]+)", text)
        shown = list(self._redactor.each(parts[::2]))
        for index, part in enumerate(parts):
            yield part if index % 2 or shown[index // 2] == (part,) else REDACTED
