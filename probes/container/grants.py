"""What the kernel lets a container do, and which devices it was given."""

from probes.kit.answering import answering
from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.parse import fields

# By number, include/uapi/linux/capability.h of Linux 6.12.
_NAMES = tuple(
    "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service"
    " net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin"
    " sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override"
    " mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore".split()
)
ALL = ("all",)
_DEVICE = lazy_regex(
    r"nvidia(?:\d+|ctl|-uvm\S*|-modeset|-caps|-nvswitch\S*|-caps-imex-channels)?|infiniband|gdrdrv|kfd|dri"
)


def capabilities(host: Host, pid: int) -> Seen[tuple[str, ...]]:
    last = host.number("/proc/sys/kernel/cap_last_cap")
    status = then(host.text(f"/proc/{pid}/status"), fields)
    return then(status, lambda lines: then(last, lambda number: _named(int(lines["CapEff"], 16), number)))


def _named(mask: int, last: int) -> tuple[str, ...]:
    if mask == (1 << last + 1) - 1:
        return ALL
    numbers = (number for number in range(mask.bit_length()) if mask >> number & 1)
    return tuple(sorted(_NAMES[number] if number < len(_NAMES) else str(number) for number in numbers))


def label(host: Host, pid: int) -> Seen[str]:
    """Of AppArmor where there is a file of its own (Linux 5.8), else of the security module that comes first."""
    own = host.line(f"/proc/{pid}/attr/apparmor/current")
    told = host.line(f"/proc/{pid}/attr/current") if isinstance(own, Gap) or not own else own
    if isinstance(told, Gap) and told.code in ("unsupported", "absent"):
        return Gap("unsupported", "no security module labels processes here")
    return then(told, lambda text: text.rstrip("\0") or Gap("unsupported", "no security module labels processes here"))


def device_nodes(host: Host, pid: int) -> Seen[tuple[str, ...]]:
    return then(answering(host, pid).names("/dev"), lambda names: tuple(filter(_DEVICE.fullmatch, names)))
