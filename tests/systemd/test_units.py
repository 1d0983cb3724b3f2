"""The units as they come, and how their files are put in place and taken away."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fingerprint.cli.service import command
from fingerprint.service import systemd
from fingerprint.service.systemd import PLACES, READER, SERVICE, UNITS, install, uninstall
from fingerprint.trouble import Trouble

FOLDER = Path(__file__).parents[2] / "systemd"
RIGHTS = re.findall(
    r"CAP_[A-Z_]+", (FOLDER / READER).read_text().partition("\nCapabilityBoundingSet=")[2].partition("\n")[0]
)


def silently(_: str) -> None:
    return


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd is installed")
@pytest.mark.parametrize(("unit", "most"), [(SERVICE, 20), (READER, 35)])
def test_the_exposure_of_a_unit_is_low(unit: str, most: int) -> None:
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={most}", FOLDER / unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unrecognized option" in judged.stderr:
        pytest.skip("systemd is older than 250")
    assert judged.returncode == 0, judged.stdout[-200:]


@pytest.mark.parametrize("right", RIGHTS)
def test_each_right_of_the_reader_is_named_with_the_probes_that_need_it(right: str) -> None:
    assert re.search(rf"^# .*\b{right}\b", (FOLDER / READER).read_text(), re.M)


def test_what_the_units_set_are_settings() -> None:
    from fingerprint.settings import values

    lines = "".join((FOLDER / unit).read_text() for unit in UNITS)
    environ = dict(re.findall(r"\b([A-Z_]+)=(/\S+)", " ".join(re.findall(r"^Environment=(.*)$", lines, re.M))))
    origins = {value.key: value.origin for value in values(environ)}
    assert origins["service.reader"] == "FINGERPRINT_SERVICE_READER"


def test_installed_files_start_the_program_of_this_environment_and_tell_their_digest(tmp_path: Path) -> None:
    install(tmp_path, silently)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(PLACES.values())
    for unit, more in ((SERVICE, ""), (READER, " reader")):
        text = (tmp_path / PLACES[unit]).read_text()
        assert f"\nExecStart={systemd._program()}{more}\n" in text
        assert text.startswith("# Installed by fingerprint ")


def test_an_installation_of_another_version_is_replaced(tmp_path: Path) -> None:
    install(tmp_path, silently)
    file = tmp_path / PLACES[SERVICE]
    body = file.read_text().partition("\n")[2] + "# of another version\n"
    file.write_text(f"# Installed by fingerprint 0.0.9, sha256 {systemd._digest(body)}.\n{body}")
    install(tmp_path, silently)
    assert "of another version" not in file.read_text()


def removed(root: Path, told: systemd.Told) -> None:
    uninstall(root, told, purge=False)


@pytest.mark.parametrize("do", [install, removed])
def test_what_was_edited_by_hand_is_neither_replaced_nor_removed(
    tmp_path: Path, do: Callable[[Path, systemd.Told], None]
) -> None:
    install(tmp_path, silently)
    file = tmp_path / PLACES[READER]
    file.write_text(file.read_text().replace("MemoryMax=800M", "MemoryMax=2G"))
    with pytest.raises(Trouble, match=rf"{file} was edited by hand.*systemctl edit {READER}"):
        do(tmp_path, silently)
    assert all((tmp_path / place).exists() for place in PLACES.values())
    assert "MemoryMax=2G" in file.read_text()


def test_a_masked_unit_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / PLACES[SERVICE]
    file.parent.mkdir(parents=True)
    file.symlink_to("/dev/null")
    with pytest.raises(Trouble, match="is a link to /dev/null.*systemctl unmask fingerprint.service"):
        install(tmp_path, silently)


def test_uninstall_keeps_what_was_recorded_unless_it_is_to_go(tmp_path: Path) -> None:
    install(tmp_path, silently)
    (tmp_path / systemd.STATE[0]).mkdir(parents=True)
    uninstall(tmp_path, silently, purge=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert (tmp_path / systemd.STATE[0]).is_dir()
    uninstall(tmp_path, silently, purge=True)
    assert not (tmp_path / systemd.STATE[0]).exists()


def asked(*words: str) -> Result:
    return CliRunner().invoke(command, words)


def test_each_step_is_said(tmp_path: Path) -> None:
    told = asked("install", "--root", str(tmp_path)).output
    assert [line for line in told.splitlines() if line.startswith("wrote ")] == [
        f"wrote {tmp_path / place}" for place in PLACES.values()
    ]
    assert asked("uninstall", "--quiet", "--root", str(tmp_path)).output == ""


@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd runs this machine")
@pytest.mark.parametrize("action", ["install", "status", "uninstall"])
def test_without_systemd_it_says_what_to_do_instead(action: str) -> None:
    assert "systemd does not run this machine" in str(asked(action).exception)


def test_only_uninstall_purges() -> None:
    assert "--purge is for uninstall" in str(asked("install", "--purge").exception)


def test_an_environment_in_a_home_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/root/.local/share/uv/tools/serving-fingerprint")
    with pytest.raises(Trouble, match="/root/.local/share.*which the service may not see.*python3 -m venv /opt/"):
        systemd._check_environment()
