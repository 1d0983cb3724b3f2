"""A GPU divided, shared or sealed off: MIG, virtualization and licences, confidential computing, GSP."""

from typing import Any

import pytest

from probes.gpu.confidential import read_confidential
from probes.gpu.gsp import read_gsp
from probes.gpu.mig import read_mig
from probes.gpu.nvlink import read_nvlink
from probes.gpu.virtualization import read_virtualization
from probes.kit.facts import Gap, Map
from tests.nvml.fake import FakeNvml
from tests.nvml.scenario import ABORT
from tests.probes.asked import GPU, field, gpu, received

UNSUPPORTED = Gap("unsupported")
ON = {"nvmlDeviceGetMigMode": [1, 1], "nvmlDeviceGetMaxMigDeviceCount": 7}


def instance(whole: int, part: int, **changed: Any) -> dict[str, Any]:
    """What a MIG device answers."""
    return {
        "nvmlDeviceGetGpuInstanceId": whole,
        "nvmlDeviceGetComputeInstanceId": part,
        "nvmlDeviceGetUUID": f"MIG-{whole}-{part}",
        "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "nvmlDeviceGetAttributes_v2": {
            "multiprocessorCount": 60, "sharedCopyEngineCount": 3, "sharedDecoderCount": 3, "sharedEncoderCount": 0,
            "sharedJpegCount": 3, "sharedOfaCount": 0, "gpuInstanceSliceCount": 3, "computeInstanceSliceCount": 3,
            "memorySizeMB": 40448,
        },
        "nvmlDeviceGetMemoryInfo": {"total": 40448 << 20, "reserved": 0, "free": 40423 << 20, "used": 26 << 20},
        **changed,
    }  # fmt: skip


