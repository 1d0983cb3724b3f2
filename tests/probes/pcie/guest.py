"""A guest of qemu's: Debian's kernel, this host's files read-only, and a PCI bus that is known."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

QEMU, BUSYBOX = "qemu-system-x86_64", "busybox"
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "nvme", "e1000e")
SECONDS = 500
INIT = """\
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /host
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
for module in /modules/*; do /bin/busybox insmod $module; done
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /host
for each in proc sys dev; do /bin/busybox mount --bind /$each /host/$each; done
/bin/busybox mount -t cgroup2 none /host/sys/fs/cgroup
/bin/busybox mount -t tmpfs none /host/mnt
/bin/busybox cp /asked /host/mnt/asked
/bin/busybox stty -F /dev/ttyS1 raw
/bin/busybox chroot /host /bin/sh /mnt/asked > /dev/ttyS1 2>&1
/bin/busybox poweroff -f
"""


def download_kernel(folder: Path) -> Path:
    """Debian's kernel of this release, unpacked. Raises OSError, or CalledProcessError, where it cannot be had."""
    depends = _output(["apt-cache", "depends", "linux-image-amd64"])
    (package,) = re.findall(r"Depends: (linux-image-\S+)", depends)
    _output(["apt-get", "download", package], folder)
    (archive,) = folder.glob("linux-image-*.deb")
    _output(["dpkg-deb", "-x", str(archive), str(folder / "kernel")])
    archive.unlink()
    return folder / "kernel"


def _output(argv: Sequence[str], folder: Path = Path("/")) -> str:
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout


def asked(
    kernel: Path, devices: Sequence[str], commands: Mapping[str, str], folder: Path, line: str = "intel_iommu=on"
) -> dict[str, str]:
    """What each shell command printed in a guest with these devices, by the same names. line: of the kernel's boot."""
    script = "".join(f"echo '<<{name}>>'\n{command}\n" for name, command in commands.items())
    (folder / "initrd").write_bytes(_archive(_files(kernel, script)))
    answer = folder / "answer"
    argv = [
        QEMU, *devices, "-kernel", str(next((kernel / "boot").glob("vmlinuz-*"))), "-initrd", str(folder / "initrd"),
        "-append", f"console=ttyS0 quiet panic=-1 {line}",
        "-fsdev", "local,id=files,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,bus=pcie.0,fsdev=files,mount_tag=host",
        "-serial", f"file:{folder / 'console'}", "-serial", f"file:{answer}", "-display", "none", "-no-reboot",
    ]  # fmt: skip
    subprocess.run(argv, check=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    parts = re.split(r"<<([\w-]+)>>\r?\n", answer.read_text(errors="replace"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _files(kernel: Path, script: str) -> Iterator[tuple[str, int, bytes]]:
    """Name, mode and content."""
    busybox = shutil.which(BUSYBOX)
    assert busybox is not None
    yield from ((name, 0o40755, b"") for name in ("bin", "dev", "host", "modules", "proc", "sys"))
    yield "bin/busybox", 0o100755, Path(busybox).read_bytes()
    yield "init", 0o100755, INIT.encode()
    yield "asked", 0o100644, script.encode()
    for at, module in enumerate(_in_order(kernel)):
        yield f"modules/{at:03}-{module.name}", 0o100644, module.read_bytes()


def _in_order(kernel: Path) -> Iterator[Path]:
    """The modules, those before them that they need."""
    there = {path.name.removesuffix(".ko").replace("-", "_"): path for path in (kernel / "lib/modules").rglob("*.ko")}
    loaded: dict[str, Path] = {}

    def load(name: str) -> None:
        needed = re.search(rb"\0depends=([^\0]*)\0", there[name].read_bytes())
        for other in filter(None, needed[1].decode().split(",") if needed else ()):
            load(other.replace("-", "_"))
        loaded.setdefault(name, there[name])

    for name in MODULES:
        load(name.replace("-", "_"))
    yield from loaded.values()


def _archive(files: Iterator[tuple[str, int, bytes]]) -> bytes:
    """In the format of cpio that the kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    whole = bytearray()
    for number, (name, mode, content) in enumerate([*files, ("TRAILER!!!", 0, b"")]):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        whole += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        whole += bytes(-len(whole) % 4) + content
        whole += bytes(-len(whole) % 4)
    return bytes(whole)


def may_accelerate() -> bool:
    return os.access("/dev/kvm", os.R_OK | os.W_OK)
