"""Where a distribution came from that came from no index (PEP 610), and the state of editable trees."""

from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from probes.kit.facts import Gap, Seen, then
from probes.kit.git import git
from probes.kit.host import Host
from probes.libraries.distributions import Distribution
from probes.libraries.sections import Origin, Text, Tree

_NO_TREE = Gap("absent", "it is not editable")
_NOT_TOLD = Gap("absent", "direct_url.json has none")
_SOURCE_KINDS = ("program", "PYTHONPATH", "added")


def origin(host: Host, distribution: Distribution) -> Origin | None:
    """None for what came from an index, or from a tool that does not say."""
    if distribution.has("direct_url.json"):
        told = then(host.text(f"{distribution.info}/direct_url.json"), _document)
        return _of_document(host, told)
    if distribution.info.endswith(".egg-info") and distribution.folder.kind in _SOURCE_KINDS:
        none = Gap("absent", "an .egg-info in a source tree tells no origin")
        return Origin(url=none, commit=none, revision=none, archive=none, tree=_tree(host, distribution.folder.path))
    return None


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    return document


def _of_document(host: Host, told: Seen[dict[str, Any]]) -> Origin:
    if isinstance(told, Gap):
        return Origin(url=told, commit=told, revision=told, archive=told, tree=Tree(path=told, commit=told, dirty=told))
    vcs, archive, folder = (_group(told, name) for name in ("vcs_info", "archive_info", "dir_info"))
    url = str(told.get("url", ""))
    return Origin(
        url=_address(host, url) if url else _NOT_TOLD,
        commit=_text(vcs.get("commit_id")),
        revision=_text(vcs.get("requested_revision")),
        archive=_text(archive.get("hash") or _first_hash(archive)),
        tree=_tree(host, unquote(urlsplit(url).path)) if folder.get("editable") is True else _no_tree(),
    )


def _address(host: Host, url: str) -> Text:
    return host.redactor.parameter("url", url)


def _group(document: dict[str, Any], name: str) -> dict[str, Any]:
    group = document.get(name)
    return group if isinstance(group, dict) else {}


def _text(value: Any) -> Seen[str]:
    return value if isinstance(value, str) and value else _NOT_TOLD


def _first_hash(archive: dict[str, Any]) -> str | None:
    return next((f"{algorithm}={digest}" for algorithm, digest in sorted(_group(archive, "hashes").items())), None)


def _no_tree() -> Tree:
    return Tree(path=_NO_TREE, commit=_NO_TREE, dirty=_NO_TREE)


def _tree(host: Host, path: str) -> Tree:
    state = git(host, [path])
    return Tree(path=path, commit=state.commit, dirty=state.dirty)
