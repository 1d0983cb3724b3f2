"""NVIDIA's devices on the bus, by the driver that has them."""

from collections.abc import Iterator
from typing import NamedTuple

from probes.driver.module import VERSION_FILE
from probes.kit.facts import Gap, Map, Seen, seen_or, then
from probes.kit.host import Host

LIST = "/proc/bus/pci/devices"  # all devices in one file: vendor, device and driver, but no domain
DEVICES = "/sys/bus/pci/devices"
NVIDIA = "10de"
DISPLAY = "0x03"  # class of VGA and 3D controllers; the sound of a graphics card is 0x04
DRIVERS = ("nvidia", "nvgpu")
COLUMNS = 17  # before the driver's name, which is missing where there is no driver


class Row(NamedTuple):
    """place: bus, device and function. driver: empty for none."""

    place: str
    driver: str


def read_bound_elsewhere(host: Host) -> Seen[Map[Seen[str]]]:
    rows = then(host.text(LIST), lambda text: tuple(_others(text)))
    return then(rows, lambda found: _by_address(host, found) if found else Map({}))


def is_there(host: Host) -> Seen[bool]:
    """True, or the Gap that stands for all that there cannot be without a driver and a device of NVIDIA."""
    driver = host.text(VERSION_FILE)
    listed = any(line[5:9] == NVIDIA for line in seen_or(host.text(LIST), "").splitlines())
    if listed or not isinstance(driver, Gap):
        return True
    return driver if driver.code != "absent" else Gap("absent", "neither a driver nor a device of NVIDIA")


def _others(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        words = line.split("\t")
        driver = words[COLUMNS].strip() if len(words) > COLUMNS else ""
        if len(words) > 1 and words[1].startswith(NVIDIA) and driver not in DRIVERS:
            yield Row(_place(int(words[0], 16)), driver)


def _place(number: int) -> str:
    """Of a bus, and five bits of device and three of function below it."""
    return f"{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"


def _by_address(host: Host, rows: tuple[Row, ...]) -> Seen[Map[Seen[str]]]:
    drivers = {row.place: row.driver or "none" for row in rows}
    return then(host.names(DEVICES), lambda names: Map(dict(_displays(host, names, drivers))))


def _displays(host: Host, names: tuple[str, ...], drivers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Two domains may have the same place: vendor and class are looked at."""
    for name in names:
        driver = drivers.get(name.partition(":")[2])
        if driver is not None and host.line(f"{DEVICES}/{name}/vendor") == f"0x{NVIDIA}":
            kind = host.line(f"{DEVICES}/{name}/class")
            if isinstance(kind, str) and kind.startswith(DISPLAY):
                yield name, driver
