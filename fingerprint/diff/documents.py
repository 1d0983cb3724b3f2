"""The inside of a Document, by DeepDiff: imported only when a Document changed."""

from typing import Any

from probes.kit.facts import Document

MOST = 50


def changed_parts(before: Document, after: Document) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts that differ, by their path inside the document; `absent` where one side lacks it. 50 at most."""
    from deepdiff import DeepDiff

    tree = DeepDiff(before.value, after.value, view="tree", verbose_level=2)
    found = sorted((level.path(), level.t1, level.t2) for kind in tree.values() for level in kind)[:MOST]
    return {path: _plain(old) for path, old, _ in found}, {path: _plain(new) for path, _, new in found}


def _plain(value: Any) -> Any:
    return "absent" if type(value).__name__ == "NotPresent" else value
