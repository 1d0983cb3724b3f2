"""The fabric manager of NVSwitch systems: whether it fits the driver, and what it was told."""

from probes.driver.daemons import FABRIC_MANAGER, Daemon
from probes.driver.module import Module
from probes.kit.facts import Map, Section, Seen, config, state, then
from probes.kit.host import Host

SETTINGS = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"


class FabricManager(Section):
    matches_module: Seen[bool] = state(
        "It must be of exactly the driver's version: after an upgrade of one alone no job gets NVLink",
        "nv-fabricmanager --version against /proc/driver/nvidia/version",
        settled="always",
        follows=("driver/daemons/*/version", "driver/module/version"),
    )
    settings: Seen[Map[Seen[str]]] = config(
        "FABRIC_MODE, and what it does without a link or a switch: go on degraded, or stop",
        SETTINGS,
    )


def read_fabric_manager(host: Host, module: Module, daemons: Seen[Map[Daemon]]) -> FabricManager:
    version = then(daemons, lambda found: found.items[FABRIC_MANAGER].version)
    return FabricManager(
        matches_module=then(version, lambda told: then(module.version, lambda running: told == running)),
        settings=then(host.text(SETTINGS), _settings),
    )


def _settings(text: str) -> Map[Seen[str]]:
    told = (line.partition("=") for line in text.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    return Map({name.strip(): value.strip() for name, _, value in told})
