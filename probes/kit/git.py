"""The state of a git tree, told without running anything that the tree brings along.

Commit and branch are read from files. For what differs from HEAD git is started, with a git folder of our own
(`gitdir/`) that borrows the tree's objects and index: no setting of the tree is read, so that neither its
filters nor fsmonitor, textconv, hooks, aliases or promisor remotes exist. Overriding them one by one would not
do: even `diff-index` runs a clean filter on a file that is as new as the index (read-cache.c, racy entries).
An explicit git folder also spares the ownership check of safe.directory, which root would fail in a user's tree.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from probes.kit.facts import NOT_READ, Gap, Seen, no_answer, then
from probes.kit.filepaths import absolute, folder_of
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

_NO_TREE = Gap("absent", "no git tree holds the program or its working directory")
_COMMIT = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE = lazy_regex(r"ref: (refs/(?!.*\.\.)\S+)")
_BATCH = 500  # paths a command line
_BUDGET = 1.0  # seconds a command
_SYMLINK = "120000"

# HEAD, refs/ and a config without settings.
_OWN_FOLDER = f"{folder_of(__file__)}/gitdir"
_SHA1 = 40  # hex digits
_SIGNATURE = 4  # bytes that an index begins with


class Tree(NamedTuple):
    """root: its top folder. folder: what `.git` is or names. common: where linked worktrees share references."""

    root: str
    folder: str
    common: str


class State(NamedTuple):
    """What a tree holds. dirty: `clean`, or a digest of mode, blob and path of what differs from HEAD."""

    root: Seen[str]
    commit: Seen[str]
    branch: Seen[str]
    dirty: Seen[str] = NOT_READ


class Entry(NamedTuple):
    """One line of diff-index: how a path differs from HEAD. `after` is all zeros where only the stat data differs."""

    mode_before: str
    mode_after: str
    before: str
    after: str
    path: str


def git(host: Host, places: Sequence[str]) -> State:
    """Of the first of these folders that lies in a git tree."""
    seen, tree = committed(host, places), _first_tree(host, places)
    return seen._replace(dirty=then(seen.commit, lambda oid: _dirty(host, tree, oid)) if tree else seen.root)


def committed(host: Host, places: Sequence[str]) -> State:
    """As `git`, without starting one: what files tell."""
    tree = _first_tree(host, places)
    if tree is None:
        why = _no_tree(host, places)
        return State(root=why, commit=why, branch=why)
    head = host.line(f"{tree.folder}/HEAD")
    return State(root=tree.root, commit=then(head, lambda text: _commit(host, tree, text)), branch=then(head, _branch))


def _first_tree(host: Host, places: Sequence[str]) -> Tree | None:
    return next((tree for tree in (tree_of(host, place) for place in places) if tree), None)


def _no_tree(host: Host, places: Sequence[str]) -> Gap:
    """Where a folder may not be looked into, or does not answer, nobody knows."""
    seen = (host.stat(absolute(".git", place)) for place in places)
    return next((gap for gap in seen if isinstance(gap, Gap) and gap.code in ("denied", "timed_out")), _NO_TREE)


def tree_of(host: Host, place: str) -> Tree | None:
    """The tree that holds the folder `place`; None outside of any, and where none can be told."""
    root = place
    while not no_answer(host.stat(absolute(".git", root))):
        tree = _tree_at(host, root)
        if tree or root == "/":
            return tree
        root = folder_of(root)
    return None


def _tree_at(host: Host, root: str) -> Tree | None:
    folder = absolute(".git", root)
    if isinstance(host.stat(folder), Gap):
        return None
    pointer = host.line(folder)  # worktrees and submodules have a file here
    if not isinstance(pointer, Gap):
        folder = absolute(pointer.removeprefix("gitdir:").strip(), root)
    if isinstance(host.stat(f"{folder}/HEAD"), Gap):
        return None
    common = host.line(f"{folder}/commondir")
    return Tree(root, folder, folder if isinstance(common, Gap) else absolute(common, folder))


def _branch(head: str) -> Seen[str]:
    match = _REFERENCE.fullmatch(head)
    return match[1].removeprefix("refs/heads/") if match else Gap("absent", "HEAD is detached")


def _commit(host: Host, tree: Tree, head: str) -> Seen[str]:
    if _COMMIT.fullmatch(head):
        return head
    match = _REFERENCE.fullmatch(head)
    if not match:
        return Gap("failed", "HEAD names neither a commit nor a reference")
    if match[1] == "refs/heads/.invalid":
        return Gap("unsupported", "the tree keeps its references in a reftable")
    for folder in dict.fromkeys((tree.folder, tree.common)):
        loose = host.line(f"{folder}/{match[1]}")
        if not isinstance(loose, Gap):
            return loose if _COMMIT.fullmatch(loose) else Gap("failed", f"{match[1]} holds no commit")
    return _packed(host.text(f"{tree.common}/packed-refs"), match[1])


def _packed(refs: Seen[str], name: str) -> Seen[str]:
    lines = () if isinstance(refs, Gap) else refs.splitlines()
    commit = next((line[: -len(name) - 1] for line in lines if line.endswith(f" {name}")), "")
    return commit if _COMMIT.fullmatch(commit) else Gap("absent", "nothing is committed yet")


def _dirty(host: Host, tree: Tree, commit: str) -> Seen[str]:
    if len(commit) != _SHA1:
        return Gap("unsupported", "differences of a SHA-256 repository are not read")
    index = host.head(f"{tree.folder}/index", _SIGNATURE)
    if isinstance(index, Gap) and index.code in ("denied", "unsupported"):
        return index  # git, which is run as who we are, says in an error what it begins with
    compare = ("diff-index", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty", commit, "--")
    return then(_ask(host, tree, compare), lambda raw: _digest(host, tree, tuple(_entries(raw))))


def _ask(host: Host, tree: Tree, words: Sequence[str]) -> Seen[str]:
    borrowed = (f"GIT_OBJECT_DIRECTORY={tree.common}/objects", f"GIT_INDEX_FILE={tree.folder}/index")
    plain = ("GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1")
    git = ("git", f"--git-dir={_OWN_FOLDER}", f"--work-tree={tree.root}")
    return host.command(("env", *borrowed, *plain, *git, *words), cwd=tree.root, budget=_BUDGET)


def _entries(raw: str) -> Iterator[Entry]:
    """`:100644 100644 OID OID M`, NUL, path, NUL. Raises ValueError for anything else."""
    words = raw.split("\0")
    for line, path in zip(words[:-1:2], words[1::2], strict=True):
        mode_before, mode_after, before, after, _status = line.removeprefix(":").split(" ")
        yield Entry(mode_before, mode_after, before, after, path)


def _digest(host: Host, tree: Tree, entries: Sequence[Entry]) -> Seen[str]:
    files = [entry.path for entry in entries if _is_unsettled(entry)]
    links = {entry.path: _blob_of_link(host, tree, entry) for entry in entries if entry.mode_after == _SYMLINK}
    return then(_blobs(host, tree, files), lambda blobs: _digest_of(entries, {**links, **blobs}))


def _blob_of_link(host: Host, tree: Tree, entry: Entry) -> str:
    """The blob id of a symbolic link: git stores its target as the content."""
    from hashlib import sha1

    target = host.link(f"{tree.root}/{entry.path}")
    content = b"" if isinstance(target, Gap) else target.encode()
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_unsettled(entry: Entry) -> bool:
    return entry.mode_after.startswith("100") and not entry.after.strip("0")


def _blobs(host: Host, tree: Tree, paths: Sequence[str]) -> Seen[dict[str, str]]:
    """What the files hold now, as blob ids, conversions left out."""
    blobs: dict[str, str] = {}
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        answer = _ask(host, tree, ("hash-object", "--no-filters", "--", *batch))
        if isinstance(answer, Gap):
            return answer
        blobs.update(zip(batch, answer.split(), strict=True))
    return blobs


def _digest_of(entries: Sequence[Entry], blobs: dict[str, str]) -> str:
    from hashlib import sha256

    lines = []
    for entry in entries:
        after = blobs.get(entry.path, entry.after)
        if (entry.mode_before, entry.before) != (entry.mode_after, after):
            lines.append(f"{entry.mode_after} {after} {entry.path}\0")
    return sha256("".join(sorted(lines)).encode()).hexdigest()[:20] if lines else "clean"
