"""Facts that stand alone in one file each: declared with the file's path, and read from it.

A kernel has hundreds of them. Their source is the path itself, so that it is written once.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from probes.kit.facts import Gap, Section, Seen, config, then
from probes.kit.host import Host

S = TypeVar("S", bound=Section)
T = TypeVar("T")


def sysctl(name: str, why: str, unit: str = "", **more: Any) -> Any:
    """A kernel parameter by its name in sysctl(8), e.g. `vm.swappiness`: read from /proc/sys, set back by sysctl."""
    more.setdefault("restore", f"sysctl -w {name}={{value}}")
    return config(why, "/proc/sys/" + name.replace(".", "/"), unit, **more)


def knob(path: str, why: str, unit: str = "", **more: Any) -> Any:
    """A setting that a file of sysfs or debugfs holds: set back by writing to it."""
    more.setdefault("restore", f"echo {{value}} > {path}")
    return config(why, path, unit, **more)


def read_each(section: type[S], read: Callable[[str], Seen[Any]], **others: Any) -> S:
    """A section each of whose facts is what `read` makes of its source; `others` are given as they are."""
    sources = {name: fact.source for name, fact in section.__facts__.items() if name not in others}
    return section(**{name: read(source) for name, source in sources.items()}, **others)


def where_mounted(host: Host, folder: str, read: Callable[[str], Seen[T]]) -> Callable[[str], Seen[T]]:
    """`read`, but `not_observable` while nothing is mounted on `folder`: what lies there then is hidden, not absent."""
    if host.names(folder) != ():
        return read
    return lambda _path: Gap("not_observable", f"nothing is mounted on {folder}")


def word_tuple(host: Host, path: str) -> Seen[tuple[str, ...]]:
    """The words of a file, in their order."""
    return then(host.text(path), words)


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def number_tuple(host: Host, path: str) -> Seen[tuple[int, ...]]:
    """The integers of a file, in their order: `4096 131072 6291456`."""
    return then(host.text(path), lambda text: tuple(map(int, text.split())))
