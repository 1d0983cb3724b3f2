"""What tests of several parts stand on."""

import pwd
import signal

import pytest

# The suite may be started with signals ignored (nohup, a shell's `&`), which every process of a test would inherit.
for number, default in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGTERM, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)


@pytest.fixture
def unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user database does not know who runs the tests, so without HOME there is no home."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
