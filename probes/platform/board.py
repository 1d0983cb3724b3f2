"""The controller of the board, where the power comes from, and the fans, as far as the kernel tells of them."""

from probes.kit.facts import Gap, Map, Section, Seen, config, identity, seen_or, state, telemetry, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

BMC = "/sys/class/ipmi/ipmi0/device/bmc"
NODE = "/dev/ipmi0"
SUPPLIES = "/sys/class/power_supply"
SENSORS = "/sys/class/hwmon"
MOST_FANS = 64
PATIENCE = 0.3
"""Seconds. Each file of a BMC is a question to it, which one that hangs answers after many seconds, or never."""
_FAN = lazy_regex(r"fan\d+_input")


class Supply(Section):
    type: Seen[str] = identity("Mains, Battery, USB or UPS", f"{SUPPLIES}/*/type")
    online: Seen[bool] = state(
        "Without mains a laptop, or a host on its UPS, lowers the limits of CPU and GPU", f"{SUPPLIES}/*/online",
        settled="always",
    )  # fmt: skip
    status: Seen[str] = state(
        "Whether a battery gives or takes: while it gives, firmware saves power", f"{SUPPLIES}/*/status",
        settled="always",
    )  # fmt: skip


class Power(Section):
    supplies: Seen[Map[Supply]] = identity(
        "A supply that the kernel knows: laptops, and small machines with a battery", SUPPLIES, context=True
    )


class Bmc(Section):
    device_node: Seen[bool] = state(
        "Whether the BMC can be asked from here at all (ipmitool): fans, supplies and its own log are told by it alone",
        NODE,
        settled="always",
        context=True,
    )
    firmware_revision: Seen[str] = config(
        "An update of the BMC brings its own fan table: with less air GPUs throttle, and no tool of theirs says why",
        f"{BMC}/firmware_revision, aux_firmware_revision",
    )
    manufacturer_id: Seen[str] = identity("Whose BMC it is", f"{BMC}/manufacturer_id", context=True)
    product_id: Seen[str] = identity("Which board's BMC it is", f"{BMC}/product_id", context=True)


class Cooling(Section):
    fans: Seen[Map[Seen[int]]] = telemetry(
        "Slower fans beside hotter GPUs are the cause, not the effect", f"{SENSORS}/*/fan*_input", "rpm"
    )


def read_power(host: Host) -> Power:
    return Power(supplies=then(host.names(SUPPLIES), lambda names: Map({name: _supply(host, name) for name in names})))


def _supply(host: Host, name: str) -> Supply:
    folder = f"{SUPPLIES}/{name}"
    return Supply(
        type=host.line(f"{folder}/type"),
        online=then(host.number(f"{folder}/online"), bool),
        status=host.line(f"{folder}/status"),
    )


def read_bmc(host: Host) -> Bmc:
    """Where the first question is not answered in time no other one is asked."""
    node = host.stat(NODE)
    there: Seen[bool] = node if isinstance(node, Gap) and node.code != "absent" else not isinstance(node, Gap)
    revision = then(host.stat(f"{BMC}/firmware_revision"), lambda _: _asked(host, "firmware_revision"))
    if isinstance(revision, Gap):
        return Bmc(device_node=there, firmware_revision=revision, manufacturer_id=revision, product_id=revision)
    minor = seen_or(_asked(host, "aux_firmware_revision"), "")
    return Bmc(
        device_node=there,
        firmware_revision=f"{revision} ({minor})" if minor else revision,
        manufacturer_id=_asked(host, "manufacturer_id"),
        product_id=_asked(host, "product_id"),
    )


def _asked(host: Host, name: str) -> Seen[str]:
    return then(host.text(f"{BMC}/{name}", patience=PATIENCE), lambda text: " ".join(text.split()))


def read_cooling(host: Host) -> Cooling:
    return Cooling(fans=then(host.names(SENSORS), lambda names: _fans(host, names)))


def _fans(host: Host, chips: tuple[str, ...]) -> Map[Seen[int]]:
    found = [
        (chip, name) for chip in chips for name in seen_or(host.names(f"{SENSORS}/{chip}"), ()) if _FAN.fullmatch(name)
    ]
    names = {chip: seen_or(host.line(f"{SENSORS}/{chip}/name"), "unnamed") for chip, _ in found}
    return Map(
        {f"{names[chip]}.{chip}.{fan[:-6]}": host.number(f"{SENSORS}/{chip}/{fan}") for chip, fan in found[:MOST_FANS]}
    )
