"""Multi-instance GPU: whether the GPU is divided, and into what."""

from functools import partial

from probes.gpu.asking import ENABLED, Device
from probes.gpu.worded import read_worded
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen, config, identity, telemetry, then
from probes.kit.knobs import read_each
from probes.kit.nvml.inquiry import counted

_ATTRIBUTES = "nvmlDeviceGetAttributes_v2"
_COUNT = "nvmlDeviceGetMaxMigDeviceCount"
NONE_THERE = (Gap("absent"), NOT_READ)


class Instance(Section):
    """One compute instance, as NVML presents it: a device of its own."""

    uuid: Seen[str] = identity("By it a server is given the instance (CUDA_VISIBLE_DEVICES)", "nvmlDeviceGetUUID")
    profile: Seen[str] = identity("The product with its profile, e.g. 3g.40gb", "nvmlDeviceGetName")
    gpu_slices: Seen[int] = identity(
        "Slices of memory bandwidth and cache", f"{_ATTRIBUTES}.gpuInstanceSliceCount", "slices"
    )
    compute_slices: Seen[int] = identity(
        "Slices of multiprocessors", f"{_ATTRIBUTES}.computeInstanceSliceCount", "slices"
    )
    multiprocessors: Seen[int] = identity("What kernels run on", f"{_ATTRIBUTES}.multiprocessorCount")
    copy_engines: Seen[int] = identity(
        "Copies beside kernels need one; all instances of a GPU instance share them",
        f"{_ATTRIBUTES}.sharedCopyEngineCount",
    )
    memory_size: Seen[int] = identity("What weights and cache must fit in", f"{_ATTRIBUTES}.memorySizeMB", "MiB")
    memory_used: Seen[int] = telemetry(
        "Left by others, it is missing from the cache of this run", "nvmlDeviceGetMemoryInfo.used", "B"
    )


class Mig(Section):
    """Names are those of `nvidia-smi --query-gpu`: mig.mode.current is mig/mode_current."""

    mode_current: Seen[str] = config(
        "MIG takes peer access and NVLink away from the whole GPU, and NVLink SHARP with them",
        "nvmlDeviceGetMigMode.0",
        restore="nvidia-smi -i {key} -mig $(echo {value} | tr a-z A-Z) # some products want a reset afterwards",
    )
    mode_pending: Seen[str] = config(
        "Another mode than the current one comes by itself with the next reset, and moves nothing before",
        "nvmlDeviceGetMigMode.1",
        follows=("gpu/*/mig/mode_current",),
        restore="nvidia-smi -i {key} -mig $(echo {value} | tr a-z A-Z)",
    )
    max_count: Seen[int] = identity("Into how many instances this product can be divided", _COUNT, context=True)
    instances: Seen[Map[Instance]] = config(
        "Which instances there are, by GPU instance and compute instance: a reboot ends them, and a smaller one is a "
        "slower one",
        f"nvmlDeviceGetMigDeviceHandleByIndex, {_ATTRIBUTES}",
        follows=("gpu/*/mig/mode_current",),
    )


def read_mig(device: Device) -> Mig:
    mode = device.word("nvmlDeviceGetMigMode.0", ENABLED)
    count = device.answer(_COUNT)
    return read_worded(
        Mig,
        device,
        dict.fromkeys(("mode_current", "mode_pending"), ENABLED),
        instances=then(mode, lambda word: then(count, partial(_instances, device)) if word == "enabled" else Map({})),
    )


def _instances(device: Device, count: int) -> Seen[Map[Instance]]:
    """By `GPU instance/compute instance`. What keeps one from being seen keeps the list from being whole."""
    found: dict[str, Instance] = {}
    for index in range(counted(count)):
        instance = Device(device.host, f"{device.key}/mig/{index}")
        key = _key(device, instance, index)
        if not isinstance(key, Gap):
            found[key] = read_each(Instance, instance.answer)
        elif key not in NONE_THERE:
            return key
    return Map(found)


def _key(device: Device, instance: Device, index: int) -> Seen[str]:
    whole = instance.answer("nvmlDeviceGetGpuInstanceId")
    part = instance.answer("nvmlDeviceGetComputeInstanceId")
    if not isinstance(whole, Gap) and not isinstance(part, Gap):
        return f"{whole}/{part}"
    refused = device.answer(f"nvmlDeviceGetMigDeviceHandleByIndex({index})")
    if isinstance(refused, Gap) and refused != NOT_READ:
        return refused
    return whole if isinstance(whole, Gap) else part
