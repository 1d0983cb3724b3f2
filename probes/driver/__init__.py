"""The NVIDIA driver from the kernel's side: which one runs, what it was told, and what the kernel's log says of it.

NVML's answers about the driver as a whole are here too; those about one GPU are in area gpu.
"""

from typing import TYPE_CHECKING

from probes.driver.answers import Answers, Confidential, read_answers, read_confidential
from probes.driver.daemons import Daemon, read_daemons
from probes.driver.fabric_manager import FabricManager, read_fabric_manager
from probes.driver.libraries import Libraries, read_libraries
from probes.driver.log import DeviceLog, KernelLog, read_devices, read_kernel_log
from probes.driver.module import Module, read_module
from probes.driver.next_load import NextLoad, read_next_load
from probes.driver.pci import is_there, read_bound_elsewhere
from probes.kit.facts import Map, Section, Seen, config, counter, state, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

if TYPE_CHECKING:
    from probes.driver.lines import Log

FIRMWARE = "/lib/firmware/nvidia"


class Driver(Section):
    module: Module = Module()
    next_load: NextLoad = NextLoad()
    libraries: Libraries = Libraries()
    nvml: Answers = Answers()
    confidential_computing: Confidential = Confidential()
    gsp_firmware: Seen[tuple[str, ...]] = config(
        "Firmware of the GPU's own processor: without it newer GPUs do not start, and older ones burden the CPU",
        f"{FIRMWARE}/VERSION of the module",
        follows=("driver/module/version",),
    )
    gpus_bound_elsewhere: Seen[Map[Seen[str]]] = state(
        "A GPU that another driver has, or none: passed through to a virtual machine, or taken by nouveau at boot",
        "/proc/bus/pci/devices",
        settled="always",
    )
    daemons: Seen[Map[Daemon]] = state(
        "The programs that belong to the driver, whether they run or not",
        "/proc/*/comm",
        settled="always",
        context=True,
    )
    fabricmanager: FabricManager = FabricManager()
    kernel_log: KernelLog = KernelLog()
    log: Seen[Map[DeviceLog]] = counter(
        "The devices of which the kernel's log has errors since boot", "/dev/kmsg", context=True
    )


@probe(of="host", budget=1.0, asks_nvml=True)
def driver(host: Host, _target: Target) -> Driver:
    """Where there is neither a driver nor a device of NVIDIA, nobody looks for daemons, nor in the log."""
    module = read_module(host)
    there = is_there(host)
    log = then(there, lambda _: then(host.kernel_log(), _log))
    daemons = then(there, lambda _: read_daemons(host))
    return Driver(
        module=module,
        next_load=read_next_load(host),
        libraries=read_libraries(host, module),
        nvml=read_answers(host),
        confidential_computing=read_confidential(host),
        gsp_firmware=then(module.version, lambda version: host.names(f"{FIRMWARE}/{version}")),
        gpus_bound_elsewhere=read_bound_elsewhere(host),
        daemons=daemons,
        fabricmanager=read_fabric_manager(host, module, daemons),
        kernel_log=read_kernel_log(log),
        log=then(log, read_devices),
    )


def _log(text: str) -> "Log":
    from probes.driver.lines import Log

    return Log(text)
