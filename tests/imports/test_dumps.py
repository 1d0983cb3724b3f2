"""Files and folders of dumps become one run: joined, timed, with what disagrees and what was left out said."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from fingerprint.imports import files
from fingerprint.imports.dumps import Imported, from_paths, imported
from fingerprint.imports.files import content, decoded
from fingerprint.snapshot import Key
from fingerprint.trouble import Trouble
from fingerprint.walk import value_at
from probes.driver import Driver
from probes.gpu import Gpu, Gpus
from probes.kit.facts import NOT_READ, Map
from probes.kit.redact import Redactor
from tests.imports import texts

REDACTOR = Redactor(b"of the tests")
SECOND = 1_000_000_000


def written(folder: Path, **contents: str) -> Path:
    for name, text in contents.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def taken(*paths: Path, at: int = 0) -> Imported:
    return imported(from_paths(paths, REDACTOR), at=at, host="gpu-07", redactor=REDACTOR)


def gpus(found: Imported) -> dict[str, Gpu]:
    section = found.snapshot.readings[Key("gpu")].section(Gpus)
    assert section is not None
    assert isinstance(section.gpus, Map)
    return dict(section.gpus.items)


def test_dumps_of_one_host_join_under_the_addresses_that_one_of_them_tells(tmp_path: Path) -> None:
    found = gpus(taken(written(tmp_path, q=texts.H100, links=texts.LIST, lscpu=texts.LSCPU)))
    assert list(found) == ["0000:53:00.0", "0000:64:00.0"]
    assert found["0000:53:00.0"].nvlink.active == 1
    assert found["0000:53:00.0"].name == "NVIDIA H100 80GB HBM3"


def test_a_matrix_of_numbers_is_told_under_addresses_too(tmp_path: Path) -> None:
    matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-15\nGPU1\tPHB\t X \t0-15\n"
    peers = gpus(taken(written(tmp_path, q=texts.H100, topo=matrix)))["0000:64:00.0"].peers
    assert isinstance(peers, Map)
    assert peers.items["0000:53:00.0"].topology == "PHB"


def test_of_two_that_disagree_the_one_that_tells_finer_stands_and_both_are_named(tmp_path: Path) -> None:
    found = taken(written(tmp_path, a_table=texts.TABLE.replace("700W", "500W"), q=texts.H100))
    assert gpus(found)["0000:53:00.0"].enforced_power_limit == 700_000
    [note] = [note for note in found.notes if "enforced_power_limit" in note]
    assert note == (
        "two dumps disagree: gpu/0000:53:00.0/enforced_power_limit: 700000 of q.txt (nvidia-smi -q) stands, "
        "a_table.txt (nvidia-smi) says 500000"
    )


def test_what_moves_by_itself_is_no_disagreement(tmp_path: Path) -> None:
    found = taken(written(tmp_path, table=texts.TABLE, again=texts.TABLE.replace("629W", "630W").replace("59C", "60C")))
    assert [note for note in found.notes if "disagree" in note] == []


def test_of_a_folder_what_is_not_recognised_is_left_and_named(tmp_path: Path) -> None:
    written(tmp_path, q=texts.H100, readme="About this machine")
    (tmp_path / "picture.png").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    found = taken(tmp_path)
    assert found.notes[-1] == "left out: picture.png: no text; readme.txt: nothing in it is recognised"


def test_a_named_file_that_tells_nothing_is_refused_with_what_is_read(tmp_path: Path) -> None:
    written(tmp_path, q=texts.H100, readme="About this machine")
    with pytest.raises(Trouble, match=r"readme.txt holds no dump that can be taken in .*nvidia-smi -q -x, nvidia-smi"):
        taken(tmp_path / "q.txt", tmp_path / "readme.txt")


def test_a_log_that_tells_its_time_alone_makes_no_run(tmp_path: Path) -> None:
    (tmp_path / "dmesg.txt").write_text("kern  :warn  : 2026-01-21T04:41:44,285060+00:00 VFS: file-max limit reached\n")
    with pytest.raises(Trouble, match="a kernel log: it tells nothing that is read"):
        taken(tmp_path / "dmesg.txt")


def test_a_folder_without_any_dump_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="none of its 0 files is recognised"):
        taken(tmp_path)


def test_a_dump_is_found_in_what_somebody_wrote_around_it(tmp_path: Path) -> None:
    told = (
        f"It was fast on Thursday.\n```\n$ nvidia-smi -q\n{texts.H100}```\nand then\n```\n{texts.NUMACTL}```\nThanks!\n"
    )
    found = taken(written(tmp_path, report=told))
    assert found.notes[0] == "imported: report.txt: nvidia-smi -q, numactl -H"
    assert {str(key) for key in found.snapshot.readings} == {"driver", "gpu", "numa"}


def test_the_time_is_the_dumps_own_before_that_of_the_file(tmp_path: Path) -> None:
    written(tmp_path, q=texts.H100, lscpu=texts.LSCPU)
    os.utime(tmp_path / "lscpu.txt", ns=(5 * SECOND, 5 * SECOND))
    own = taken(tmp_path)
    assert own.snapshot.taken_at == 1_718_935_388 * SECOND
    assert own.notes[1] == "time: as q.txt (nvidia-smi -q) says, in UTC where it names no zone"
    of_file = taken(tmp_path / "lscpu.txt")
    assert of_file.snapshot.taken_at == 5 * SECOND
    assert "was written last" in of_file.notes[1]
    (tmp_path / "report.txt").write_text(texts.PROC)
    assert taken(tmp_path / "report.txt").snapshot.taken_at == 1_573_882_262 * SECOND
    assert taken(tmp_path, at=7).notes[1] == "time: as --at says"


def test_dumps_that_are_far_apart_are_said_to_be(tmp_path: Path) -> None:
    found = taken(written(tmp_path, q=texts.H100, table=texts.TABLE))
    assert found.notes[2].startswith("q.txt (nvidia-smi -q) and table.txt (nvidia-smi) are 18")
    assert found.notes[2].endswith(" h apart: the run holds the state of neither alone")


def test_a_host_that_a_dump_names_is_the_runs(tmp_path: Path) -> None:
    uname = (
        "Linux gpu-12 6.8.0-40-generic #40-Ubuntu SMP PREEMPT_DYNAMIC Fri Jul 5 2024 x86_64 x86_64 x86_64 GNU/Linux\n"
    )
    assert taken(written(tmp_path, uname=uname, q=texts.H100)).snapshot.host == "gpu-12"
    assert taken(tmp_path / "q.txt").snapshot.host == "gpu-07"


@pytest.mark.parametrize(
    "data",
    [
        texts.H100.replace("\n", "\r\n").encode(),
        texts.H100.encode("utf-16"),
        b"\xef\xbb\xbf" + texts.H100.encode(),
        gzip.compress(texts.H100.encode()),
        gzip.compress(texts.H100[:40].encode()) + gzip.compress(texts.H100[40:].encode()),
        gzip.compress(texts.H100.encode())[:-8],
        texts.H100.replace("GPU UUID", "\x1b[1mGPU UUID\x1b[0m").encode(),
        texts.H100.encode() + b"\xff\xfe broken \xc3",
    ],
    ids=["crlf", "utf-16", "mark", "gzip", "members", "cut off", "colours", "broken"],
)
def test_a_dump_is_read_however_it_was_saved(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "q.txt").write_bytes(data)
    assert gpus(taken(tmp_path / "q.txt"))["0000:53:00.0"].power_limit == 650_000


def test_what_unpacks_to_more_than_is_read_is_cut_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILE_CAP", 1 << 18)
    bomb = gzip.compress(texts.H100.encode() + b"\n" * (1 << 20))
    (tmp_path / "q.txt").write_bytes(bomb)
    assert taken(tmp_path / "q.txt").notes[-1].endswith("q.txt: only its first 256 KiB were read")


def test_a_folder_is_walked_to_a_bound_and_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 1)
    found = taken(written(tmp_path, a=texts.H100, b=texts.LSCPU))
    assert f"of {tmp_path} the first 1 files were read" in found.notes[-1]
    assert Key("cpu") not in found.snapshot.readings


def test_a_pipe_in_a_folder_is_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(gpus(taken(written(tmp_path, q=texts.H100)))) == ["0000:53:00.0", "0000:64:00.0"]
    with pytest.raises(ValueError, match="no regular file"):
        content(tmp_path / "pipe")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ValueError, match="no text"):
        decoded(bytes(range(256)) * 4)


def test_what_a_log_counts_grew_from_nothing_and_nothing_else_of_it_changed(tmp_path: Path) -> None:
    found = taken(written(tmp_path, log=texts.KERNEL_LOG, q=texts.H100))
    assert found.logged is not None
    assert Key("gpu") not in found.logged.after.readings  # of its counters nobody knows what they began with
    for key, after in found.logged.after.readings.items():
        before = found.logged.before.readings[key]
        assert before.lasting == after.lasting
    first, last = (each.readings[Key("driver")].section(Driver) or Driver() for each in found.logged)
    fallen = ("log", "0000:53:00.0", "xid", "79")
    assert (value_at(first, fallen), value_at(last, fallen)) == (0, 1)
    assert value_at(first, ("kernel_log", "sxids")) == 0


def test_without_a_log_nothing_is_said_to_have_grown(tmp_path: Path) -> None:
    assert taken(written(tmp_path, q=texts.H100)).logged is None


@pytest.mark.parametrize("form", ["tar", "gztar", "zip"])
def test_an_archive_is_refused_with_what_to_do(tmp_path: Path, form: str) -> None:
    (tmp_path / "dumps").mkdir()
    packed = shutil.make_archive(str(tmp_path / "packed"), form, written(tmp_path / "dumps", q=texts.H100))
    with pytest.raises(ValueError, match=r"an archive of (tar|zip): name the folder that it is unpacked to"):
        content(Path(packed))


@pytest.mark.parametrize(("tool", "magic"), [("xz", b"\xfd7zXZ\0"), ("bzip2", b"BZh9"), ("zstd", b"\x28\xb5\x2f\xfd")])
def test_what_is_packed_otherwise_than_by_gzip_is_refused_with_the_tool(tool: str, magic: bytes) -> None:
    with pytest.raises(ValueError, match=rf"packed by {tool}: unpack it first \({tool} -d\)"):
        decoded(magic + bytes(range(256)))


def test_what_no_dump_tells_is_not_read(tmp_path: Path) -> None:
    found = gpus(taken(written(tmp_path, topo=texts.TOPO)))
    assert found["GPU00"].power_limit is NOT_READ
