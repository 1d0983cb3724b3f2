"""Every enumerator that nvidia-ml-py knows has its word."""

from collections.abc import Mapping

import pynvml
import pytest

from probes.gpu import fabric, health, nvlink, pcie, peers, settings, virtualization
from probes.gpu.fields import FIELD_IDS
from probes.kit import lanes

NAMED: Mapping[str, Mapping[int, str]] = {
    "NVML_GPU_RECOVERY_ACTION_": health.RECOVERY_ACTIONS,
    "NVML_NVLINK_STATE_": nvlink.STATES,
    "NVML_NVLINK_DEVICE_TYPE_": nvlink.DEVICE_TYPES,
    "NVML_POWER_MIZER_MODE_": settings.POWER_MIZER_MODES,
    "NVML_P2P_STATUS_": peers.P2P_STATUS,
    "NVML_GPU_FABRIC_STATE_": fabric.STATES,
    "NVML_GPU_VIRTUALIZATION_MODE_": virtualization.MODES,
    "NVML_HOST_VGPU_MODE_": virtualization.HOST_MODES,
}


def enumerators(prefix: str) -> dict[int, list[str]]:
    """Value -> names without the prefix, in lower case; a name may be another's older spelling."""
    found: dict[int, list[str]] = {}
    for name, value in vars(pynvml).items():
        if name.startswith(prefix) and isinstance(value, int):
            found.setdefault(value, []).append(name.removeprefix(prefix).lower())
    return found


@pytest.mark.parametrize("prefix", NAMED)
def test_an_enumerator_is_called_what_nvml_calls_it(prefix: str) -> None:
    known = enumerators(prefix)
    assert known
    assert known.keys() == NAMED[prefix].keys()
    assert all(NAMED[prefix][number] in names for number, names in known.items())


def test_nvml_knows_no_nvlink_version_without_its_number() -> None:
    known = enumerators("NVML_NVLINK_VERSION_")
    assert {number: [name.replace(".", "_")] for number, name in nvlink.VERSIONS.items()} == {
        number: names for number, names in known.items() if names != ["invalid"]
    }


def test_nvml_knows_no_level_of_topology_that_nvidia_smi_has_no_word_for() -> None:
    assert enumerators("NVML_TOPOLOGY_").keys() == peers.TOPOLOGY.keys()


def test_atomic_operations_stand_at_their_bits() -> None:
    known = enumerators("NVML_PCIE_ATOMICS_CAP_")
    assert {1 << bit: [word] for bit, word in enumerate(pcie.ATOMICS)} == known


def test_speeds_of_a_link_stand_at_their_numbers() -> None:
    known = enumerators("NVML_PCIE_LINK_MAX_SPEED_")
    assert known == {n: [f"{speed}mbps" if speed else "invalid"] for n, speed in enumerate(lanes.SPEEDS)}


def test_return_codes_of_the_fabric_are_called_what_nvml_calls_them() -> None:
    known = {number: name for number, (name, *_) in enumerators("NVML_ERROR_").items() if number < 999}
    assert dict(enumerate(fabric.RETURNS)) == {0: "success", **known}


def test_each_part_of_the_health_mask_stands_where_nvml_has_it() -> None:
    prefix = "NVML_GPU_FABRIC_HEALTH_MASK_"
    shifts = {name: shift for shift, (name, *_) in enumerators(f"{prefix}SHIFT_").items()}
    widths = {name: vars(pynvml)[f"{prefix}WIDTH_{name.upper()}"] for name in shifts}
    assert {(shift, widths[name]) for name, shift in shifts.items()} <= {place[:2] for place in fabric.MASK.values()}
    reasons = enumerators(f"{prefix}INCORRECT_CONFIGURATION_")
    assert {number: [word] for number, word in fabric.CONFIGURATIONS.items()}.items() >= {
        number: names for number, names in reasons.items() if names != ["not_supported"]
    }.items()


def test_field_ids_are_those_of_nvidia_ml_py() -> None:
    assert {name: vars(pynvml).get(name, number) for name, number in FIELD_IDS.items()} == FIELD_IDS
