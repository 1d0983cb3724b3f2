"""What of a process's environment and arguments may leave it in clear.

Environment values are kept for names on an allow list. Everything else, and secrets in arguments and
URLs, becomes a keyed digest (HMAC-SHA256) before anybody sees it: that two runs had the same value
stays visible, the value does not. Rules on names alone hit too much (a TOKEN/KEY rule hits 48 of
1,060 engine variables, 45 of them no secrets) and miss values, hence the allow list; a secret that
stands under an allowed name is found by its shape.
"""

import hmac
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from probes.kit.facts import Map, Redacted, Seen
from probes.kit.lazy import lazy_regex

# Steering variables of libraries and engines. A prefix belongs to one project: LD_ alone is also LaunchDarkly's,
# LC_ is what ssh lets anybody smuggle through.
ALLOWED_PREFIXES = tuple(
    # collectives and fabrics
    "NCCL_ RCCL_ GLOO_ NVSHMEM_ UCX_ UCC_ OMPI_MCA_ PMIX_MCA_ PRTE_MCA_ I_MPI_ MPICH_ HCOLL_ SHARP_ IBV_"
    " MLX5_ RDMAV_ FI_ PSM3_ CCL_ MSCCL_ MSCCLPP_ GDRCOPY_ DEEPEP_ DEEP_EP_ NIXL_ MOONCAKE_ MC_"
    # devices and their libraries
    " CUDA_ CUBLAS_ CUBLASLT_ CUDNN_ CUFFT_ CUSPARSE_ CUTLASS_ CUTE_ NVIDIA_ NVTE_ NVCC_ NVJITLINK_ HIP_"
    " HIPBLASLT_ ROCM_ ROCR_ ROCBLAS_ TENSILE_ HSA_ GPU_ AMD_ MIOPEN_ AITER_ ZE_ SYCL_ TPU_ LIBTPU_ HABANA_"
    " ASCEND_"
    # compilers and frameworks
    " TORCH_ TORCHINDUCTOR_ TORCHDYNAMO_ TORCHELASTIC_ AOT_INDUCTOR_ INDUCTOR_ PYTORCH_ KINETO_ TRITON_"
    " TILELANG_ TVM_ JAX_ XLA_ TF_XLA TF_CPP TF_NUM TF_GPU TF_ENABLE TF_FORCE TF_CUDNN ONEDNN_ DNNL_ NUMBA_"
    " FLA_ FLASHINFER_ FLASH_ATTENTION_ XFORMERS_ DG_ DEEP_GEMM_ ACCELERATE_"
    # engines
    " VLLM_ SGLANG_ SGL_ TRTLLM_ TLLM_ LMCACHE_ DYN_ RAY_ GGML_ LLAMA_ OLLAMA_ HF_HUB_ HF_XET_ TRANSFORMERS_"
    " TOKENIZERS_"
    # threads, arithmetic and memory
    " OMP_ KMP_ GOMP_ MKL_ OPENBLAS_ GOTO_ BLIS_ NVPL_ ARMPL_ VECLIB_ NUMEXPR_ TBB_ RAYON_ HWLOC_ MALLOC_"
    " TCMALLOC_ MIMALLOC_ JEMALLOC_ PYTHON".split()
)  # fmt: skip
ALLOWED_NAMES = frozenset(
    # how a program is found, linked and started
    "PATH HOME SHELL TMPDIR VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_SHLVL PYENV_VERSION"
    " LOADEDMODULES LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT LD_BIND_NOW LD_BIND_NOT LD_DEBUG LD_PROFILE"
    " LD_ORIGIN_PATH LD_HWCAP_MASK LD_USE_LOAD_BIAS GLIBC_TUNABLES GCONV_PATH LIBRARY_PATH CPATH CUDAHOSTCXX"
    " CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_BUILD_TYPE MAX_JOBS MAKEFLAGS VERBOSE"
    # language and time
    " LANG LANGUAGE TZ LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME NO_COLOR CI"
    " DEBIAN_FRONTEND"
    # run times
    " GOMAXPROCS GOGC GOMEMLIMIT GODEBUG NODE_OPTIONS UV_THREADPOOL_SIZE TOKIO_WORKER_THREADS RUST_BACKTRACE"
    " JAVA_TOOL_OPTIONS"
    # ranks
    " RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_RANK NODE_RANK NNODES NPROC_PER_NODE"
    " PMI_RANK PMI_SIZE PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK SLURM_PROCID"
    " SLURM_LOCALID SLURM_NODEID SLURM_NTASKS SLURM_NNODES SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_MEM_BIND"
    # engines, where a name has no prefix of its own
    " HF_HOME HF_DATASETS_OFFLINE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME MODEL_ID PORT Q_SCALE_CONSTANT"
    " K_SCALE_CONSTANT V_SCALE_CONSTANT IS_H200 DO_NOT_TRACK".split()
)  # fmt: skip

