"""What every test of the store stands on."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fingerprint.store.database import Database, InMemory


@pytest.fixture(autouse=True)
def databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test opens is closed behind it: sqlite3 warns of what is not, from Python 3.13 on.

    A thread closes its own: nobody else can.
    """
    opened: list[Database] = []

    def remembering(kind: type[Database]) -> None:
        init = kind.__init__

        def remembered(database: Database, *given: Any, **named: Any) -> None:
            init(database, *given, **named)
            if threading.current_thread() is threading.main_thread():
                opened.append(database)

        monkeypatch.setattr(kind, "__init__", remembered)

    for kind in (Database, InMemory):
        remembering(kind)
    yield
    for database in opened:
        database.close()
