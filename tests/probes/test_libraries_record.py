"""Which files of a package are others than RECORD says: by size, by time, and by content where these leave it open."""

import os
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from probes.kit.facts import NOT_READ, Gap
from probes.kit.host import Host
from probes.libraries import record as of_record
from probes.libraries.record import digest_of, lines_of
from probes.libraries.sections import Modified
from tests.probes.children import changes
from tests.probes.environments import Environment, package

FILES = {"vllm/engine.py": "a = 1\n", "vllm/kernel.so": "code", "vllm/include/x.h": "int x;\n"}
CLEAN = Modified(digest="clean", count=0, files=(), unsettled=0)


@pytest.fixture
def venv(tmp_path: Path) -> Environment:
    venv = Environment(tmp_path / "venv")
    venv.install("vllm", "0.11.0", FILES, INSTALLER="pip\n")
    return venv


def modified(venv: Environment, name: str = "vllm", host: Host | None = None) -> Modified:
    return package(venv.read(host=host), name).modified


def later(path: Path, seconds: int = 100) -> None:
    """Makes it newer than RECORD."""
    now = path.stat().st_mtime_ns + seconds * 10**9
    os.utime(path, ns=(now, now))


class Reading(Host):
    """Remembers which files it read whole."""

    def __init__(self, *, deep: bool = False) -> None:
        super().__init__(deep=deep)
        self.read: list[str] = []

    def sha256(self, path: str) -> "str | Gap":
        self.read.append(path.rpartition("/")[2])
        return super().sha256(path)


def test_an_untouched_package_is_clean_and_no_file_of_it_is_read(venv: Environment) -> None:
    host = Reading()
    assert modified(venv, host=host) == CLEAN
    assert host.read == []


def test_a_file_of_another_size_is_modified(venv: Environment) -> None:
    before = venv.read()
    (venv.site / "vllm/engine.py").write_text("a = 1\nprint(a)\n")
    after = venv.read()
    told = package(after, "vllm").modified
    assert (told.count, told.files, told.unsettled) == (1, ("vllm/engine.py",), 0)
    assert {path.rpartition("/")[2] for path in changes(before, after)} == {"digest", "count", "files"}


def test_a_newer_file_of_the_same_size_is_read(venv: Environment) -> None:
    engine = venv.site / "vllm/engine.py"
    later(engine)
    host = Reading()
    assert modified(venv, host=host) == CLEAN
    assert host.read == ["engine.py"]
    engine.write_text("a = 2\n")
    later(engine)
    assert modified(venv).files == ("vllm/engine.py",)


