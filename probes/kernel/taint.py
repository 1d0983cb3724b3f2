"""What /proc/sys/kernel/tainted means (Documentation/admin-guide/tainted-kernels.rst)."""

# Bit n is the n-th name: TAINT_* of include/linux/panic.h.
FLAGS = (
    "proprietary_module", "forced_module", "cpu_out_of_spec", "forced_rmmod", "machine_check", "bad_page", "user",
    "die", "overridden_acpi_table", "warn", "crap", "firmware_workaround", "oot_module", "unsigned_module",
    "softlockup", "livepatch", "aux", "randstruct", "test", "fwctl",
)  # fmt: skip


def taints(mask: int) -> tuple[str, ...]:
    """The flags that are set, in the order of their bits; a bit this table does not know is `bit N`."""
    bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    return tuple(FLAGS[bit] if bit < len(FLAGS) else f"bit {bit}" for bit in bits)
