"""What of a process's environment and arguments may leave it in clear.

Environment values are kept for names on an allow list. Everything else, and secrets in arguments and
URLs, becomes a keyed digest (HMAC-SHA256) before anybody sees it: that two runs had the same value
stays visible, the value does not. Rules on names alone hit too much (a TOKEN/KEY rule hits 48 of
1,060 engine variables, 45 of them no secrets) and miss values, hence the allow list.
"""

import hmac
import os
import re
from typing import Mapping

from probes.kit.facts import Map, Redacted, Seen

# Steering variables of the libraries and engines, and what decides how a program runs.
ALLOWED_PREFIXES = (
    "NCCL_", "CUDA_", "CUBLAS_", "CUDNN_", "NVSHMEM_", "NVIDIA_", "NVTE_", "UCX_", "UCC_", "OMPI_MCA_", "IBV_", "MLX5_",
    "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "GOTO_", "NUMEXPR_", "TBB_", "TORCH_", "TORCHINDUCTOR_",
    "TORCHDYNAMO_", "PYTORCH_", "TRITON_", "TRTLLM_", "VLLM_", "SGLANG_", "SGL_", "FLASHINFER_", "DG_", "JAX_", "XLA_",
    "TF_XLA", "TF_CPP", "TF_NUM", "TF_GPU", "TF_ENABLE", "TF_FORCE", "TF_CUDNN", "RAY_", "GLOO_", "MALLOC_", "GLIBC_", "GLIBC_TUNABLES", "LD_", "PYTHON", "LC_", "HIP_", "ROCM_", "HSA_",
    "GPU_", "MIOPEN_", "RCCL_", "GGML_", "LLAMA_", "OLLAMA_", "GOMAXPROCS", "GOGC", "GODEBUG", "NUMBA_",
)  # fmt: skip
ALLOWED_NAMES = frozenset(
    "PATH LANG LANGUAGE TZ VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE"
    " NODE_RANK MASTER_PORT TOKENIZERS_PARALLELISM TRANSFORMERS_OFFLINE HF_HUB_OFFLINE HF_HOME XDG_CACHE_HOME TMPDIR"
    " HOME SHELL TERM COLUMNS LINES CI NO_COLOR PWD".split()
)
# Names that a prefix above would let through although they hold a secret.
SECRET_NAME = re.compile(
    r"(?:^|_)(?:SECRETS?|PASSWORDS?|PASSWD|CREDENTIALS?|API_?KEYS?|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|(?:AUTH|ACCESS|BEARER|HF|HUB)_TOKEN|TOKEN|AUTH)$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(r"(?:PER|MAX|NUM|SPEC)_TOKEN$", re.IGNORECASE)
# Belong to the session or the job, differ in every run and never move a number.
SESSION_NAMES = frozenset(
    "_ SHLVL OLDPWD INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID MANAGERPID XDG_SESSION_ID XDG_RUNTIME_DIR"
    " XDG_SESSION_TYPE XDG_SESSION_CLASS DBUS_SESSION_BUS_ADDRESS WINDOWID DISPLAY TMUX TMUX_PANE STY TERM_SESSION_ID"
    " BUILD_ID BUILD_NUMBER BUILD_TAG BUILD_URL CI_JOB_ID CI_PIPELINE_ID RUNNER_TRACKING_ID HOSTNAME"
    " PYTEST_CURRENT_TEST PYTEST_XDIST_TESTRUNUID".split()
)
SESSION_PREFIXES = ("SSH_", "SLURM_JOB", "SLURM_STEP", "SLURM_TASK", "PBS_JOB", "LSB_JOB", "FLUX_JOB", "GITHUB_RUN")

_SECRET_FLAG = re.compile(
    r"^--?[\w-]*(?:api[-_]?key|secret|password|passwd|auth[-_]?token|access[-_]?token|hf[-_]?token|bearer|credentials?)$",
    re.IGNORECASE,
)
_URL_SECRET = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<user>[^/@\s]+)@", re.IGNORECASE)
_TOKEN_SHAPE = re.compile(r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[pousr]_\w{20,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{20,}\.[\w.-]+)")


class Redactor:
    """Turns private values into Redacted ones under one key.

    `key_id` is public and derived from the key, so that two hosts that share a key can be compared.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.key_id = hmac.new(key, b"fingerprint key id", "sha256").hexdigest()[:12]

    @classmethod
    def ephemeral(cls) -> "Redactor":
        """A key that dies with this process: nothing redacted under it compares with anything else."""
        return cls(os.urandom(32))

    def redacted(self, value: str) -> Redacted:
        return Redacted(self.key_id, hmac.new(self._key, value.encode(), "sha256").hexdigest()[:32])

    def variable(self, name: str, value: str) -> str | Redacted:
        """The value of an environment variable, in clear only when its name is allowed and no secret."""
        if is_allowed(name) and not _TOKEN_SHAPE.search(value) and not _URL_SECRET.search(value):
            return value
        return self.redacted(value)

    def environment(self, variables: Mapping[str, str]) -> Map[Seen[str | Redacted]]:
        return Map({name: self.variable(name, value) for name, value in sorted(variables.items())})

    def environ(self, text: str) -> Map[Seen[str | Redacted]]:
        """Of /proc/PID/environ: NUL-separated NAME=VALUE; an entry without a name is dropped."""
        pairs = (entry.partition("=") for entry in text.split("\0") if entry)
        return self.environment({name: value for name, _, value in pairs if name})

    def cmdline(self, text: str) -> tuple[str | Redacted, ...]:
        """Of /proc/PID/cmdline: each argument ended by NUL."""
        return self.arguments(text.rstrip("\0").split("\0") if text.strip("\0") else [])

    def arguments(self, argv: list[str]) -> tuple[str | Redacted, ...]:
        """The arguments with whole secrets redacted: the value after a secret flag, `--flag=value` after
        its `=`, and any argument that holds a URL with a user or looks like a token."""
        clear: list[str | Redacted] = []
        after_secret = False
        for argument in argv:
            clear.append(self.redacted(argument) if after_secret else self._argument(argument))
            after_secret = bool(_SECRET_FLAG.match(argument)) and not after_secret
        return tuple(clear)

    def _argument(self, argument: str) -> str | Redacted:
        flag, equals, value = argument.partition("=")
        secret = equals and (_SECRET_FLAG.match(flag) or (SECRET_NAME.search(flag) and not _NOT_SECRET.search(flag)))
        if secret:
            mark = self.redacted(value)
            return f"{flag}=hmac:{mark.key}:{mark.digest}"
        if _URL_SECRET.search(argument) or _TOKEN_SHAPE.search(argument):
            return self.redacted(argument)
        return argument


def is_allowed(name: str) -> bool:
    """Whether an environment variable of this name may be kept in clear."""
    if SECRET_NAME.search(name) and not _NOT_SECRET.search(name):
        return False
    return name in ALLOWED_NAMES or name.startswith(ALLOWED_PREFIXES)


def is_session(name: str) -> bool:
    """Whether a variable identifies a session or job: such a one is never a change."""
    return name in SESSION_NAMES or name.startswith(SESSION_PREFIXES)
