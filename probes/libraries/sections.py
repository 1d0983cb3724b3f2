"""What is told of the Python environment that a process runs in."""

from typing import Union

from probes.kit.facts import Map, Redacted, Section, Seen, config, telemetry

Text = Union[str, Redacted]

_ORIGIN = "libraries/*/origins/*"


class Modified(Section):
    """The files of a distribution against its RECORD; nobody looked at those of packages that are not watched."""

    digest: Seen[str] = config(
        "A file that was edited, put in its place or added beside it runs under the version that the package still "
        "claims",
        "RECORD beside size, time and, where these leave it open, content; `clean`, or a digest of what differs",
        follows=("libraries/*/origins/*/commit", "libraries/*/packages/*/version"),
    )
    count: Seen[int] = config(
        "Whether a line was patched or a tree laid over the package",
        "as `digest`",
        "files",
        follows=("libraries/*/packages/*/modified/digest",),
    )
    files: Seen[tuple[str, ...]] = config(
        "Names what to compare with the package as it was published",
        "as `digest`; the first of them",
        follows=("libraries/*/packages/*/modified/digest", "libraries/*/packages/*/modified/count"),
    )
    unsettled: Seen[int] = config(
        "Files newer than RECORD that were too many bytes to read: a copied environment",
        "as `digest`",
        "files",
        context=True,
    )


class Package(Section):
    """One distribution: the one that is imported, where several of its name can be found."""

    version: Seen[str] = config(
        "Compilers and kernels come along with it: an upgrade that nobody named moved 1.6 to 5.5x. Behind `+` stands "
        "the build, e.g. for which CUDA",
        "the name of its .dist-info or .egg-info, else the Version in METADATA",
        restore="pip install --no-deps {key}=={value}",
    )
    record: Seen[str] = config(
        "Another wheel of the same version has other files: built anew, for another CUDA, from a fork",
        "RECORD: digest of the names and hashes of its files, without scripts and what installers add",
        follows=("libraries/*/packages/*/version", "libraries/*/origins/*/commit", "libraries/*/origins/*/archive"),
    )
    modified: Modified = Modified()
    requested: Seen[bool] = config("Whether it was asked for, or came along", "REQUESTED", context=True)
    found_in: Seen[str] = config(
        "Tells how it comes to be imported: with the environment, the user's or the system's packages, PYTHONPATH",
        "the folder of the import path that holds it",
        context=True,
    )


class Tree(Section):
    """The folder that an editable installation imports from."""

    path: Seen[str] = config(
        "Two checkouts are two states of the code",
        "direct_url.json, .egg-link or the import path",
        follows=("libraries/*/environment",),
    )
    commit: Seen[str] = config(
        "The version of an editable package stays while its code moves on",
        ".git/HEAD and the reference that it names",
        restore="git checkout {value}",
        follows=("libraries/*/origins/*/tree/path",),
    )
    dirty: Seen[str] = config(
        "Uncommitted edits run as well and no commit id tells them",
        "git diff-index HEAD; `clean`, or a digest of what differs",
        follows=("libraries/*/origins/*/tree/commit", "libraries/*/origins/*/tree/path"),
    )


class Origin(Section):
    """Where a distribution came from that came from no index (PEP 610)."""

    url: Seen[Text] = config(
        "A fork, a nightly build or a wheel of one's own goes under the version of a release",
        "direct_url.json",
        private=True,
    )
    commit: Seen[str] = config(
        "What was built: the version of a development build often stays for weeks", "direct_url.json vcs_info"
    )
    revision: Seen[str] = config("The branch or tag that was asked for", "direct_url.json vcs_info", context=True)
    archive: Seen[str] = config(
        "The same address can hold another file tomorrow",
        "direct_url.json archive_info",
        follows=(f"{_ORIGIN}/url",),
    )
    tree: Tree = Tree()


