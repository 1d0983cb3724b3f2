import errno
import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from probes.kit.answers import Space, Stat
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import ERRNO_GAPS, Host, gap_of
from probes.kit.redact import Redactor
from tests.waiting import until

# Everything that open(2), read(2), readdir(3) and execve(2) document and that ERRNO_GAPS does not name: each means
# that the read went wrong, or that what is there makes no sense. Reviewed one by one; a new errno must be, too.
DELIBERATELY_FAILED = set(
    "E2BIG EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT"
    " EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDOTDOT"
    " EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EIO EISCONN EISDIR"
    " EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX"
    " ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET"
    " ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET"
    " ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOTBLK ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTUNIQ"
    " EOVERFLOW EOWNERDEAD EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO"
    " ERESTART ERFKILL ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRMNT ESTRPIPE ETIME ETOOMANYREFS ETXTBSY EUCLEAN"
    " EUNATCH EUSERS EXDEV EXFULL".split()
)


def gap(seen: object) -> tuple[str, str]:
    assert isinstance(seen, Gap), seen
    return seen.code, seen.detail


@contextmanager
def plain_user() -> Iterator[None]:
    """Root may read everything, so root becomes nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_every_error_of_this_kernel_has_a_gap_or_is_deliberately_failed() -> None:
    mapped = {errno.errorcode[number] for number in ERRNO_GAPS}
    unknown = {errno.errorcode[n] for n in errno.errorcode if n not in ERRNO_GAPS} - DELIBERATELY_FAILED
    assert unknown <= {"ENOTSUP", "EDEADLOCK", "EWOULDBLOCK", "ENOTCAPABLE", "EQFULL"}
    assert not mapped & DELIBERATELY_FAILED


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_an_error_becomes_a_gap_with_the_kernels_words(number: int) -> None:
    answer = gap_of(OSError(number, os.strerror(number), "/somewhere"))
    assert answer.code == ERRNO_GAPS.get(number, "failed")
    assert answer.detail == os.strerror(number)


def test_an_error_without_a_number_is_failed() -> None:
    assert gap(gap_of(OSError("odd"))) == ("failed", "odd")


def test_a_file_is_read_to_its_end_and_bad_bytes_stay_visible(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\xff" + b"x" * 200_000 + b"\n")
    assert Host().text(f"{tmp_path}/f") == "a\\xff" + "x" * 200_000 + "\n"


def test_a_seq_file_that_hands_out_a_page_a_call_is_read_whole() -> None:
    mapped = Host().text("/proc/self/maps")
    assert isinstance(mapped, str)
    assert "[stack]" in mapped
    assert len(mapped) > 4096


def test_a_file_larger_than_the_cap_is_failed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 101)
    assert gap(Host().text(f"{tmp_path}/f", cap=100)) == ("failed", "longer than 100 bytes")
    assert Host().text(f"{tmp_path}/f", cap=101) == "x" * 101


def test_an_endless_device_is_refused_and_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("/dev/zero", f"{tmp_path}/fifo", str(tmp_path)):
        assert gap(Host().text(path)) == ("unsupported", "not a regular file")
        assert gap(Host().sha256(path)) == ("unsupported", "not a regular file")


def test_a_socket_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/socket")
        assert isinstance(Host().text(f"{tmp_path}/socket"), Gap)


READS: list[Callable[[Host, str], Any]] = [
    Host.text,
    Host.line,
    Host.number,
    Host.names,
    Host.link,
    Host.stat,
    Host.sha256,
]


@pytest.mark.parametrize("read", READS)
def test_what_is_not_there_is_absent(read: Callable[[Host, str], Any], tmp_path: Path) -> None:
    assert gap(read(Host(), f"{tmp_path}/gone"))[0] == "absent"
    (tmp_path / "file").write_text("")
    assert gap(read(Host(), f"{tmp_path}/file/below"))[0] == "absent"


@pytest.mark.parametrize("read", READS)
def test_what_may_not_be_read_is_denied(read: Callable[[Host, str], Any], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "file").write_text("1")
    closed.chmod(0)
    try:
        with plain_user():
            assert gap(read(Host(), f"{closed}/file"))[0] == "denied"
    finally:
        closed.chmod(0o700)


def test_a_file_of_mode_000_is_denied(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    (tmp_path / "file").chmod(0)
    with plain_user():
        assert gap(Host().text(f"{tmp_path}/file")) == ("denied", "Permission denied")


def test_what_vanishes_while_it_is_read_is_absent() -> None:
    child = subprocess.Popen(["sleep", "600"])
    child.kill()
    child.wait()
    assert gap(Host().text(f"/proc/{child.pid}/status"))[0] == "absent"
    assert gap(Host().environ(child.pid))[0] == "absent"
    assert gap(Host().arguments(child.pid))[0] == "absent"
    assert gap(Host().io_priority(child.pid)) == ("absent", "the process ended")


def test_a_process_that_ends_between_open_and_read_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["sleep", "600"])
    read = os.read

    def late(fd: int, size: int) -> bytes:
        child.kill()
        child.wait()
        return read(fd, size)

    monkeypatch.setattr(os, "read", late)
    assert gap(Host().text(f"/proc/{child.pid}/limits"))[0] == "absent"


def test_nothing_stays_open_whatever_was_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "big").write_text("x" * 200)
    before = len(os.listdir("/proc/self/fd"))
    for path in ("fifo", "big", "gone", "."):
        Host().text(f"{tmp_path}/{path}", cap=100)
        Host().sha256(f"{tmp_path}/{path}")
    assert len(os.listdir("/proc/self/fd")) == before


def test_line_strips_and_an_empty_file_is_an_empty_string(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("  madvise \n")
    (tmp_path / "e").write_text("")
    assert Host().line(f"{tmp_path}/f") == "madvise"
    assert Host().line(f"{tmp_path}/e") == ""


@pytest.mark.parametrize(
    ("text", "number"), [("42\n", 42), (" -1 ", -1), ("0x1f\n", 31), ("0X1F", 31), ("0", 0), ("007\n", 7), ("0000", 0)]
)
def test_numbers_are_decimal_or_hexadecimal(text: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    assert Host().number(f"{tmp_path}/f") == number


@pytest.mark.parametrize("text", ["", "\n", "max", "1.5", "1 2", "0b1", "0o7", "1_000", "0x", "\u0661"])
def test_what_is_no_number_is_failed(text: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    assert gap(Host().number(f"{tmp_path}/f"))[0] == "failed"


def test_names_are_sorted_and_those_that_are_no_text_stay_visible(tmp_path: Path) -> None:
    for name in (b"b", b"a", b"\xff\xfe"):
        (tmp_path / os.fsdecode(name)).write_text("")
    assert Host().names(str(tmp_path)) == ("\\xff\\xfe", "a", "b")


def test_a_link_is_told_as_written_and_a_stat_follows_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "odd").symlink_to(os.fsdecode(b"\xff"))
    assert Host().link(f"{tmp_path}/link") == "file"
    assert Host().link(f"{tmp_path}/odd") == "\\xff"
    info = Host().stat(f"{tmp_path}/link")
    assert isinstance(info, Stat)
    assert (info.size, info.inode, info.uid) == (5, (tmp_path / "file").stat().st_ino, os.geteuid())


def test_a_name_that_is_no_text_can_be_read_through_what_names_showed_or_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).write_text("x")
    (name,) = Host().names(str(tmp_path))  # type: ignore[misc]
    assert gap(Host().text(f"{tmp_path}/{name}"))[0] == "absent"


@pytest.mark.parametrize("read", READS)
def test_a_path_that_no_file_can_have_is_a_gap(read: Callable[[Host, str], Any]) -> None:
    assert gap(read(Host(), "/tmp/a\0b"))[0] == "absent"
    assert gap(read(Host(), "/" + "x" * 5000))[0] == "failed"


def test_a_digest_is_that_of_the_content_and_follows_a_rewrite(tmp_path: Path) -> None:
    host, file = Host(), tmp_path / "f"
    for content in (b"one", b"three"):
        file.write_bytes(content)
        assert host.sha256(str(file)) == hashlib.sha256(content).hexdigest()


def test_a_digest_of_what_is_too_large_is_failed_without_reading(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate((512 << 20) + 1)
    assert gap(Host().sha256(f"{tmp_path}/sparse")) == ("failed", "larger than 512 MiB")


def test_a_tree_answers_for_itself_and_not_for_this_machine(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/version").write_text("Linux version 5.15\n")
    host = Host(f"{tmp_path}/")
    assert host.line("/proc/version") == "Linux version 5.15"
    assert gap(host.text("/proc/cpuinfo")) == ("not_read", "not in this tree")
    assert gap(host.names("/sys")) == ("not_read", "not in this tree")


@pytest.mark.parametrize(
    "ask",
    [
        Host.cpuid,
        lambda host: host.command(["true"]),
        lambda host: host.io_priority(os.getpid()),
    ],
)
def test_a_tree_of_files_does_not_tell_what_is_in_no_file(ask: Callable[[Host], Any], tmp_path: Path) -> None:
    assert gap(ask(Host(str(tmp_path))))[0] == "not_read"


def test_of_a_file_full_of_secrets_only_what_was_looked_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "unit").write_text("Environment=TOKEN=abc\nExecStart=/opt/a --key b\nExecStartPost=/opt/c\n")
    host = Host()
    assert host.matching(str(tmp_path / "unit"), "^ExecStart[A-Z]?[a-z]*=([^ \n]+)") == ("/opt/a", "/opt/c")
    assert host.matching(str(tmp_path / "unit"), "^Exec[A-Za-z]+") == ("ExecStart", "ExecStartPost")
    assert gap(host.matching(str(tmp_path / "none"), "x"))[0] == "absent"


def test_a_command_answers_or_says_why_not() -> None:
    assert Host().command(["echo", "hello"]) == "hello\n"
    assert gap(Host().command(["no-such-program-of-ours"]))[0] == "absent"
    assert gap(Host().command(["sleep", "600"], budget=0.05))[0] == "timed_out"


def test_private_values_are_redacted_before_anybody_sees_them() -> None:
    redactor = Redactor(b"key")
    host = Host(redactor=redactor)
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)", "--api-key", "s3cret"],
        env={"NCCL_PROTO": "LL", "BANK_PIN": "1234"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout
        child.stdout.readline()
        assert host.environ(child.pid) == Map({"BANK_PIN": redactor.redacted("1234"), "NCCL_PROTO": "LL"})
        arguments = host.arguments(child.pid)
        assert isinstance(arguments, tuple)
        assert arguments[-2:] == ("--api-key", redactor.redacted("s3cret"))
    finally:
        child.kill()
        child.communicate()


def test_without_a_key_nothing_redacted_compares_with_another_host() -> None:
    first, second = Host().redactor.redacted("x"), Host().redactor.redacted("x")
    assert isinstance(first, Redacted)
    assert first.key != second.key
    assert first.digest != second.digest


def test_the_io_priority_is_in_the_kernels_words() -> None:
    child = subprocess.Popen(["ionice", "-c2", "-n5", "sleep", "600"])
    try:
        until(lambda: Host().io_priority(child.pid) == "best-effort/5")
    finally:
        child.kill()
        child.wait()


def test_processes_are_found_by_the_name_that_the_kernel_keeps(tmp_path: Path) -> None:
    for pid, name in (("7", "nvidia-persiste"), ("8", "bash"), ("9", "bash")):
        (tmp_path / "proc" / pid).mkdir(parents=True)
        (tmp_path / "proc" / pid / "comm").write_text(f"{name}\n")
    (tmp_path / "proc/10").mkdir()  # it ended while it was read
    (tmp_path / "proc/uptime").write_text("")
    found = Host(str(tmp_path)).pids("nvidia-persistenced", "bash", "none")
    assert not isinstance(found, Gap)
    assert {name: sorted(pids) for name, pids in found.items()} == {
        "nvidia-persistenced": [7], "bash": [8, 9], "none": [],
    }  # fmt: skip


def test_this_process_is_among_those_of_its_name() -> None:
    name = Host().line("/proc/self/comm")
    assert isinstance(name, str)
    found = Host().pids(name)
    assert not isinstance(found, Gap)
    assert os.getpid() in found[name]


def test_the_size_of_a_file_system_is_that_which_df_tells() -> None:
    seen = Host().space("/proc/self/../../tmp")
    told = subprocess.run(["df", "--block-size=1", "--output=size", "/tmp"], capture_output=True, text=True, check=True)
    assert isinstance(seen, Space)
    assert seen.size == int(told.stdout.split()[1])
    assert 0 <= seen.free <= seen.size


def test_what_is_open_is_told_by_the_names_that_were_asked_for(tmp_path: Path) -> None:
    with open(tmp_path / "kept", "w"), open(tmp_path / "other", "w"):
        assert Host().opened(os.getpid(), f"{tmp_path}/k") == (f"{tmp_path}/kept",)
    assert Host().opened(os.getpid(), f"{tmp_path}/k") == ()
