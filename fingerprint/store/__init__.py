"""Snapshots, runs and events on disk: one SQLite file per user and one of the service. SQL lives here."""

from fingerprint.store.errors import NoStore, StoreError
from fingerprint.store.events import Event, EventKind
from fingerprint.store.house import Removed
from fingerprint.store.journal import Journal, Patience
from fingerprint.store.place import default_path, service_path
from fingerprint.store.refs import Found, FoundRun, FoundSnapshot, Stores
from fingerprint.store.runs import RunRow, check_name
from fingerprint.store.snapshots import SnapshotRow
from fingerprint.store.store import Store

__all__ = [
    "Event", "EventKind", "Found", "FoundRun", "FoundSnapshot", "Journal", "NoStore", "Patience", "Removed",
    "RunRow", "SnapshotRow", "Store", "StoreError", "Stores", "check_name", "default_path", "service_path",
]  # fmt: skip
