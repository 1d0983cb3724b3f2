"""What modprobe(8) will tell the modules when they are loaded the next time, against what they were told."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from probes.driver.module import PARAMETERS_FILE
from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, seen_or, then
from probes.kit.host import Host
from probes.kit.parse import fields

FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
CMDLINE = "/proc/cmdline"
RIVALS = ("nouveau", "nova_core", "vfio_pci")
PREFIX = "NVreg_"  # of the parameters of module nvidia; /proc/driver/nvidia/params leaves it out


class NextLoad(Section):
    options: Seen[Map[Seen[str | Redacted]]] = config(
        "Options of nvidia's modules in files and on the kernel's command line: they hold from the next load on",
        "modprobe.d(5) and /proc/cmdline",
    )
    blacklist: Seen[tuple[str, ...]] = config(
        "A driver that is kept from loading by itself: nouveau, or by mistake nvidia. What came of it is told by "
        "gpus_bound_elsewhere",
        "modprobe.d(5) and /proc/cmdline",
        context=True,
    )
    pending: Seen[tuple[str, ...]] = config(
        "Options whose value differs from the one in force: the next reboot changes the driver, nothing before it",
        f"modprobe.d(5) against {PARAMETERS_FILE} and /sys/module/nvidia*/parameters",
        follows=("driver/next_load/options", "driver/module/parameters", "driver/module/parameters/*"),
    )


class Option(NamedTuple):
    """Names of modules are written with `_`, as the kernel does."""

    module: str
    name: str
    value: str

    @property
    def key(self) -> str:
        return f"{self.module}.{self.name}"


def read_next_load(host: Host) -> NextLoad:
    lines = _lines(host)
    return NextLoad(
        options=then(lines, lambda told: _told(host, _options(told))),
        blacklist=then(lines, lambda told: tuple(sorted(set(_blacklisted(told))))),
        pending=then(lines, lambda told: _pending(host, _options(told))),
    )


def _told(host: Host, options: Iterable[Option]) -> Map[Seen[str | Redacted]]:
    return Map({option.key: host.redactor.parameter(option.name, option.value) for option in options})


def _lines(host: Host) -> Seen[tuple[tuple[str, ...], ...]]:
    """All directives in their order, as words; the kernel's command line comes last, and wins."""
    files = _files(host)
    texts = then(files, lambda paths: _all_seen(host.text(path) for path in paths))
    return then(texts, lambda found: then(host.text(CMDLINE), lambda cmdline: (*_words(found), *_of_cmdline(cmdline))))


def _files(host: Host) -> Seen[tuple[str, ...]]:
    """In order of their names; of one name in two folders, the earlier folder's stands in for the other."""
    listed = {folder: host.names(folder) for folder in FOLDERS}
    unknown = [names for names in listed.values() if isinstance(names, Gap) and names.code != "absent"]
    if unknown:
        return unknown[0]
    found: dict[str, str] = {}
    for folder, names in listed.items():
        for name in seen_or(names, ()):
            if name.endswith(".conf"):
                found.setdefault(name, f"{folder}/{name}")
    return tuple(found[name] for name in sorted(found))


def _all_seen(texts: Iterable[Seen[str]]) -> Seen[tuple[str, ...]]:
    found: list[str] = []
    for text in texts:
        if isinstance(text, Gap):
            return text
        found.append(text)
    return tuple(found)


def _words(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for text in texts:
        yield from (tuple(line.split()) for line in text.replace("\\\n", " ").splitlines() if line.strip())


def _of_cmdline(text: str) -> Iterator[tuple[str, ...]]:
    """`nvidia-drm.modeset=1` and `modprobe.blacklist=nouveau`, as the directives that they stand for."""
    for word in text.split():
        name, _, value = word.partition("=")
        module, _, option = name.partition(".")
        if name in ("modprobe.blacklist", "module_blacklist"):
            yield from (("blacklist", blacklisted) for blacklisted in value.split(","))
        elif option:
            yield ("options", module, f"{option}={value}")


def _options(lines: Iterable[tuple[str, ...]]) -> tuple[Option, ...]:
    """Of nvidia's modules; the last word on each."""
    found: dict[str, Option] = {}
    for directive, module, *settings in (line for line in lines if len(line) > 1):
        name = module.replace("-", "_")
        if directive == "options" and name.startswith("nvidia"):
            options = (Option(name, key, value.strip('"')) for key, _, value in (s.partition("=") for s in settings))
            found.update({option.key: option for option in options})
    return tuple(found[key] for key in sorted(found))


def _blacklisted(lines: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for line in lines:
        name = line[1].replace("-", "_") if line[0] == "blacklist" and len(line) > 1 else ""
        if name in RIVALS or name.startswith("nvidia"):
            yield name


def _pending(host: Host, options: Iterable[Option]) -> Seen[tuple[str, ...]]:
    """Of modules that are loaded."""
    running = then(host.text(PARAMETERS_FILE), fields)
    if isinstance(running, Gap):
        return running
    return tuple(option.key for option in options if _differs(option, _in_force(host, option, running)))


def _in_force(host: Host, option: Option, running: Mapping[str, str]) -> str | None:
    if option.module == "nvidia":
        return running.get(option.name.removeprefix(PREFIX))
    return seen_or(host.line(f"/sys/module/{option.module}/parameters/{option.name}"), None)


def _differs(option: Option, in_force: str | None) -> bool:
    return in_force is not None and _comparable(option.value) != _comparable(in_force.strip('"'))


def _comparable(value: str) -> str | int:
    """A number as 32 bits without a sign, in which -1 is 4294967295; Y and N are 1 and 0."""
    value = {"y": "1", "n": "0"}.get(value.lower(), value)
    try:
        return int(value, 0) % (1 << 32)
    except ValueError:
        return value
