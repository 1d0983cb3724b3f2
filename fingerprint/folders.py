"""Where files of one's own lie, by the XDG base directory rules (a relative value counts as unset).

Own code: platformdirs costs 14 ms of import (docs/decisions/0002-own-ulid-and-folders.md).
"""

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_CONFIG = Path("/etc/fingerprint")


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """Of the store and the redaction key; None where neither XDG_STATE_HOME nor a home is known."""
    return _folder(environ, "XDG_STATE_HOME", ".local/state")


def config_folder(environ: Mapping[str, str]) -> Path | None:
    """Of config.toml; None where neither XDG_CONFIG_HOME nor a home is known."""
    return _folder(environ, "XDG_CONFIG_HOME", ".config")


def _folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    folder = Path(environ.get(variable, ""))
    if folder.is_absolute():
        return folder / "fingerprint"
    home = _home(environ)
    return home / below_home / "fingerprint" if home.is_absolute() else None


def _home(environ: Mapping[str, str]) -> Path:
    """HOME, else the user database's word: cron and service managers may set none."""
    if home := environ.get("HOME"):
        return Path(home)
    from pwd import getpwuid

    try:
        return Path(getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path()
