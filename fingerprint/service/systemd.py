"""The service's units: put in place, looked at, taken away.

    systemd/ (in a wheel fingerprint/service/units) --install--> /etc/systemd/system, /etc/sysusers.d, /etc/tmpfiles.d

Each installed file begins with a line that tells its digest: what was edited by hand is so told from what is ours.
"""

import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fingerprint.trouble import Trouble
from fingerprint.version import __version__
from probes.kit.child import output_of
from probes.kit.facts import Gap

READER, SERVICE = "fingerprint-reader.service", "fingerprint.service"
UNITS = (READER, SERVICE)
PLACES: Mapping[str, str] = {
    "fingerprint.sysusers": "etc/sysusers.d/fingerprint.conf",
    "fingerprint.tmpfiles": "etc/tmpfiles.d/fingerprint.conf",
    **{unit: f"etc/systemd/system/{unit}" for unit in UNITS},
}
STATE = ("var/lib/fingerprint", "var/lib/fingerprint-reader")
USERS = ("fingerprint", "fingerprint-reader")
SETTINGS = "etc/fingerprint"
PROGRAM = "/usr/bin/fingerprintd"
"""In the files as they come; the one of this environment takes its place."""

HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108  # ProtectHome= and PrivateTmp=
_PACKAGED, _CHECKOUT = Path(__file__).with_name("units"), Path(__file__).parents[2] / "systemd"
_MARK = re.compile(r"# Installed by fingerprint \S+, sha256 ([0-9a-f]{64})\.\n")
_SECONDS = 90.0  # each start and stop has its own limit in the unit
_ASKED = ("LoadState", "UnitFileState", "ActiveState", "SubState", "ActiveEnterTimestamp", "MainPID", "StatusText")
_ELSEWHERE = (
    "make an environment as root where everybody may read and nobody else may write, "
    "python3 -m venv /opt/fingerprint && /opt/fingerprint/bin/pip install serving-fingerprint, "
    "then /opt/fingerprint/bin/fingerprint service install"
)

Told = Callable[[str], object]


class UnitState(msgspec.Struct, frozen=True):
    """In systemd's words. file: installed, edited by hand, or missing."""

    unit: str
    file: str
    load: str
    enabled: str
    active: str
    sub: str
    since: str
    pid: int
    says: str


def install(root: Path, told: Told) -> None:
    """told: hears each thing that is done. root: `/`, or a folder that only gets the files. Raises Trouble."""
    is_live = root == Path("/")
    if is_live:
        _check_machine()
        _check_environment()
    contents = {root / place: _content(name) for name, place in PLACES.items()}
    for file in contents:
        _check_ours(file)
    for file, content in contents.items():
        _write(file, content)
        told(f"wrote {file}")
    if is_live:
        _run(told, "systemd-sysusers", f"/{PLACES['fingerprint.sysusers']}")
        _run(told, "systemd-tmpfiles", "--create", f"/{PLACES['fingerprint.tmpfiles']}")
        _run(told, "systemctl", "daemon-reload")
        _run(told, "systemctl", "enable", "--quiet", *UNITS)
        _run(told, "systemctl", "restart", *UNITS)


def uninstall(root: Path, told: Told, *, purge: bool) -> None:
    """State and users stay unless `purge`: what is kept belongs to them. Raises Trouble."""
    is_live = root == Path("/")
    if is_live:
        _check_machine()
    files = [file for file in (root / place for place in PLACES.values()) if os.path.lexists(file)]
    for file in files:
        _check_ours(file)
    installed = [unit for unit in UNITS if root / PLACES[unit] in files]
    if is_live and installed:
        _run(told, "systemctl", "disable", "--quiet", "--now", *installed)
    for file in files:
        file.unlink()
        told(f"removed {file}")
    if is_live:
        _run(told, "systemctl", "daemon-reload")
        _run(told, "systemctl", "reset-failed", *UNITS, may_fail=True)
    _remove_empty(root / SETTINGS, told)
    if purge:
        _purge(root, told)


def states() -> tuple[UnitState, ...]:
    """Of both units. Raises Trouble where no systemd runs."""
    _check_running()
    return tuple(map(_state, UNITS))


# What is installed.


def _content(name: str) -> str:
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    body = (folder / name).read_text().replace(PROGRAM, str(_program()))
    return f"# Installed by fingerprint {__version__}, sha256 {_digest(body)}.\n{body}"


def _program() -> Path:
    return Path(sys.executable).parent / Path(PROGRAM).name


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _is_ours(text: str) -> bool:
    mark = _MARK.match(text)
    return mark is not None and mark[1] == _digest(text[mark.end() :])


