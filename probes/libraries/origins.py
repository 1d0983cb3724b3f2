"""Where a distribution came from that came from no index (PEP 610), and the state of editable trees."""

from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from probes.kit.facts import Gap, Seen, then
from probes.kit.git import State, git, tree_of
from probes.kit.host import Host
from probes.libraries.distributions import Distribution
from probes.libraries.sections import Origin, Tree

_NOT_EDITABLE = Gap("absent", "it is not editable")
_NOT_TOLD_BY_EGG = Gap("absent", "an .egg-info in a source tree tells no origin")
_NOT_TOLD = Gap("absent", "direct_url.json has none")
_SOURCE_KINDS = ("program", "PYTHONPATH", "added")


class Origins:
    """Of one environment. A git tree that holds several of its packages is asked once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._states: dict[str, State] = {}

    def of(self, distribution: Distribution) -> Origin | None:
        """None for what came from an index, or from a tool that does not say."""
        if distribution.has("direct_url.json"):
            return self._told(then(self._host.text(f"{distribution.info}/direct_url.json"), _document))
        if distribution.info.endswith(".egg-info") and distribution.folder.kind in _SOURCE_KINDS:
            return _origin(_NOT_TOLD_BY_EGG, self._tree(distribution.folder.path))
        return None

    def _told(self, told: Seen[dict[str, Any]]) -> Origin:
        if isinstance(told, Gap):
            return _origin(told, _no_tree(told))
        vcs, archive, folder = (_group(told, name) for name in ("vcs_info", "archive_info", "dir_info"))
        url = _text(told.get("url"))
        return Origin(
            url=then(url, lambda text: self._host.redactor.parameter("url", text)),
            commit=_text(vcs.get("commit_id")),
            revision=_text(vcs.get("requested_revision")),
            archive=_text(archive.get("hash") or _first_hash(archive)),
            tree=self._editable(url) if folder.get("editable") is True else _no_tree(_NOT_EDITABLE),
        )

    def _editable(self, url: Seen[str]) -> Tree:
        path = then(url, _path_of)
        return _no_tree(path) if isinstance(path, Gap) else self._tree(path)

    def _tree(self, path: str) -> Tree:
        tree = tree_of(self._host, path)
        root = path if tree is None else tree.root
        if root not in self._states:
            self._states[root] = git(self._host, [path])
        state = self._states[root]
        return Tree(path=path, commit=state.commit, dirty=state.dirty)


def _origin(why: Gap, tree: Tree) -> Origin:
    return Origin(url=why, commit=why, revision=why, archive=why, tree=tree)


def _no_tree(why: Gap) -> Tree:
    return Tree(path=why, commit=why, dirty=why)


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    return document


def _group(document: dict[str, Any], name: str) -> dict[str, Any]:
    group = document.get(name)
    return group if isinstance(group, dict) else {}


def _text(value: Any) -> Seen[str]:
    return value if isinstance(value, str) and value else _NOT_TOLD


def _first_hash(archive: dict[str, Any]) -> str | None:
    return next((f"{algorithm}={digest}" for algorithm, digest in sorted(_group(archive, "hashes").items())), None)


def _path_of(url: str) -> Seen[str]:
    parts = urlsplit(url)
    path = unquote(parts.path)
    return (
        path if parts.scheme == "file" and path[:1] == "/" else Gap("failed", "the url of an editable tree is no file")
    )
