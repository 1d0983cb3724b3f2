import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint import doctor
from fingerprint.doctor import LEVELS, Finding, House, cpuid, examine, of_cpuid
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from probes.driver import Driver
from probes.driver.fabric_manager import FabricManager
from probes.driver.libraries import Libraries
from probes.kit.facts import Gap, Map, Section, Seen, config, state, telemetry
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe, discover


class Disk(Section):
    depth: Seen[int] = config("requests in flight", "/sys/block/NAME/queue/nr_requests")


class Made(Section):
    """Facts with the sources that remedies are told apart by."""

    plain: Seen[int] = config("a", "/proc/sys/x")
    other: Seen[int] = config("b", "/proc/sys/y")
    environ: Seen[str] = config("c", "/proc/PID/environ")
    slot: Seen[str] = state("d", "/sys/kernel/debug/slot", settled="always")
    heat: Seen[int] = telemetry("e", "nvmlDeviceGetTemperature")
    disks: Seen[Map[Disk]] = config("f", "/sys/block")


@pytest.fixture(autouse=True)
def made_area(monkeypatch: pytest.MonkeyPatch) -> None:
    probe: Probe[Any] = Probe("made", "host", Made, lambda _host, _target: Made(), 1.0, "border")
    monkeypatch.setattr(doctor, "areas", lambda: ("made",))
    monkeypatch.setattr(doctor, "discover", lambda _only: {"made": probe})


def snapshot(*readings: tuple[str, Reading], uid: int = 1000) -> Snapshot:
    return Snapshot("01J", 1, 1.0, "h", Provenance("0", "3.11.7", uid, "k"), {Key(area): r for area, r in readings})


def of_gaps(section: Section, uid: int = 1000) -> list[Finding]:
    found = examine(snapshot(("made", reading_of(section)), uid=uid), House())
    return [finding for finding in found if finding.about == "made"]


def test_nothing_amiss_leaves_the_version_alone() -> None:
    (only,) = examine(
        snapshot(("made", reading_of(Made(plain=1, other=Gap("absent"), heat=Gap("not_read", "x"))))), House()
    )
    assert (only.level, only.about) == ("note", "installation")
    assert "Python 3.11.7, read as the plain user 1000" in only.says


def test_what_is_denied_for_one_reason_is_one_finding_with_its_remedy() -> None:
    denied = Gap("denied", "Permission denied")
    first, second = of_gaps(Made(plain=denied, other=denied, environ=denied))
    assert first.level == second.level == "limit"
    assert first.facts == ("made/plain", "made/other")
    assert first.says == "2 facts of made, made/plain among them: may not be read"
    assert (first.why, first.remedy) == ("Permission denied", "run as root")
    assert second.says == "made/environ: may not be read"
    assert "CAP_SYS_PTRACE" in second.remedy


def test_root_is_not_told_to_become_root() -> None:
    (finding,) = of_gaps(Made(plain=Gap("denied", "Operation not permitted")), uid=0)
    assert finding.remedy.startswith("even root may not")


def test_other_reasons_are_other_findings() -> None:
    section = Made(plain=Gap("failed", "no number: 'x'"), other=Gap("unsupported"), heat=Gap("timed_out", "2 s"))
    assert [(finding.level, finding.facts, finding.why) for finding in of_gaps(section)] == [
        ("problem", ("made/plain",), "no number: 'x'"),
        ("problem", ("made/heat",), "2 s"),
        ("note", ("made/other",), ""),
    ]


def test_gaps_below_a_collection_are_told_by_their_path() -> None:
    (finding,) = of_gaps(Made(disks=Map({"nvme/0": Disk(depth=Gap("denied"))})))
    assert finding.facts == ("made/disks/nvme%2F0/depth",)


def of_nvml(gap: Gap) -> Finding:
    found = examine(snapshot(("made", reading_of(Made(heat=gap, plain=gap)))), House())
    (finding,) = (finding for finding in found if finding.about == "nvml")
    return finding


@pytest.mark.parametrize(
    ("gap", "level", "remedy"),
    [
        (
            Gap("timed_out", "NVML: unresponsive since 10:00:00 in nvmlDeviceGetName (pid 7)"),
            "problem",
            "reset",
        ),
        (Gap("failed", "nvidia-ml-py is not installed beside fingerprint"), "problem", "pip install nvidia-ml-py"),
        (Gap("failed", "nvmlInit: Driver/library version mismatch (NVML 18)"), "problem", "reboot"),
        (Gap("failed", "nvmlInit: Unknown Error (NVML 999)"), "problem", "container"),
    ],
)
def test_an_nvml_that_does_not_answer_is_one_finding_with_its_words(gap: Gap, level: str, remedy: str) -> None:
    finding = of_nvml(gap)
    assert (finding.level, finding.why, finding.facts) == (level, gap.detail, ("made/plain", "made/heat"))
    assert remedy in finding.remedy


