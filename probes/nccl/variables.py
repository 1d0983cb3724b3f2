"""The variables as NCCL finds them: its files set what the environment has not (src/misc/param.cc, setEnvFile)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Union

from probes.kit.facts import Gap, Map, Redacted, Seen, seen_or, then
from probes.kit.filepaths import absolute, link_of
from probes.kit.host import Host
from probes.kit.parse import fields

Text = Union[str, Redacted]

SYSTEM_FILE = "/etc/nccl.conf"
NAMES = ("NCCL_", "RCCL_")
_CAP = 64 << 10
_NOTHING = ("absent", "not_read")


class Variables(NamedTuple):
    """values, origins: by name; origins is a gap where a file of NCCL's is there and could not be read. user_file: the
    path of the user's file."""

    values: Seen[Map[Seen[Text]]]
    origins: Seen[Map[Seen[str]]]
    user_file: Seen[str]

    def named(self, name: str) -> str:
        """The variable in clear, "" where it is not set or may not be seen."""
        items: Mapping[str, object] = {} if isinstance(self.values, Gap) else self.values.items
        value = items.get(name)
        return value if isinstance(value, str) else ""


def variables(host: Host, files: Host, pid: int) -> Variables:
    """files: the host as the process sees its files."""
    environ = host.environ(pid)
    items = {} if isinstance(environ, Gap) else _read(environ.items)
    user_file = _user_file(host, files, pid, items)
    if isinstance(environ, Gap):
        return Variables(environ, environ, user_file)
    paths = [path for path in (seen_or(user_file, ""), SYSTEM_FILE) if path]
    texts = {path: files.text(path, _CAP) for path in paths}
    values: dict[str, Text] = {name: value for name, value in items.items() if name.startswith(NAMES)}
    origins: dict[str, str] = {}
    for path, text in texts.items():
        for name, value in _settings(seen_or(text, "")):
            if name not in values and name not in items:
                values[name] = host.redactor.variable(name, value)
                origins[name] = path
    unread = next((text for text in texts.values() if isinstance(text, Gap) and text.code not in _NOTHING), None)
    return Variables(Map(dict(sorted(values.items()))), unread or Map(dict(sorted(origins.items()))), user_file)


def _read(items: Mapping[str, Seen[Text]]) -> dict[str, Text]:
    return {name: value for name, value in items.items() if not isinstance(value, Gap)}


def _user_file(host: Host, files: Host, pid: int, environ: Mapping[str, Text]) -> Seen[str]:
    """NCCL_CONF_FILE (since 2.23) in place of `.nccl.conf` in the home that passwd has for the user, not HOME."""
    named = environ.get("NCCL_CONF_FILE")
    if isinstance(named, Redacted):
        return Gap("not_observable", "NCCL_CONF_FILE was redacted")
    if named:
        return absolute(named, seen_or(link_of(host, pid, "cwd"), "/"))
    return then(_home(host, files, pid), lambda home: f"{home.rstrip('/')}/.nccl.conf")


def _home(host: Host, files: Host, pid: int) -> Seen[str]:
    uid = then(host.text(f"/proc/{pid}/status"), lambda text: fields(text)["Uid"].split()[0])
    homes = then(uid, lambda user: files.matching("/etc/passwd", rf"^[^:\n]*:[^:\n]*:{user}:[^:\n]*:[^:\n]*:([^:\n]*)"))
    return then(homes, lambda found: found[0] if found else Gap("absent", "the user has no entry in /etc/passwd"))


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """As setEnvFile reads them: a line with `=` is a name and a value, and blanks belong to both, so that an indented
    name is none that anything reads. What is set already stays: the first line of a name counts."""
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name.isidentifier():
            yield name, value