# Belong to the terminal, login, job, start or to fingerprint itself; never move a number.
SESSION_NAMES = frozenset(
    "_ SHLVL PWD OLDPWD INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET SYSTEMD_EXEC_PID MANAGERPID MANAGERPIDFDID"
    " MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE MAINPID LISTEN_PID LISTEN_FDS WATCHDOG_PID XDG_SESSION_ID"
    " XDG_RUNTIME_DIR XDG_SESSION_TYPE XDG_SESSION_CLASS XDG_SESSION_DESKTOP XDG_CURRENT_DESKTOP XDG_SEAT"
    " XDG_VTNR XAUTHORITY DBUS_SESSION_BUS_ADDRESS GPG_AGENT_INFO GPG_TTY TERM TERM_PROGRAM"
    " TERM_PROGRAM_VERSION TERM_SESSION_ID TERMCAP COLORTERM COLORFGBG COLUMNS LINES LS_COLORS PS1 WINDOWID"
    " DISPLAY WAYLAND_DISPLAY TMUX TMUX_PANE STY VTE_VERSION SECURITYSESSIONID HISTFILE EDITOR VISUAL PAGER"
    " LESSOPEN LESSCLOSE MAIL SUDO_COMMAND SUDO_USER SUDO_UID SUDO_GID HOSTNAME POD_NAME POD_IP POD_UID"
    " BUILD_ID BUILD_NUMBER BUILD_TAG BUILD_URL BUILD_DISPLAY_NAME EXECUTOR_NUMBER"
    " JOB_ID MASTER_PORT VLLM_DP_MASTER_PORT SGLANG_RUN_ID TORCHELASTIC_RUN_ID RAY_JOB_ID"
    " RAY_NODE_ID RAY_WORKER_ID RAY_RAYLET_PID OMPI_COMM_WORLD_JOBID PMIX_NAMESPACE PMIX_SERVER_TMPDIR"
    " ORTE_HNP_DAEMON_URI HYDI_CONTROL_FD PMI_FD PMI_PORT PMI_ID PYTEST_CURRENT_TEST PYTEST_XDIST_WORKER"
    " PYTEST_XDIST_TESTRUNUID".split()
)  # fmt: skip
SESSION_PREFIXES = tuple(
    "SSH_ SLURM_JOB SLURM_STEP SLURM_TASK_PID SLURM_SRUN SLURM_LAUNCH SLURM_TOPOLOGY SLURMD_ SLURM_GTIDS"
    " PBS_JOB LSB_JOB FLUX_JOB GITHUB_ ACTIONS_ RUNNER_ CI_ GITLAB_ BUILDKITE_ PMIX_SERVER_URI VSCODE_ KITTY_ WEZTERM_"
    " ALACRITTY_ KONSOLE_ ITERM_ GNOME_TERMINAL_ FINGERPRINT_".split()
)