def _check_ours(file: Path) -> None:
    """Raises Trouble for what somebody else wrote, or edited."""
    if file.is_symlink():
        raise Trouble(
            f"{file} is a link to {os.readlink(file)}: remove it (a masked unit: systemctl unmask {file.name})"
        )
    try:
        text = file.read_text("utf-8", "backslashreplace")
    except FileNotFoundError:
        return
    if not _is_ours(text):
        raise Trouble(
            f"{file} was edited by hand, and is left as it is: move what you changed to a drop-in "
            f"(systemctl edit {file.name}), and the file away"
        )


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.new")
    draft.write_text(content)
    draft.chmod(0o644)  # whatever the umask
    draft.replace(file)


def _purge(root: Path, told: Told) -> None:
    for folder in (root / place for place in STATE):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
            told(f"removed {folder}")
    if root == Path("/"):
        from grp import getgrnam
        from pwd import getpwnam

        for name in USERS:
            if _knows(getpwnam, name):
                _run(told, "userdel", name)
            if _knows(getgrnam, name):  # it stays where it has members beside
                _run(told, "groupdel", name)


def _knows(found: Callable[[str], object], name: str) -> bool:
    try:
        return bool(found(name))
    except KeyError:
        return False


def _remove_empty(folder: Path, told: Told) -> None:
    try:
        folder.rmdir()
    except OSError:  # somebody's settings are there, or it is not
        return
    told(f"removed {folder}")


# Whether it can be.


def _check_machine() -> None:
    _check_running()
    if os.geteuid() != 0:
        raise Trouble("only root may install and uninstall the service: sudo, or --root DIR for the files alone")


def _check_running() -> None:
    if not os.path.isdir("/run/systemd/system"):  # sd_booted(3)
        raise Trouble(
            "systemd does not run this machine (there is no /run/systemd/system): "
            "let what does start `fingerprintd`, or write the files alone with `service install --root DIR`"
        )


def _check_environment() -> None:
    """The reader has rights that are root's, so nobody else may change what it runs; and its user must be able to."""
    if not _program().exists():
        raise Trouble(f"{_program()} does not exist: install serving-fingerprint into that environment with pip")
    for place in _code():
        if any(place.is_relative_to(folder) for folder in HIDDEN):
            raise Trouble(f"fingerprint runs from {place}, which the service may not see: {_ELSEWHERE}")
        for path in (place, *place.parents):
            _check_folder(path, place)


def _code() -> Iterator[Path]:
    """Where interpreter, environment and packages lie, links followed."""
    import fingerprint

    for place in (sys.prefix, sys.base_prefix, str(_program()), sys.executable, *fingerprint.__path__):
        yield Path(os.path.realpath(place))


def _check_folder(path: Path, place: Path) -> None:
    info = path.stat()
    if info.st_uid != 0 or info.st_mode & stat.S_IWOTH:
        raise Trouble(f"fingerprint runs from {place}, and {path} is not root's alone to change: {_ELSEWHERE}")
    if info.st_mode & 0o005 != 0o005:
        raise Trouble(f"fingerprint runs from {place}, and others may not enter {path}: {_ELSEWHERE}")


# What systemd is asked.


def _run(told: Told, *argv: str, may_fail: bool = False) -> None:
    answer = output_of(argv, budget=_SECONDS)
    if isinstance(answer, Gap):
        if may_fail:
            return
        raise Trouble(f"`{' '.join(argv)}` failed: {answer.detail}{_more(argv)}")
    told(f"ran {' '.join(argv)}")


def _more(argv: Sequence[str]) -> str:
    return f" (see: journalctl -e {' '.join(f'-u {unit}' for unit in UNITS)})" if "restart" in argv else ""


def _state(unit: str) -> UnitState:
    answer = output_of(["systemctl", "show", unit, f"--property={','.join(_ASKED)}"], budget=_SECONDS)
    if isinstance(answer, Gap):
        raise Trouble(f"systemd does not answer: {answer.detail}")
    shown = dict(line.partition("=")[::2] for line in answer.splitlines())
    load, enabled, active, sub, since, pid, says = (shown.get(name, "") for name in _ASKED)
    return UnitState(unit, _file(unit), load, enabled, active, sub, since, int(pid or 0), says)


def _file(unit: str) -> str:
    try:
        text = (Path("/") / PLACES[unit]).read_text("utf-8", "backslashreplace")
    except OSError:
        return "missing"
    return "installed" if _is_ours(text) else "edited by hand"
