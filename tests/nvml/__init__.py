"""A fake NVML: a library in C that answers as nvml.h says, by a scenario beside it that may change as it runs.

def test_x(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM", 8, "580.65.06"))
    fake.put("0000:17:00.0", "nvmlDeviceGetPowerManagementLimit", 450_000)
    fake.host().nvml("0000:17:00.0", "nvmlDeviceGetPowerManagementLimit")  # 450000
"""