# Names that a prefix above would let through although they hold a secret. A word in front of TOKEN that counts
# or places tokens, or of KEY that names a key of a table, makes it none.
_SECRET_NAME = lazy_regex(
    r"(?:^|_)(?:PASS|PWD?|CREDS?(?:_\w+)?|COOKIES?|BEARER|AUTH|AUTHORIZATION|KEYS?|KEY_ID|TOKENS?|"
    r"TOKEN_(?:ID|VALUE|JSON|B64)|SIGNATURE|DSN|JWT|CONNECTION_STRING|WEBHOOK(?:_URL)?)$"
    r"|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE_KEY|ACCESS_KEY|AUTH_CONFIG|AUTH_?TOKEN|API_?KEY",
    re.IGNORECASE,
)
_NOT_SECRET = lazy_regex(
    r"(?:^|_)(?:(?:PER|MAX|MIN|NUM|SPEC|EOS|BOS|PAD|STOP)_TOKENS?|(?:GRAPH|CACHE|SORT)_KEYS?)$", re.IGNORECASE
)

# The end of a flag, a JSON key, a header or a parameter that holds a secret: `--hf-token`, `secretAccessKey`,
# `rd.iscsi.password`. Tokens that are words of a model are none.
_SECRET_WORD = lazy_regex(
    r"(?:(?:api|access|secret|private|admin|auth|signing|encryption|license|account|wandb|sas)[-_]?keys?(?:[-_]?id)?|"
    r"secret|passwords?|passwd|passphrase|pwd|rootpw|require-?pass|masterauth|bearer|authorization|credentials?|"
    r"cookie|token|jwt|dsn|connection[-_]?string|webhook(?:[-_]?url)?|shared[-_]?access[-_]?signature)$",
    re.IGNORECASE,
)
_MODEL_WORD = lazy_regex(
    r"(?:per|max|min|num|spec|eos|bos|pad|unk|sep|cls|begin|end|start|stop|mask|image|video|audio|tool|think|from)"
    r"[-_]token$",
    re.IGNORECASE,
)
_SECRET_FLAG = lazy_regex(r"^--(?:key|auth|pass|user|proxy-user|pw|pat|basic-auth|user-?pass)$", re.IGNORECASE)
# Of vLLM and LMDeploy: one key or more, up to the next flag.
_FLAG_WITH_SECRETS = lazy_regex(r"^--api[-_]?keys?$", re.IGNORECASE)
_LONG_FLAG = lazy_regex(r"--[A-Za-z][\w.-]{0,80}")
_TITLE = lazy_regex(r"[^/\s]*(?:::|\s)")  # `ray::IDLE`, `nginx: worker process`; no program is called so
_FLAG_WITH_VARIABLE = lazy_regex(r"^(?:-[A-Za-z]{0,4}e|-x|-E|-v|--env|--setenv|--build-arg)$")
_FLAG_WITH_NAME_AND_VALUE = ("-env", "-genv")  # mpiexec
_ASSIGNMENT = lazy_regex(r"^(?:--(?:env|setenv|build-arg)=|-e)?(?P<name>[A-Za-z_]\w*)=")
_LOGIN = lazy_regex(r"(?!\d+:\d+$)[^/:\s]+:\S")  # `USER:PASSWORD`; 1000:1000 is a user and a group

# `name=value`, `name: value`, `"name": "value"` (in JSON inside of JSON too), `["name"] = "value"`, `"name", "value"`
# and `--name value`, anywhere in a text.
_PAIR = lazy_regex(
    r"(?<![\w.-])(?:(?P<name>[\w.-]{2,80})"
    r"(?:\\?[\"']?\]?\s{0,3}[:=]\s{0,3}|[\"']\s{0,3},\s{0,3}(?=[\"'][^\"']{1,400}[\"']\s{0,3}[),\]]))"
    r"|(?P<flag>--?[A-Za-z][\w.-]{1,80})\s{1,3}(?!-))"
    r"(?=\\?[\"']?(?!(?:null|none|true|false)(?![^\s\"',}\]]))[^\s\"',}\\])",
    re.IGNORECASE,
)