def edited_in_secret(path: Path, text: str) -> None:
    """As `touch -r` before and after: size and time of modification stay."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # the kernel's clock goes by ticks
        path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_an_edit_whose_time_was_set_back_is_found(venv: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Reading()
    monkeypatch.setattr(of_record, "SWEEP", 0)
    assert modified(venv, host=host) == CLEAN
    assert host.read == []
    edited_in_secret(venv.site / "vllm/engine.py", "a = 2\n")
    assert modified(venv, host=host).files == ("vllm/engine.py",)
    first = modified(venv, host=host).digest
    edited_in_secret(venv.site / "vllm/engine.py", "a = 3\n")
    assert modified(venv, host=host).digest != first


@pytest.mark.parametrize("sweep", ["another owner", "a link from another environment"])
def test_what_changes_each_inode_makes_nobody_read_all_files(
    sweep: str, venv: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_record, "SWEEP", 10**9 if sweep == "another owner" else 0)
    time.sleep(0.01)
    for number, path in enumerate((venv.site / "vllm").rglob("*.*")):
        path.chmod(0o600) if sweep == "another owner" else os.link(path, tmp_path / str(number))
    host = Reading()
    assert modified(venv, host=host) == CLEAN
    assert host.read == []


def test_two_edits_of_one_file_are_two_states(venv: Environment) -> None:
    seen = []
    for text in ("a = 22\n", "a = 33\n"):
        (venv.site / "vllm/engine.py").write_text(text)
        seen.append(modified(venv))
    assert seen[0].count == seen[1].count == 1
    assert seen[0].digest != seen[1].digest


def test_a_file_that_is_gone_is_modified(venv: Environment) -> None:
    (venv.site / "vllm/kernel.so").unlink()
    assert modified(venv).files == ("vllm/kernel.so",)


@pytest.mark.parametrize("name", ["tuned.json", "patch.py", "kernels.so"])
def test_a_file_that_was_put_beside_a_packages_own_is_modified(name: str, venv: Environment) -> None:
    (venv.site / "vllm" / name).write_text("{}")
    one = modified(venv)
    (venv.site / "vllm" / name).write_text("[]")
    assert (one.count, one.files) == (1, (f"vllm/{name}",))
    assert modified(venv).digest != one.digest


def test_what_runs_leave_behind_and_what_others_brought_is_none_of_a_package(venv: Environment) -> None:
    venv.install("nvidia_nccl_cu12", "2.27.3", {"nvidia/nccl/lib/libnccl.so.2": "code", "nvidia/nccl/__init__.py": ""})
    for path in ("vllm/__pycache__/engine.cpython-311.pyc", "vllm/run.log", "vllm/new/tuned.json", "nvidia/other.so"):
        (venv.site / path).parent.mkdir(exist_ok=True)
        (venv.site / path).write_text("written")
    (venv.site / "vllm/linked.py").symlink_to("engine.py")
    assert modified(venv) == modified(venv, "nvidia-nccl-cu12") == CLEAN


def test_a_file_that_record_names_without_a_hash_was_not_added(venv: Environment) -> None:
    with (venv.site / "vllm-0.11.0.dist-info/RECORD").open("a") as record:
        record.write("vllm/built.so,,\n")
    (venv.site / "vllm/built.so").write_text("here")
    os.utime(venv.site / "vllm-0.11.0.dist-info/RECORD")
    assert modified(venv) == CLEAN


def test_a_link_into_a_cache_is_the_file_that_it_leads_to(venv: Environment, tmp_path: Path) -> None:
    kernel = venv.site / "vllm/kernel.so"
    kernel.rename(tmp_path / "cached")
    kernel.symlink_to(tmp_path / "cached")
    assert modified(venv) == CLEAN


def test_headers_are_looked_at_when_all_is(venv: Environment) -> None:
    (venv.site / "vllm/include/x.h").write_text("int x, y;\n")
    assert modified(venv) == CLEAN
    assert modified(venv, host=Host(deep=True)).files == ("vllm/include/x.h",)


def test_a_package_that_is_not_watched_is_looked_at_when_all_is(venv: Environment) -> None:
    venv.install("plain", "1.0", {"plain/x.py": "1"})
    (venv.site / "plain/x.py").write_text("22")
    assert modified(venv, "plain") == Modified(digest=NOT_READ, count=NOT_READ, files=NOT_READ, unsettled=NOT_READ)
    assert modified(venv, "plain", Host(deep=True)).files == ("plain/x.py",)


def test_more_than_may_be_read_is_told_as_unsettled(venv: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_record, "MOST_BYTES", 5)
    for name in ("engine.py", "kernel.so"):
        later(venv.site / "vllm" / name)
    assert modified(venv) == Modified(digest="clean", count=0, files=(), unsettled=1)


def test_a_name_with_a_comma_is_one_name(venv: Environment) -> None:
    name = 'triton/configs/N=1,device="H200",x.json'
    venv.install("triton", "3.5.0", {name: "{}"})
    assert modified(venv, "triton") == CLEAN
    (venv.site / name).write_text('{"a": 1}')
    assert modified(venv, "triton").files == (name,)


def test_without_record_it_is_absent_and_of_conda_it_cannot_be_told(venv: Environment) -> None:
    (venv.install("torch", "2.9.0") / "RECORD").unlink()
    venv.install("numpy", "2.4.0", INSTALLER="conda\n")
    told = venv.read()
    assert package(told, "torch").modified.digest == Gap("absent")
    assert package(told, "torch").record == Gap("absent")
    assert package(told, "numpy").modified.digest == Gap("not_observable")


def test_a_record_that_is_none_is_failed(venv: Environment) -> None:
    (venv.install("torch", "2.9.0") / "RECORD").write_text("nonsense\n")
    assert package(venv.read(), "torch").modified.digest == Gap("failed")


def test_no_row_leads_out_of_the_folder(venv: Environment, tmp_path: Path) -> None:
    """A RECORD is written by whoever built the package."""
    outside = tmp_path / "outside"
    outside.write_text("secret")
    rows = [f"vllm/../../../../../../outside,{checksum('x')},1", f"{outside},{checksum('x')},1"]
    with (venv.site / "vllm-0.11.0.dist-info/RECORD").open("a") as record:
        record.write("\n".join(rows) + "\n")
    host = Reading()
    told = modified(venv, host=host)
    assert told.files == (str(outside),)  # looked for below the folder of packages, where it is gone
    assert host.read == []


def checksum(text: str) -> str:
    return "sha256=" + urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=")


def test_what_an_installer_adds_does_not_enter_the_digest() -> None:
    wheel = ["a/x.py,sha256=abc,1", "a/y.py,sha256=def,2"]
    pip = [*reversed(wheel), "a-1.dist-info/INSTALLER,sha256=x,4", "a/__pycache__/x.pyc,,", "../../../bin/a,sha256=s,9"]
    assert digest_of(lines_of("\n".join(wheel))) == digest_of(lines_of("\r\n".join(pip)))
