"""One thing changes on a host with GPUs: what is said to have changed is that, and the rest follows from it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fingerprint.sections import leaves
from fingerprint.testing import Replay
from probes.gpu import gpu
from probes.kit.facts import Gap
from probes.kit.paths import FactPath
from probes.kit.probe import HOST
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Scenario, rows_of
from tests.probes.asked import field, received
from tests.probes.tree import Lasting, causes, changed

ONE, OTHER = "0000:17:00.0", "0000:2a:00.0"
UNSUPPORTED = Gap("unsupported")
Put = Callable[[str, str, Any], None]


def lasting_of(scenario: Scenario) -> Lasting:
    told = {(call, key): answer for call, key, answer in rows_of(scenario)}
    section = received(gpu.read(Replay({**told, ("text", "/proc/uptime"): "9000.0 1.0\n"}), HOST))
    return {FactPath(("gpu", *leaf.names)): (leaf.fact, leaf.value) for leaf in leaves(section) if leaf.fact.lasting}


def hosts(change: Mapping[str, Any], product: str = "H100 SXM", device: str = ONE) -> tuple[Lasting, Lasting]:
    """The same host without and with the change of one GPU's answers."""
    before, after = host_of(product, 8), host_of(product, 8)
    after["devices"][device].update(change)
    return lasting_of(before), lasting_of(after)


def fabric(**changed: Any) -> dict[str, Any]:
    return {"nvmlDeviceGetGpuFabricInfoV": {**host_of("H100 SXM", 1)["devices"][ONE][FABRIC], **changed}}


FABRIC = "nvmlDeviceGetGpuFabricInfoV"
LINK_DOWN = {"nvmlDeviceGetNvLinkState(3)": 0, field(165, 3): 0, field(164, 3): UNSUPPORTED}
MIG_ON = {
    "nvmlDeviceGetMigMode": [1, 1],
    "nvmlDeviceGetRemappedRows": UNSUPPORTED,
    **{f"nvmlDeviceGetP2PStatus({OTHER},{way})": 5 for way in range(4)},
}


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"nvmlDeviceGetEccMode": [1, 0]}, {"ecc/mode_pending"}),
        ({"nvmlDeviceGetRemappedRows": [0, 1, 1, 0]}, {"health/remapped_rows/pending"}),
        ({field(230): 1}, {"health/recovery_action"}),
        ({"nvmlDeviceGetRepairStatus": [1, 0]}, {"health/channel_repair_pending"}),
        ({"nvmlDeviceGetCurrPcieLinkWidth": 8}, {"pcie/link_width_current"}),
        ({"nvmlDeviceGetMaxPcieLinkGeneration": 4, "nvmlDeviceGetPcieLinkMaxSpeed": 4}, {"pcie/link_gen_max"}),
        (LINK_DOWN, {"nvlink/links/3/state"}),
        (fabric(state=2), {"fabric/state"}),
        (fabric(healthMask=1), {"fabric/health/bandwidth"}),
        (MIG_ON, {"mig/mode_current"}),
        ({"nvmlDeviceGetMemoryAffinity(16,0)": [2] + [0] * 15}, {"affinity/memory"}),
        (
            {"nvmlDeviceGetBAR1MemoryInfo": {"bar1Total": 256 << 20, "bar1Used": 0, "bar1Free": 0}},
            {"memory/bar1_total"},
        ),
    ],
)
def test_what_changed_is_named_and_what_follows_from_it_is_not(change: Mapping[str, Any], cause: set[str]) -> None:
    assert causes(*hosts(change)) == {f"gpu/{ONE}/{fact}" for fact in cause}


def test_a_link_that_is_down_changes_the_count_of_those_that_are_up() -> None:
    assert FactPath(("gpu", ONE, "nvlink", "active")) in changed(*hosts(LINK_DOWN))


def test_peer_access_that_was_lost_is_said_of_both_gpus() -> None:
    lost = {f"nvmlDeviceGetP2PStatus({OTHER},{way})": 4 for way in range(4)}
    assert causes(*hosts(lost)) == {f"gpu/{ONE}/peers/{OTHER}/p2p_read", f"gpu/{OTHER}/peers/{ONE}/p2p_read"}


@pytest.mark.parametrize(
    "moved",
    [
        {"nvmlDeviceGetCurrPcieLinkGeneration": 1, "nvmlDeviceGetPcieSpeed": 2500},
        {field(94): 150, field(173): 9},
        {"nvmlDeviceGetTotalEccErrors(0,1)": 5, "nvmlDeviceGetMemoryErrorCounter(0,1,2)": 5},
        {field(161, 4): 7},
        {"nvmlDeviceGetMemoryInfo": {**host_of("H100 SXM", 1)["devices"][ONE]["nvmlDeviceGetMemoryInfo"], "used": 1}},
    ],
)
def test_what_moves_by_itself_changes_no_lasting_fact(moved: Mapping[str, Any]) -> None:
    assert changed(*hosts(moved)) == set()


def test_a_licence_that_is_renewed_changes_nothing_and_one_that_ends_does() -> None:
    ends = {"year": 2027, "month": 3, "day": 1, "hour": 11, "min": 28, "sec": 34, "status": 2}

    def licence(state: int, **expiry: int) -> Lasting:
        feature = {
            "featureCode": 4, "featureState": state, "productName": "NVIDIA Virtual Compute Server",
            "featureEnabled": 1, "licenseExpiry": {**ends, **expiry},
        }  # fmt: skip
        scenario = host_of("L40S", 1)
        scenario["devices"][ONE]["nvmlDeviceGetGridLicensableFeatures_v4"] = {
            "isGridLicenseSupported": 1, "licensableFeaturesCount": 1, "gridLicensableFeatures": [feature],
        }  # fmt: skip
        return lasting_of(scenario)

    assert changed(licence(1), licence(1, day=2)) == set()
    assert causes(licence(1), licence(0)) == {f"gpu/{ONE}/virtualization/licences/compute/licensed"}