# Secrets by their shape, wherever they stand.
_SHAPES = lazy_regex(
    r"\b[a-z][a-z0-9+.-]{0,20}://[^/@\s]{0,400}@"  # user or password in a URL
    r"|\biscsi:[^/@\s]{1,400}@"  # dracut's netroot=
    r"|[?&#](?:[\w-]*token|sig|signature|[\w-]*key|secret|password|x-amz-[\w-]+|credential)=[^&\s]"  # signed URLs
    r"|\bhooks\.slack\.com/\w+/\w|/api/webhooks/\d"  # whoever knows the URL may post
    r"|\b(?:authorization|proxy-authorization|x-api-key|cookie|bearer)\b\W{1,4}\w"  # headers
    r"|\bbasic\s+[A-Za-z0-9+/]{12,}={0,2}$"
    r"|-----BEGIN "
    r"|\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bnvapi-[\w-]{20,}|\bnpm_\w{30,}|\bpypi-[\w-]{40,}"
    r"|\bdckr_pat_[\w-]{20,}|\beyJ[\w-]{16,}\.[\w-]{8,}",
    re.IGNORECASE,
)  # fmt: skip


class Redactor:
    """Turns private values into Redacted ones under one key.

    `key_id` is public and derived from the key, so that two hosts that share a key can be compared.
    `allow`: more variables whose values are kept in clear, `NAME` or `PREFIX*`, unless they hold a secret's shape.
    """

    def __init__(self, key: bytes, allow: Iterable[str] = ()) -> None:
        self._key = key
        self._names = frozenset(allow)
        self._prefixes = tuple(name[:-1] for name in self._names if name.endswith("*"))
        self.key_id = hmac.new(key, b"fingerprint key id", "sha256").hexdigest()[:12]

    @classmethod
    def ephemeral(cls) -> "Redactor":
        """A key that dies with this process: nothing redacted under it compares with anything else."""
        return cls(os.urandom(32))

    def redacted(self, value: str) -> Redacted:
        """Lone surrogates, which os.environ holds for bytes that are no UTF-8, are hashed as they are."""
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        return Redacted(self.key_id, digest[:32])

    def variable(self, name: str, value: str) -> str | Redacted:
        """The value of an environment variable, in clear only when its name is allowed and it is no secret."""
        return value if self._allows(name) and not has_secret(value) else self.redacted(value)

    def _allows(self, name: str) -> bool:
        return is_allowed(name) or name in self._names or name.startswith(self._prefixes)

    def parameter(self, name: str, value: str) -> str | Redacted:
        """The value of a setting of the system: in clear unless its name or its shape is a secret's."""
        return self.redacted(value) if is_secret_name(name) or has_secret(value) else value

    def environment(self, variables: Mapping[str, str]) -> Map[Seen[str | Redacted]]:
        return Map({name: self.variable(name, value) for name, value in sorted(variables.items())})

    def environ(self, text: str) -> Map[Seen[str | Redacted]]:
        """Of /proc/PID/environ: NUL-separated NAME=VALUE. Of a name that stands twice the first counts, as in
        getenv(3). What has no `=` is no variable: titles that a program wrote over its environment."""
        pairs = (entry.partition("=") for entry in reversed(text.split("\0")))
        return self.environment({name: value for name, equals, value in pairs if name and equals})

    def cmdline(self, text: str) -> tuple[str | Redacted, ...]:
        """Of /proc/PID/cmdline: each argument ended by NUL. A title stands over all of them: it is filled up with NULs
        to their length (setproctitle), or what it did not reach is left of them and means nothing, a secret whose flag
        it covers included."""
        words = text.removesuffix("\0").split("\0") if text.strip("\0") else []
        return self.arguments(words if any(words[1:]) and not _TITLE.match(words[0]) else words[:1])

    def arguments(self, argv: Sequence[str]) -> tuple[str | Redacted, ...]:
        """A secret's whole argument is redacted: the value after a secret flag, an assignment to a private variable,
        and whatever has a secret's shape. Of `--flag=value` it is the value, a word of its own then."""
        return tuple(told for word in self.each(argv) for told in word)

    def each(self, argv: Sequence[str]) -> Iterator[tuple[str | Redacted, ...]]:
        """For each argument the words that are told of it: itself, a digest, or the name of a flag and a digest."""
        before = ("", "", *argv)
        flag = ""
        for first, second, word in zip(before, before[1:], argv):  # noqa: B905  # longer by construction
            flag = word if word.startswith("-") else flag
            is_further = flag is not word and _FLAG_WITH_SECRETS.match(flag) is not None
            if not (is_further or self._is_private(first, second, word)):
                yield (word,)
                continue
            name, equals, value = word.partition("=")
            named = equals and _LONG_FLAG.fullmatch(name) and not has_secret(name)
            yield (name, self.redacted(value)) if named else (self.redacted(word),)

    def assigned(self, name: str, value: str) -> str | Redacted:
        """The value of `name=value` on a command line of assignments; as `parameter`, and by every name of a secret."""
        return self.redacted(value) if has_secret(f"{name}={value}") else self.parameter(name, value)

    def settings(self, text: str) -> Map[Seen[tuple[str | Redacted, ...]]]:
        """Of a file of settings. Raises ValueError: see kit/setting_files.py."""
        from probes.kit.setting_files import settings

        return Map({name: tuple(self._setting(name, value) for value in all_) for name, all_ in settings(text).items()})

    def _setting(self, name: str, value: str) -> str | Redacted:
        return self.redacted(value) if _is_secret_flag(f"--{name}") else self.assigned(name, value)

    def _is_private(self, before: str, flag: str, argument: str) -> bool:
        """Whether the argument, which stands behind `flag` and that behind `before`, holds a secret."""
        if before in _FLAG_WITH_NAME_AND_VALUE and not self._allows(flag):
            return True
        if _is_secret_flag(flag) and not (_is_secret_flag(argument) or argument.startswith("--")):
            return True
        name, equals, value = argument.partition("=")
        if equals and value and _is_secret_flag(name):
            return True
        if flag == "-u" and _LOGIN.match(argument):
            return True
        return self._assigns_privately(flag, argument) or has_secret(argument)

    def _assigns_privately(self, flag: str, argument: str) -> bool:
        """`NAME=value` of a secret's name; behind docker's `-e` of any name that is not allowed."""
        assignment = _ASSIGNMENT.match(argument)
        if not assignment:
            return False
        handed_over = _FLAG_WITH_VARIABLE.match(flag) or argument.startswith("-")
        return not self._allows(assignment["name"]) if handed_over else is_secret_name(assignment["name"])


def has_secret(value: str) -> bool:
    """Whether something in the value has the shape of a secret, or stands behind a name of one."""
    return _SHAPES.search(value) is not None or any(
        _is_secret_word(pair["name"] or pair["flag"]) for pair in _PAIR.finditer(value)
    )


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None and _NOT_SECRET.search(name) is None


def is_allowed(name: str) -> bool:
    """Whether an environment variable of this name may be kept in clear."""
    return (name in ALLOWED_NAMES or name.startswith(ALLOWED_PREFIXES)) and not is_secret_name(name)


def is_session(name: str) -> bool:
    """Whether a variable identifies a session or job: such a one is never a change."""
    return name in SESSION_NAMES or name.startswith(SESSION_PREFIXES)


def _is_secret_flag(flag: str) -> bool:
    return flag.startswith("-") and (_SECRET_FLAG.match(flag) is not None or _is_secret_word(flag))


def _is_secret_word(name: str) -> bool:
    return _SECRET_WORD.search(name) is not None and _MODEL_WORD.search(name) is None
