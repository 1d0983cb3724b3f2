"""A process's environment, sorted by what a difference in it means."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.redact import is_session
from probes.process.sections import Text

# Set along with the interpreter when an environment is activated (venv, conda, pixi, spack, modules).
ACTIVATION_NAMES = frozenset(
    "PATH MANPATH INFOPATH PKG_CONFIG_PATH VIRTUAL_ENV VIRTUAL_ENV_PROMPT UV_PROJECT_ENVIRONMENT PIPENV_ACTIVE"
    " POETRY_ACTIVE LOADEDMODULES _LMFILES_ SPACK_ENV".split()
)
ACTIVATION_PREFIXES = ("CONDA_", "_CE_", "MAMBA_", "PIXI_", "_OLD_VIRTUAL_", "PYENV_")

Variables = Map[Seen[Text]]


class Sorted(NamedTuple):
    env: Seen[Variables]
    activation: Seen[Variables]
    session: Seen[Variables]


def sorted_variables(environ: Seen[Variables]) -> Sorted:
    return Sorted(
        env=_those(environ, lambda name: not is_session(name) and not is_activation(name)),
        activation=_those(environ, lambda name: is_activation(name) and not is_session(name)),
        session=_those(environ, is_session),
    )


def is_activation(name: str) -> bool:
    return name in ACTIVATION_NAMES or name.startswith(ACTIVATION_PREFIXES)


def in_clear(environ: Seen[Variables], name: str) -> str:
    """The variable's value; empty where it is not set or was redacted."""
    value = None if isinstance(environ, Gap) else environ.items.get(name)
    return value if isinstance(value, str) else ""


def _those(environ: Seen[Variables], wanted: Callable[[str], bool]) -> Seen[Variables]:
    return then(environ, lambda variables: Map(_picked(variables.items, wanted)))


def _picked(items: Mapping[str, Seen[Text]], wanted: Callable[[str], bool]) -> Mapping[str, Seen[Text]]:
    return {name: value for name, value in items.items() if wanted(name)}
