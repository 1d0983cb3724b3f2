"""The Python environment beside its packages' releases: who edited what, where it came from, what runs before the
program."""

from fingerprint.explain.mechanisms.graph import Rule

_PEP_610 = "https://packaging.python.org/en/latest/specifications/direct-url/"
_RECORD = "https://packaging.python.org/en/latest/specifications/recording-installed-packages/"
_SITE = "https://docs.python.org/3/library/site.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="modified-package",
        sees=tuple(f"libraries/*/packages/*/modified/{fact}" for fact in ("digest", "count", "files")),
        moves=("code", "kernel choice", "launch latency", "gpu memory"),
        breaks="often",
        why="Files were edited or replaced after they were installed: a hotfix, a debug print in each step, a tree "
        "that was copied over the package. The version that is shown tells nothing of it, so nobody suspects it.",
        confirm="pip install --force-reinstall --no-deps of that package at its version, and the same run; before "
        "that, keep the edited files and diff them with the wheel's",
        sources=(_RECORD,),
    ),
    Rule(
        name="editable-tree",
        sees=tuple(f"libraries/*/origins/*/tree/{fact}" for fact in ("path", "commit", "dirty")),
        moves=("code", "kernel choice", "launch latency", "accept length"),
        breaks="often",
        usual=(1.02, 5.5),
        beside=("process/*/env/PYTHONPATH",),
        why="An editable package is whatever its checkout holds at the start of the process: another commit, another "
        "branch or uncommitted edits under an unchanged version; one merge in the attention path cost 1.85 %.",
        confirm="git checkout of the other run's commit in that tree; git bisect with the run as its test",
        confirmed=1,
        sources=("https://github.com/sgl-project/sglang/issues/28300", _PEP_610),
    ),
    Rule(
        name="shadowed-package",
        sees=("libraries/*/shadowed", "libraries/*/shadowed/*"),
        moves=("code", "kernel choice"),
        breaks="often",
        beside=("process/*/env/PYTHONPATH", "process/*/env/PYTHONNOUSERSITE"),
        why="A package lies in two folders of the import path and the first one runs: what pip shows for the "
        "environment may be the other. Two copies of a native library may both be loaded.",
        confirm="python -c 'import NAME; print(NAME.__file__)' as the server starts; PYTHONNOUSERSITE=1",
        sources=(_SITE,),
    ),
    Rule(
        name="variable-not-read",
        sees=("libraries/*/engines", "libraries/*/engines/*/unknown", "libraries/*/engines/*/unknown/*"),
        moves=("code", "kernel choice"),
        beside=("libraries/*/packages/vllm/version", "libraries/*/packages/sglang/version"),
        why="A variable that the engine does not read does nothing: after an upgrade that renamed or dropped it the "
        "setting is gone while the environment still shows it, and what it switched is at its default again.",
        confirm="The same run without the variable must be the same; then with the name that this release reads",
        sources=("https://docs.vllm.ai/en/stable/configuration/env_vars/",),
    ),
    Rule(
        name="import-path",
        sees=("libraries/*/folders",),
        moves=("code",),
        breaks="often",
        beside=("process/*/env/PYTHONPATH", "process/*/cwd"),
        why="What lies in an earlier folder hides what lies in a later one, modules without a distribution included, "
        "which no list of packages shows.",
        confirm="Start with the other run's PYTHONPATH, folder and switches (-s, -I); python -X importtime",
        sources=("https://docs.python.org/3/library/sys_path_init.html",),
    ),
    Rule(
        name="start-up-hook",
        sees=(
            "libraries/*/hooks",
            "libraries/*/hooks/*/sha256",
            "libraries/*/hooks/*/adds",
            "libraries/*/hooks/*/runs",
            "libraries/*/hooks/*/maps",
            "libraries/*/hooks/*/maps/*",
            "libraries/*/customisations",
            "libraries/*/customisations/*/path",
            "libraries/*/customisations/*/sha256",
        ),
        moves=("code", "system calls", "cpu time"),
        breaks="seldom",
        why="Code that every Python of the environment runs before the program: tracers, profilers, certificate "
        "patches, vendors' shims. It can replace any function that is imported later, and is in no package's version.",
        confirm="Take the file away, or start with -S or -I; python -X importtime shows what it costs",
        sources=(_SITE,),
    ),
)
