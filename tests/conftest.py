"""What tests of several parts stand on."""

import pwd

import pytest


@pytest.fixture
def unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user database does not know who runs the tests, so without HOME there is no home."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
