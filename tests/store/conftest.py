"""What every test of the store stands on."""

from collections.abc import Iterator
from typing import Any

import pytest

from fingerprint.store.database import Database, InMemory


@pytest.fixture(autouse=True)
def databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test opens is closed behind it: sqlite3 warns of what is not, from Python 3.13 on."""
    opened: list[Database] = []

    def remembering(kind: type[Database]) -> None:
        init = kind.__init__

        def remembered(database: Database, *given: Any, **named: Any) -> None:
            init(database, *given, **named)
            opened.append(database)

        monkeypatch.setattr(kind, "__init__", remembered)

    for kind in (Database, InMemory):
        remembering(kind)
    yield
    for database in opened:
        database.close()