class Hook(Section):
    """A .pth file: each line adds a folder to the import path, or is run at each start."""

    sha256: Seen[str] = config(
        "It can change what any later import finds, and patch it, before the program's first line",
        "the file",
        follows=("libraries/*/hooks/*/adds", "libraries/*/hooks/*/runs"),
    )
    adds: Seen[tuple[str, ...]] = config(
        "Packages may come from there", "the file's lines that name something that is there"
    )
    maps: Seen[Map[Seen[Text]]] = config(
        "An editable package is imported from there, which no folder of the import path shows",
        "literals of the finder that the file starts: MAPPING and NAMESPACES (setuptools), map_module (editables)",
        private=True,
        follows=("libraries/*/origins/*/tree/path",),
    )
    runs: Seen[tuple[Text, ...]] = config(
        "Code that every Python of this environment executes", "the file's lines that begin with `import`", private=True
    )


class Customisation(Section):
    """sitecustomize or usercustomize: a module that each start of the interpreter imports if it can be found."""

    path: Seen[str] = config("The first on the import path is the one that runs", "the import path")
    sha256: Seen[str] = config(
        "It can patch any module before the program's first line",
        "the file",
        follows=("libraries/*/customisations/*/path",),
    )


class Engine(Section):
    """The variables of an engine's own: those that bear its name."""

    listed: Seen[int] = config(
        "How many the engine's own list names: another release has others",
        "vllm/envs.py, sglang/srt/environ.py, lmdeploy/pytorch/envs.py",
        context=True,
    )
    unknown: Seen[Map[Seen[str]]] = config(
        "A variable that no line of the installed engine names does nothing, and no log says so: its name is of "
        "another release, or misspelt. Beside each the listed one that is called most like it, `none` where none is",
        "/proc/PID/environ of the environment's first process and those below it; the engine's list, then its and its "
        "plugins' Python files",
        follows=(
            "libraries/*/packages/*/version",
            "libraries/*/origins/*/commit",
            "libraries/*/origins/*/tree/commit",
            "process/*/env/*",
        ),
    )


class Libraries(Section):
    """The environment of one process, without importing anything of it."""

    environment: Seen[str] = config(
        "The folder alone moves nothing; what its packages are is told one by one",
        "argv[0] and pyvenv.cfg of the process, else PYTHONHOME",
        context=True,
    )
    python: Seen[str] = config(
        "Wheels are built for one release, and imports look in folders of its number",
        "pyvenv.cfg, else the name of the executable",
        context=True,
    )
    folders: Seen[tuple[str, ...]] = config(
        "What lies in the first of them hides what lies in later ones",
        "PYTHONPATH, PYTHONHOME, HOME, switches, pyvenv.cfg, .pth files; the environment's own as they stand below it",
        follows=("libraries/*/environment", "libraries/*/hooks", "libraries/*/hooks/*/adds"),
    )
    packages: Seen[Map[Package]] = config(
        "What can be imported; one that is missing leaves a fallback or nothing",
        ".dist-info and .egg-info folders",
        complete_by="folders",
    )
    origins: Seen[Map[Origin]] = config(
        "Those that came from a checkout, an archive or a folder instead of an index",
        "direct_url.json, .egg-link",
        follows=("libraries/*/packages",),
        complete_by="folders",
    )
    shadowed: Seen[Map[Seen[tuple[str, ...]]]] = config(
        "A package that is installed twice runs as the one whose folder comes first, whatever the other's version says",
        "the import path; VERSION in FOLDER of those that are hidden",
        follows=("libraries/*/folders",),
        complete_by="folders",
    )
    hooks: Seen[Map[Hook]] = config(
        "Code that runs before the program, and folders that only they name",
        ".pth files of the site folders",
        complete_by="folders",
    )
    customisations: Seen[Map[Customisation]] = config(
        "Code that runs before the program, found by its name alone",
        "sitecustomize and usercustomize",
        complete_by="folders",
    )
    engines: Seen[Map[Engine]] = config(
        "Engines whose source tells which variables they read",
        "the distributions vllm, sglang and lmdeploy",
        follows=("libraries/*/packages",),
        complete_by="folders",
    )
    written_since: Seen[tuple[str, ...]] = telemetry(
        "The process has what was there before: what was changed beneath it is in force once it is started again",
        "mtime of RECORD, of files that differ from it, of .pth files and customisations, against field 22 of "
        "/proc/PID/task/TID/stat and a minute",
    )
