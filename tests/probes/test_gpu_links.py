"""What joins a GPU to the host and to others: PCIe, NVLink, the fabric, peers, near CPUs and memory."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.gpu.affinity import as_list, read_affinity
from probes.gpu.fabric import MASK, read_fabric
from probes.gpu.nvlink import NvLinks, read_nvlink, sample_nvlink, slot
from probes.gpu.pcie import PcieErrors, read_pcie, sample_pcie
from probes.gpu.peers import read_peers
from probes.kit.facts import NOT_READ, Gap, Map
from probes.kit.lanes import carries
from probes.kit.nvml.inquiry import ALL_LINKS
from probes.kit.parse import cpu_list
from tests.nvml.fake import FakeNvml
from tests.probes.asked import GPU, field, gpu, received

UNSUPPORTED = Gap("unsupported")

# PCIe


def test_the_link_to_the_host_is_told_as_it_is_and_as_it_could_be() -> None:
    answers = {
        "nvmlDeviceGetCurrPcieLinkGeneration": 1, "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        "nvmlDeviceGetGpuMaxPcieLinkGeneration": 6, "nvmlDeviceGetCurrPcieLinkWidth": 8,
        "nvmlDeviceGetMaxPcieLinkWidth": 16, "nvmlDeviceGetPcieSpeed": 2500,
    }  # fmt: skip
    node = ("text", f"/sys/bus/pci/devices/{GPU}/numa_node")
    pcie = received(read_pcie(gpu(answers, {node: "1\n"})))
    assert (pcie.link_gen_current, pcie.link_gen_max, pcie.link_gen_gpumax) == (1, 5, 6)
    assert (pcie.link_width_current, pcie.link_width_max, pcie.link_speed) == (8, 16, 2500)
    assert pcie.numa_node == 1


def test_a_host_without_nodes_has_none_for_the_gpu() -> None:
    pcie = read_pcie(gpu({}, {("text", f"/sys/bus/pci/devices/{GPU}/numa_node"): "-1\n"}))
    assert pcie.numa_node == UNSUPPORTED


@pytest.mark.parametrize(("answer", "speed"), [(5, 32000), (32000, 32000), (0, UNSUPPORTED)])
def test_the_highest_speed_is_told_by_number_or_as_it_is(answer: int, speed: object) -> None:
    assert read_pcie(gpu({"nvmlDeviceGetPcieLinkMaxSpeed": answer})).link_speed_max == speed


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (0, ()),
        (0x3F, ("fetchadd32", "fetchadd64", "swap32", "swap64", "cas32", "cas64")),
        (0x140, ("cas128", "unknown (8)")),
    ],
)
def test_atomic_operations_are_told_by_name(mask: int, words: tuple[str, ...]) -> None:
    pcie = received(read_pcie(gpu({field(228): mask, field(229): 1})))
    assert (pcie.atomics_outbound, pcie.atomics_inbound) == (words, ("fetchadd32",))


def test_errors_of_the_link_have_their_own_counters() -> None:
    numbers = (94, 95, 169, *range(173, 184))
    errors = received(read_pcie(gpu({field(number): number for number in numbers}))).errors
    assert (errors.replay_counter, errors.l0_to_recovery, errors.correctable) == (94, 169, 173)
    assert {getattr(errors, name) for name in errors.__struct_fields__} == set(numbers)


def test_a_link_that_changes_its_speed_is_in_no_trouble() -> None:
    trouble = {name for name, fact in PcieErrors.__facts__.items() if fact.trouble}
    assert PcieErrors.__facts__.keys() - trouble == {"l0_to_recovery", "unsupported_request"}


def test_a_driver_without_the_field_tells_replays_by_its_older_call() -> None:
    answers = {field(94): UNSUPPORTED, "nvmlDeviceGetPcieReplayCounter": 150}
    assert read_pcie(gpu(answers)).errors.replay_counter == 150


def test_a_sample_of_the_link_holds_only_what_moves() -> None:
    answers = {"nvmlDeviceGetCurrPcieLinkGeneration": 5, "nvmlDeviceGetCurrPcieLinkWidth": 16, field(94): 7}
    pcie = sample_pcie(gpu(answers))
    assert (pcie.link_gen_current, pcie.link_width_current, pcie.errors.replay_counter) == (5, 16, 7)
    assert pcie.link_gen_max is pcie.errors.fatal is NOT_READ


def test_the_speed_of_a_generation_to_come_is_not_known_and_costs_nothing_else() -> None:
    pcie = sample_pcie(gpu({"nvmlDeviceGetCurrPcieLinkGeneration": 7, "nvmlDeviceGetCurrPcieLinkWidth": 16}))
    assert (pcie.link_gen_current, pcie.link_speed, pcie.link_width_current) == (7, UNSUPPORTED, 16)


def test_what_a_link_carries_follows_from_generation_and_lanes_less_the_encoding() -> None:
    assert [carries(generation, 16) for generation in (1, 2, 3, 4, 5, 6)] == [4000, 8000, 15753, 31507, 63015, 121000]
    assert (carries(4, 4), carries(7, 16)) == (7876, UNSUPPORTED)


def test_what_crossed_the_link_is_counted_by_the_gpu_and_sampled() -> None:
    told = gpu({field(197): 3_020_371_496, field(198): 3_893_142_392})
    for pcie in (read_pcie(told), sample_pcie(told)):
        assert (pcie.tx_bytes, pcie.rx_bytes) == (3_020_371_496, 3_893_142_392)


# NVLink


def link(number: int, **changed: Any) -> dict[str, Any]:
    """What a link of an H100 to a switch answers. changed: `state`, `speed`, `replays` ..."""
    told = {"state": 1, "version": 6, "speed": 26562, "replays": 0, "recoveries": 0, "crc": 0, **changed}
    return {
        f"nvmlDeviceGetNvLinkState({number})": told["state"],
        f"nvmlDeviceGetNvLinkVersion({number})": told["version"],
        f"nvmlDeviceGetNvLinkRemoteDeviceType({number})": 2,
        f"nvmlDeviceGetNvLinkRemotePciInfo({number})": {"busId": "00000000:AB:00.0"},
        field(164, number): told["speed"],
        field(165, number): told["state"],
        field(161, number): told["replays"],
        field(162, number): told["recoveries"],
        field(163, number): told["crc"],
        field(215, number): UNSUPPORTED,
        field(219, number): UNSUPPORTED,
    }


def linked(*links: Mapping[str, Any], **fields: Any) -> NvLinks:
    answers: dict[str, Any] = {field(91): len(links), field(90): 26562}
    for told in links:
        answers |= told
    return received(read_nvlink(gpu({**answers, **fields})))


def test_each_link_tells_its_state_speed_and_other_end() -> None:
    links = linked(*map(link, range(18)))
    assert (links.link_count, links.active, links.speed) == (18, 18, 26562)
    assert isinstance(links.links, Map)
    assert list(links.links.items) == [str(number) for number in range(18)]
    first = links.links.items["0"]
    assert (first.state, first.version, first.speed) == ("active", "4.0", 26562)
    assert (first.remote_device_type, first.remote_pci) == ("switch", "0000:ab:00.0")


def test_a_link_that_is_down_is_one_fewer() -> None:
    links = linked(link(0), link(1, state=0), link(2, state=3))
    assert links.active == 1
    assert isinstance(links.links, Map)
    assert [one.state for one in links.links.items.values()] == ["active", "inactive", "active_traffic_disabled"]


def test_ports_that_are_not_in_use_count_as_not_active() -> None:
    silent = {key: UNSUPPORTED for number in (1, 2) for key in link(number)}
    assert linked(link(0), silent, {}).active == 1
    assert linked(dict.fromkeys(link(0), UNSUPPORTED)).active == 0


def test_links_that_were_not_told_are_not_taken_for_inactive_ones() -> None:
    hung = Gap("timed_out", "NVML: nvmlDeviceGetNvLinkState since 3 s")
    links = linked(link(0), dict.fromkeys(link(1), hung))
    assert links.active == links.errors.replay == hung


def test_a_driver_that_does_not_know_a_links_further_states_tells_whether_it_is_up() -> None:
    assert linked({**link(0), field(165): UNSUPPORTED}).active == 1


@pytest.mark.parametrize("count", [0, UNSUPPORTED, -1, (1 << 32) - 1, 1 << 63])
def test_a_gpu_without_links_has_no_collection_of_them(count: object) -> None:
    links = received(read_nvlink(gpu({field(91): count})))
    assert links.links == links.active == links.errors.crc == UNSUPPORTED


TOTALS = {field(38): 3, field(45): 4, field(52): 5, field(59): 6, field(160): 7}


def test_errors_of_hoppers_links_are_added_up_since_the_totals_stay_at_zero() -> None:
    links = linked(link(0, replays=2, crc=1), link(1, replays=3, recoveries=4), **dict.fromkeys(TOTALS, 0))
    assert (links.errors.replay, links.errors.recovery, links.errors.crc) == (5, 4, 1)
    assert links.errors.ecc == links.errors.link_recovery == UNSUPPORTED


def test_errors_of_blackwells_links_are_counted_by_their_own_fields() -> None:
    none = {field(number, one): UNSUPPORTED for number in (161, 162, 163) for one in (0, 1)}
    told = {field(215, one): 1 for one in (0, 1)} | {field(219, one): 10 for one in (0, 1)}
    links = linked(link(0, version=7), link(1, version=7), none, told, **{field(91): 2}, **dict.fromkeys(TOTALS, 0))
    assert (links.errors.link_recovery, links.errors.effective) == (2, 20)
    assert links.errors.replay == links.errors.crc == UNSUPPORTED


def test_before_hopper_nvmls_totals_are_believed() -> None:
    none = {field(number, one): UNSUPPORTED for number in (161, 162, 163) for one in (0, 1)}
    links = linked(link(0, version=4), link(1, version=4), none, **{field(91): 2}, **TOTALS)
    errors = links.errors
    assert (errors.crc, errors.replay, errors.recovery, errors.ecc) == (7, 5, 6, 7)


def test_links_are_asked_for_all_of_this_and_answer_under_their_numbers(fake_nvml: FakeNvml) -> None:
    answers = {field(91): 2, field(90): 26562, **link(0, replays=1), **link(1, replays=2, state=2)}
    answers = {key: value for key, value in answers.items() if not isinstance(value, Gap)}
    fake = fake_nvml({"system": {}, "devices": {GPU: answers}})
    links = received(read_nvlink(gpu({})._replace(host=fake.host())))
    assert isinstance(links.links, Map)
    assert [one.state for one in links.links.items.values()] == ["active", "sleep"]
    assert [one.remote_pci for one in links.links.items.values()] == ["0000:ab:00.0"] * 2
    assert (links.active, links.errors.replay, links.errors.effective) == (2, 3, UNSUPPORTED)


def test_what_crossed_all_links_is_one_answer_a_direction_in_kib() -> None:
    told = gpu({field(91): 18, field(138, ALL_LINKS): 7, field(139, ALL_LINKS): 9})
    for links in (read_nvlink(told), sample_nvlink(told)):
        assert (links.data_tx, links.data_rx) == (7 * 1024, 9 * 1024)


def test_traffic_is_told_by_a_library_in_the_call_that_a_sample_makes_anyway(fake_nvml: FakeNvml) -> None:
    answers = {field(197): 1, field(198): 2, field(138, ALL_LINKS): 3, field(139, ALL_LINKS): 4}
    fake = fake_nvml({"system": {}, "devices": {GPU: answers}})
    told = gpu({})._replace(host=fake.host())
    told.host.nvml_sample()
    pcie, links = sample_pcie(told), sample_nvlink(told)
    assert (pcie.tx_bytes, pcie.rx_bytes, links.data_tx, links.data_rx) == (1, 2, 3 * 1024, 4 * 1024)
    assert fake.called("nvmlDeviceGetFieldValues") == 1


@pytest.mark.parametrize(("code", "gap"), [(2, "unsupported"), (3, "unsupported"), (4, "denied")])
def test_traffic_that_is_not_told_is_no_zero(fake_nvml: FakeNvml, code: int, gap: str) -> None:
    """An older driver, another product, and a host that keeps these counters to root (RmProfilingAdminOnly)."""
    refused = {key: {"error": code} for key in (field(197), field(138, ALL_LINKS))}
    told = gpu({})._replace(host=fake_nvml({"system": {}, "devices": {GPU: refused}}).host())
    assert (read_pcie(told).tx_bytes, read_nvlink(told).data_tx) == (Gap(gap), Gap(gap))  # type: ignore[arg-type]


def test_a_pci_address_is_written_as_the_kernel_does() -> None:
    assert slot("00000000:AB:00.0") == "0000:ab:00.0"
    assert slot("00010000:01:00.0") == "10000:01:00.0"


# Fabric

JOINED = {
    "clusterUuid": [0x79, 0x49, 0x74, 0x37, 0x20, 0x81, 0x51, 0xDF, 0xD5, 0xD8, 0x04, 0xBB, 0xEE, 0x59, 0xC2, 0xF2],
    "status": 0, "cliqueId": 2, "state": 3, "healthMask": 0b0001_10_10_10_10, "healthSummary": 1,
}  # fmt: skip
UPTIME = ("text", "/proc/uptime")


def fabric(uptime: float = 9000.0, log: str | Gap = "", **changed: Any) -> Any:
    told = {"nvmlDeviceGetGpuFabricInfoV": {**JOINED, **changed}}
    return received(read_fabric(gpu(told, {UPTIME: f"{uptime} 1.0\n", ("kernel_log", ""): log})))


def test_a_gpu_that_has_joined_tells_where_and_how_well() -> None:
    joined = fabric()
    assert (joined.state, joined.status, joined.clique_id) == ("completed", "success", 2)
    assert joined.cluster_uuid == "79497437-2081-51df-d5d8-04bbee59c2f2"
    health = joined.health
    assert (health.summary, health.bandwidth, health.route_unhealthy) == ("healthy", "full", "no")
    assert (health.incorrect_configuration, health.partition_assigned) == ("none", UNSUPPORTED)


@pytest.mark.parametrize("name", MASK)
def test_each_part_of_the_health_mask_is_read_at_its_place_alone(name: str) -> None:
    shift, _, words = MASK[name]
    for number, word in words.items():
        health = fabric(healthMask=number << shift).health
        assert {part: getattr(health, part) for part in MASK} == {**dict.fromkeys(MASK, UNSUPPORTED), name: word}


def test_a_gpu_that_has_not_joined_is_given_time_after_boot_and_then_has_failed_to() -> None:
    early, late = fabric(40.0, state=2), fabric(4000.0, state=2)
    assert early.state == early.clique_id == early.health.summary == Gap("settling")
    assert (late.state, late.clique_id) == ("in_progress", Gap("not_observable"))


LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"


@pytest.mark.parametrize(
    ("log", "state"),
    [
        (f"900,8000000;{LOADED}\n950,8900000000;{LOADED}", Gap("settling")),
        (f"900,8000000;{LOADED}", "in_progress"),
        (Gap("denied"), "in_progress"),
    ],
)
def test_time_is_given_after_the_driver_was_loaded_anew_too(log: str | Gap, state: str | Gap) -> None:
    assert fabric(9000.0, log, state=2).state == state


def test_numbers_that_are_all_ones_are_none() -> None:
    joined = fabric(healthMask=0xFFFFFFFF, cliqueId=0xFFFFFFFF)
    assert joined.clique_id == joined.health.bandwidth == joined.health.partition_assigned == UNSUPPORTED
    assert joined.state == "completed"


def test_a_registration_that_failed_says_with_what() -> None:
    assert fabric(status=27).status == "not_ready"
    assert fabric(status=999).status == "unknown"


def test_a_gpu_that_joins_no_fabric_has_gaps() -> None:
    assert fabric(state=0).state == fabric(state=0).health.bandwidth == UNSUPPORTED


def test_an_older_driver_tells_no_health() -> None:
    first = {name: JOINED[name] for name in ("clusterUuid", "status", "cliqueId", "state")}
    joined = read_fabric(gpu({"nvmlDeviceGetGpuFabricInfoV": first}, {UPTIME: "9000.0 1.0\n"}))
    assert (joined.state, joined.health.summary, joined.health.bandwidth) == ("completed", UNSUPPORTED, UNSUPPORTED)


# Peers


def test_both_gpus_of_a_pair_tell_what_the_lower_one_was_asked() -> None:
    lower, higher = "0000:17:00.0", "0000:65:00.0"
    statuses = (0, 0, 5, 1)
    answers: dict[str, Any] = {f"nvmlDeviceGetP2PStatus({higher},{way})": told for way, told in enumerate(statuses)}
    answers[f"nvmlDeviceGetTopologyCommonAncestor({higher})"] = 30
    told = {("nvml", f"{lower} {call}"): answer for call, answer in answers.items()}
    listed = {("nvml_devices", ""): (lower, higher), **told}
    for one, other in ((lower, higher), (higher, lower)):
        peers = read_peers(gpu({}, listed, key=one))
        assert isinstance(peers, Map)
        (peer,) = (received(peers.items[key]) for key in [other])
        assert list(peers.items) == [other]
        assert (peer.topology, peer.p2p_read, peer.p2p_write) == ("PHB", "ok", "ok")
        assert (peer.p2p_nvlink, peer.p2p_atomics) == ("not_supported", "chipset_not_supported")


def test_peers_are_unknown_where_the_gpus_are() -> None:
    assert read_peers(gpu({}, {("nvml_devices", ""): Gap("timed_out")})) == Gap("timed_out")


def test_a_gpu_that_was_not_attached_says_why_it_has_no_peers() -> None:
    others = {("nvml_devices", ""): ("0000:65:00.0", "0000:ca:00.0")}
    assert read_peers(gpu({"nvmlDeviceGetUUID": Gap("lost")}, others)) == Gap("lost")


# Affinity


def test_near_cpus_and_memory_are_lists_as_linux_has_them() -> None:
    cpus = [0xFFFF, 0xFFFF] + [0] * 14
    answers = {"nvmlDeviceGetCpuAffinityWithinScope(16,0)": cpus, "nvmlDeviceGetMemoryAffinity(16,0)": [1] + [0] * 15}
    affinity = received(read_affinity(gpu({**answers, "nvmlDeviceGetNumaNodeId": 2})))
    assert (affinity.cpus, affinity.memory, affinity.numa_node) == ("0-15,64-79", "0", 2)


def test_no_near_cpu_at_all_is_not_known() -> None:
    assert as_list([0] * 16) == UNSUPPORTED


@given(st.frozensets(st.integers(0, 1023), min_size=1))
def test_a_mask_and_its_list_are_the_same_set(cpus: frozenset[int]) -> None:
    words = [sum(1 << cpu % 64 for cpu in cpus if cpu // 64 == at) for at in range(16)]
    text = as_list(words)
    assert isinstance(text, str)
    assert cpu_list(text) == cpus


@pytest.mark.parametrize(("generation", "speed"), [(4, 16000), (1, 2500), (0, UNSUPPORTED)])
def test_a_sample_tells_the_speed_of_a_lane_by_the_generation(generation: int, speed: int | Gap) -> None:
    assert sample_pcie(gpu({"nvmlDeviceGetCurrPcieLinkGeneration": generation})).link_speed == speed