def test_a_gpu_that_is_asleep_is_told_and_how_to_keep_it_awake() -> None:
    (finding,) = of_gaps(Made(heat=Gap("asleep", "suspended")))
    assert (finding.level, "power/control" in finding.remedy) == ("note", True)
    assert "asking would have woken it" in finding.says


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (Driver(libraries=Libraries(match_module=False)), "libraries are of another version"),
        (Driver(fabricmanager=FabricManager(matches_module=False)), "fabric manager is of another version"),
    ],
)
def test_versions_of_the_driver_that_do_not_fit_are_a_problem(
    driver: Driver, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    first, *rest = examine(snapshot(("driver", reading_of(driver))), House())
    assert (first.level, first.about, len(first.facts)) == ("problem", "driver", 1)
    assert words in first.says
    assert [finding.about for finding in rest] == ["installation"]


@pytest.mark.parametrize("mounted", [True, False])
def test_what_is_absent_because_its_file_system_is_not_mounted_is_told(
    mounted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda _self: True)
    monkeypatch.setattr(Path, "is_mount", lambda _self: mounted)
    found = of_gaps(Made(slot=Gap("absent"), plain=Gap("absent")))
    assert [(f.facts, f.remedy) for f in found] == (
        [] if mounted else [(("made/slot",), "mount -t debugfs none /sys/kernel/debug")]
    )


@pytest.mark.parametrize(
    ("reading", "says", "remedy"),
    [
        (Reading("failed", "KeyError: 'x'"), "failed", "fingerprint record"),
        (Reading("timed_out", "hung since 12:00, state D"), "timed out", "budget_s"),
        (Reading("skipped", "the budget was spent"), "skipped", "budget_s"),
    ],
)
def test_a_section_that_is_missing_whole_is_said_once(reading: Reading, says: str, remedy: str) -> None:
    finding = examine(snapshot(("made", reading)), House())[0]
    assert (finding.level, finding.about, finding.why) == ("problem", "made", reading.detail)
    assert says in finding.says
    assert remedy in finding.remedy


def test_an_area_of_another_release_is_passed_over() -> None:
    (only,) = examine(snapshot(("older", reading_of(Made(plain=Gap("denied"))))), House())
    assert only.about == "installation"


def test_the_house_is_examined_too() -> None:
    house = House("/nfs/store.db", "nfs4", "key.txt is open to others", {"pynvml": "12.0", "nvidia-ml-py": "13"})
    found = {finding.about: finding for finding in examine(snapshot(), house) if finding.level == "problem"}
    assert set(found) == {"store", "redaction", "installation"}
    assert "/nfs/store.db lies on a network file system (nfs4)" in found["store"].says
    assert found["redaction"].says == "key.txt is open to others"
    assert "pynvml 12.0" in found["installation"].says


def test_our_environment_has_the_maintained_distribution_and_not_the_deprecated_one() -> None:
    assert list(doctor.installed()) == ["nvidia-ml-py"]


def test_problems_come_first() -> None:
    section = Made(plain=Gap("unsupported"), other=Gap("denied"), heat=Gap("failed"))
    levels = [finding.level for finding in examine(snapshot(("made", reading_of(section))), House())]
    assert levels == sorted(levels, key=LEVELS.index)


def test_this_host_can_be_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    readings = {
        Key(area): reading_of(probe.read(Host(), HOST)) for area, probe in discover().items() if probe.of == "host"
    }
    found = examine(Snapshot("01J", 1, 1.0, "h", Provenance("0", "3.11", os.geteuid(), "k"), readings), House())
    assert [finding for finding in found if finding.level == "problem"] == []
    assert all(finding.says for finding in found)


def test_cpuid_is_asked_once_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def child(budget: float) -> Seen[str]:
        asked.append(budget)
        return '{"brand_raw": "A CPU", "flags": ["avx"]}'

    monkeypatch.setattr(doctor, "_cpuid_of_child", child)
    for boot in ("one", "one", "two"):
        assert cpuid(tmp_path / "state", boot) == {"brand_raw": "A CPU", "flags": ["avx"]}
    assert len(asked) == 2
    assert [file.name for file in (tmp_path / "state").iterdir()] == ["cpuid-two.json"]
    (tmp_path / "state/cpuid-two.json").write_text("{broken")
    assert not isinstance(cpuid(tmp_path / "state", "two"), Gap)


def test_a_folder_that_cannot_be_written_costs_the_cache_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_cpuid_of_child", lambda _budget: "{}")
    (tmp_path / "file").write_text("")
    assert cpuid(tmp_path / "file", "boot") == {}


def test_a_child_that_fails_or_answers_nonsense_is_a_gap_and_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in (Gap("timed_out", "no end within 15 s"), "no json"):
        monkeypatch.setattr(doctor, "_cpuid_of_child", lambda _budget, answer=answer: answer)
        told = cpuid(tmp_path, "boot")
        assert isinstance(told, Gap)
        assert of_cpuid(told).level == "problem"
    assert list(tmp_path.iterdir()) == []


def test_the_real_child_tells_this_cpu_or_is_given_up(tmp_path: Path) -> None:
    told = cpuid(tmp_path, "boot", budget=30)
    assert not isinstance(told, Gap), told
    assert told["count"] == os.cpu_count()
    finding = of_cpuid(told)
    assert finding.level == "note"
    assert msgspec.json.decode((tmp_path / "cpuid-boot.json").read_bytes()) == told
    given_up = cpuid(tmp_path, "other", budget=0.01)
    assert isinstance(given_up, Gap)
    assert given_up.code == "timed_out"