def asked_of(index: int, answers: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {("nvml", f"{GPU}/mig/{index} {call}"): answer for call, answer in answers.items()}


def test_instances_are_keyed_by_what_they_are_part_of_and_not_by_their_index() -> None:
    others = asked_of(0, instance(2, 0)) | asked_of(3, instance(9, 1))
    mig = received(read_mig(gpu(ON, others)))
    assert (mig.mode_current, mig.mode_pending, mig.max_count) == ("enabled", "enabled", 7)
    assert isinstance(mig.instances, Map)
    assert list(mig.instances.items) == ["2/0", "9/1"]
    one = mig.instances.items["2/0"]
    assert (one.uuid, one.profile) == ("MIG-2-0", "NVIDIA H100 80GB HBM3 MIG 3g.40gb")
    assert (one.gpu_slices, one.compute_slices, one.multiprocessors, one.copy_engines) == (3, 3, 60, 3)
    assert (one.memory_size, one.memory_used) == (40448, 26 << 20)


def test_more_instances_than_there_can_be_are_not_looked_for() -> None:
    assert received(read_mig(gpu({**ON, "nvmlDeviceGetMaxMigDeviceCount": 1 << 31}))).instances == Map({})


def test_a_gpu_that_is_not_divided_has_no_instances() -> None:
    mig = received(read_mig(gpu({"nvmlDeviceGetMigMode": [0, 1], "nvmlDeviceGetMaxMigDeviceCount": 7})))
    assert (mig.mode_current, mig.mode_pending, mig.instances) == ("disabled", "enabled", Map({}))


def test_a_gpu_that_cannot_be_divided_has_gaps() -> None:
    mig = received(read_mig(gpu({"nvmlDeviceGetMigMode": UNSUPPORTED})))
    assert mig.mode_current == mig.instances == UNSUPPORTED


def test_instances_that_a_container_may_not_see_are_denied_and_not_gone() -> None:
    denied = {"nvmlDeviceGetMigDeviceHandleByIndex(1)": Gap("denied")}
    assert received(read_mig(gpu({**ON, **denied}, asked_of(0, instance(2, 0))))).instances == Gap("denied")


def test_an_instance_that_hung_makes_the_list_unknown() -> None:
    hung = asked_of(1, instance(3, 0, nvmlDeviceGetComputeInstanceId=Gap("timed_out")))
    assert read_mig(gpu(ON, asked_of(0, instance(2, 0)) | hung)).instances == Gap("timed_out")


def test_instances_stand_although_nvml_crashed_after_them(fake_nvml: FakeNvml) -> None:
    linked = {field(91): 1, "nvmlDeviceGetNvLinkState(0)": ABORT}
    fake = fake_nvml({"system": {}, "devices": {GPU: {**ON, **linked}, f"{GPU}/mig/0": instance(2, 0)}})
    host = fake.host()
    instances = received(read_mig(gpu({})._replace(host=host))).instances
    assert isinstance(instances, Map)
    assert list(instances.items) == ["2/0"]
    assert read_nvlink(gpu({})._replace(host=host)).active == Gap("failed")


# Shares and licences


def feature(**changed: Any) -> dict[str, Any]:
    ends = {"year": 2027, "month": 3, "day": 1, "hour": 11, "min": 28, "sec": 34, "status": 2}
    return {
        "featureCode": 4, "featureState": 1, "licenseInfo": "", "productName": "NVIDIA Virtual Compute Server",
        "featureEnabled": 1, "licenseExpiry": ends, **changed,
    }  # fmt: skip


def licensed(*features: dict[str, Any]) -> dict[str, Any]:
    told = {"isGridLicenseSupported": 1, "licensableFeaturesCount": len(features)}
    blank = feature(featureCode=0, productName="")
    return {"nvmlDeviceGetGridLicensableFeatures_v4": {**told, "gridLicensableFeatures": [*features, blank]}}


def test_a_share_of_a_gpu_tells_its_licence_and_when_that_ends() -> None:
    virtual = received(read_virtualization(gpu({"nvmlDeviceGetVirtualizationMode": 2, **licensed(feature())})))
    assert virtual.mode == "vgpu"
    assert isinstance(virtual.licences, Map)
    assert list(virtual.licences.items) == ["compute"]
    licence = virtual.licences.items["compute"]
    assert (licence.product_name, licence.licensed, licence.enabled) == ("NVIDIA Virtual Compute Server", "yes", "yes")
    assert (licence.expiry_status, licence.expiry) == ("valid", 1803900514)


def test_a_missing_licence_is_told() -> None:
    without = feature(featureState=0, licenseExpiry={**feature()["licenseExpiry"], "status": 0})
    virtual = received(read_virtualization(gpu(licensed(without))))
    assert isinstance(virtual.licences, Map)
    licence = virtual.licences.items["compute"]
    assert (licence.licensed, licence.expiry_status, licence.expiry) == ("no", "not_available", Gap("absent"))


def test_a_whole_gpu_needs_no_licence() -> None:
    none = {"isGridLicenseSupported": 0, "licensableFeaturesCount": 0, "gridLicensableFeatures": []}
    answers = {"nvmlDeviceGetVirtualizationMode": 0, "nvmlDeviceGetGridLicensableFeatures_v4": none}
    virtual = received(read_virtualization(gpu(answers)))
    assert (virtual.mode, virtual.licences) == ("none", UNSUPPORTED)


# Sealed off, and the GPU's own processor


def test_protected_memory_and_its_encryption_are_told() -> None:
    answers = {
        "nvmlDeviceGetDramEncryptionMode": [1, 0],
        "nvmlDeviceGetConfComputeMemSizeInfo": {"protectedMemSizeKib": 83886080, "unprotectedMemSizeKib": 16384},
        "nvmlDeviceGetConfComputeProtectedMemoryUsage": {"total": 1 << 36, "free": 1 << 35, "used": 1 << 35},
    }
    sealed = received(read_confidential(gpu(answers)))
    assert (sealed.dram_encryption_current, sealed.dram_encryption_pending) == ("enabled", "disabled")
    assert (sealed.protected_size, sealed.unprotected_size, sealed.protected_used) == (83886080, 16384, 1 << 35)


@pytest.mark.parametrize(("answer", "words"), [([1, 1], ("enabled", "enabled")), ([0, 1], ("disabled", "enabled"))])
def test_whether_firmware_does_the_drivers_work_is_told_beside_the_default(
    answer: list[int], words: tuple[str, str]
) -> None:
    told = {"nvmlDeviceGetGspFirmwareMode": answer, "nvmlDeviceGetGspFirmwareVersion": "580.65.06"}
    gsp = received(read_gsp(gpu(told)))
    assert (gsp.mode_current, gsp.mode_default, gsp.version) == (*words, "580.65.06")
