"""Text parsers that two or more probes share. They raise ValueError on what they do not understand."""

from collections.abc import Iterable


def cpu_list(text: str) -> frozenset[int]:
    """The kernel's list format, `0-3,8,10-14:2/4`: ranges, and groups of USED out of every STEP
    (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"). Empty text is the empty set."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        cpus.update(_cpu_span(part))
    return frozenset(cpus)


def _cpu_span(part: str) -> Iterable[int]:
    span, grouped, stride = part.partition(":")
    first, ranged, last = span.partition("-")
    used, _, step = stride.partition("/")
    start, end = int(first), int(last if ranged else first)
    if end < start or (grouped and not 0 < int(used) <= int(step)):
        raise ValueError(f"no cpu list: {part!r}")
    return (n for n in range(start, end + 1) if not grouped or (n - start) % int(step) < int(used))


def cpu_mask(text: str) -> frozenset[int]:
    """The kernel's mask format, `00000001,0000000f`: hexadecimal words of 32 bits, the highest first."""
    mask = int(text.strip().replace(",", ""), 16)
    return frozenset(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def as_cpu_list(cpus: Iterable[int]) -> str:
    """The shortest list format of a set: `0-3,8`. The empty set is the empty string."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][-1] + 1:
            ranges[-1][1:] = [cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, span)) for span in ranges)


def fields(text: str, separator: str = ":") -> dict[str, str]:
    """`NAME: value` lines, as in /proc/PID/status; lines without the separator are passed over."""
    pairs = (line.partition(separator) for line in text.splitlines() if separator in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def selected(text: str) -> str:
    """The bracketed word of a sysfs choice: `always [madvise] never` -> `madvise`."""
    _, open_, rest = text.partition("[")
    word, close, _ = rest.partition("]")
    if not (open_ and close):
        raise ValueError(f"no [choice] in {text!r}")
    return word


def kib(text: str) -> int:
    """`16384 kB` -> 16384. Anything but kB is refused."""
    number, _, unit = text.strip().partition(" ")
    if unit.strip() != "kB":
        raise ValueError(f"expected kB, got {text!r}")
    return int(number)
