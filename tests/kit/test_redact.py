"""No private value leaves a process in clear, and equality of values survives."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.facts import Map, Redacted, Seen
from probes.kit.redact import Redactor, has_secret, is_allowed, is_secret_name, is_session

KEY = b"a key of tests"
Variables = Map[Seen[str | Redacted]]

# A marker cannot come about by chance, in a name or a digest.
values = st.text(st.sampled_from("ghijklmnop"), min_size=12, max_size=30).map(lambda text: f"zq{text}qz")
names = st.one_of(
    st.text(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), min_size=1, max_size=20),
    st.sampled_from(
        ["VLLM_API_KEY", "HF_TOKEN", "NCCL_PROTO", "AWS_SECRET_ACCESS_KEY", "PATH", "DB_URL", "OMP_NUM_THREADS"]
    ),
)


@given(st.dictionaries(names, values))
def test_no_value_of_a_name_that_is_not_allowed_survives(environment: dict[str, str]) -> None:
    text = "".join(f"{name}={value}\0" for name, value in environment.items())
    encoded = msgspec.json.encode(Redactor(KEY).environ(text)).decode()
    allowed = {value for name, value in environment.items() if is_allowed(name)}
    assert {value for value in environment.values() if value in encoded} == allowed


@given(st.dictionaries(names, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_what_is_encoded_decodes_to_the_same(environment: dict[str, str]) -> None:
    told = Redactor(KEY).environment(environment)
    assert msgspec.json.decode(msgspec.json.encode(told), type=Variables) == told
    assert set(told.items) == set(environment)


@given(st.text(), st.text())
def test_under_one_key_equal_values_and_only_those_are_equal(a: str, b: str) -> None:
    assert (Redactor(KEY).redacted(a) == Redactor(KEY).redacted(b)) == (a == b)


def test_another_key_has_another_id_and_other_digests() -> None:
    a, b = Redactor(KEY).redacted("x"), Redactor(b"another").redacted("x")
    assert a.key != b.key
    assert a.digest != b.digest
    assert Redactor.ephemeral().key_id != Redactor.ephemeral().key_id


@pytest.mark.parametrize(
    "name",
    "NCCL_PROTO NCCL_IB_HCA UCX_IB_PCI_RELAXED_ORDERING CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER"
    " CUBLAS_WORKSPACE_CONFIG OMP_NUM_THREADS OMP_WAIT_POLICY VLLM_ATTENTION_BACKEND"
    " VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD"
    " SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK SGLANG_FLASHINFER_NVFP4_PER_TOKEN_ACTIVATION"
    " SGLANG_SIMULATE_ACC_TOKEN_MODE SGLANG_LOG_DECODE_GRAPH_KEY SGLANG_CUTLASS_FP8_PER_TOKEN TLLM_NUMA_BIND"
    " PYTORCH_CUDA_ALLOC_CONF PYTORCH_NVML_BASED_CUDA_CHECK TORCHINDUCTOR_COMPILE_THREADS TRITON_CACHE_DIR"
    " GGML_CUDA_P2P MALLOC_ARENA_MAX GLIBC_TUNABLES LD_PRELOAD LD_LIBRARY_PATH PYTHONHASHSEED MAX_JOBS"
    " NVIDIA_VISIBLE_DEVICES GLOO_SOCKET_IFNAME MC_TE_METRIC DG_JIT_CACHE_DIR HF_HUB_OFFLINE GOMAXPROCS".split(),
)
def test_a_steering_variable_stays_in_clear(name: str) -> None:
    assert Redactor(KEY).variable(name, "1") == "1"


@pytest.mark.parametrize(
    "name",
    "VLLM_API_KEY S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY HF_TOKEN HF_HUB_TOKEN HUGGING_FACE_HUB_TOKEN"
    " NVIDIA_API_KEY RAY_REDIS_PASSWORD LMCACHE_REMOTE_PASSWORD OLLAMA_AUTH LLAMA_ARG_API_KEY PGPASSWORD"
    " DOCKER_AUTH_CONFIG WANDB_API_KEY DATABASE_URL LC_SMUGGLED LD_SDK_KEY TRITON_AWS_MOUNT_CREDENTIALS"
    " UCX_PASSPHRASE CUDA_SOMETHING_SECRET MY_SERVICE_PASSWORD VLLM_HTTP_AUTHTOKEN RAY_PASSWORD_FILE CUDA_PW"
    " TRITON_CREDS_JSON NVIDIA_TOKEN_VALUE PYTHONSECRET".split(),
)
def test_a_private_variable_is_redacted(name: str) -> None:
    assert isinstance(Redactor(KEY).variable(name, "1"), Redacted)


@pytest.mark.parametrize(
    "value",
    [
        "https://user:pass@host/path",
        "redis://:pass@host:6379",
        "sk-proj-abcdefghijklmnop",
        "hf_abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrstuvwx",
        "github_pat_11AAAAAAA0abcdefghijklmn",
        "AKIAIOSFODNN7EXAMPLE",
        "nvapi-abcdefghijklmnopqrstuvwx",
        "eyJhbGciOiJIUzI1NiJ9xx.eyJzdWIiOiIxMjM0NTY3",
        "Authorization: Bearer abc",
        '{"api_key": "abc"}',
        "password=abc",
        "https://host/model?X-Amz-Signature=abc",
        "https://blob/model?sv=1&sig=abc",
        "-----BEGIN RSA PRIVATE KEY-----",
        '{"token": "abc"}',
        '{"secretAccessKey":"abc"}',
        r'{"nested": "{\"hf_token\": \"abc\"}"}',
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==",
        "Server=h;Pwd=abc",
        "-Djavax.net.ssl.keyStorePassword=abc",
        "https://hooks.slack.com/services/T0/B0/abc",
        "https://host/#access_token=abc",
        "Basic dXNlcjpwYXNzd29yZA==",
        "netroot=iscsi:user:abc@192.0.2.1::::iqn",
        "HF_TOKEN=abc vllm serve m",
        "vllm serve m --api-key abc --tp 8",
        "Token: abc",
        'import os; os.environ["HF_TOKEN"] = "abc"',
        "import os; os.environ.setdefault('API_KEY', 'abc')",
        '["--api-key", "abc"]',
    ],
)
def test_a_secret_is_known_by_its_shape_under_an_allowed_name_too(value: str) -> None:
    assert has_secret(value)
    assert isinstance(Redactor(KEY).variable("VLLM_LOGGING_PREFIX", value), Redacted)


@pytest.mark.parametrize(
    "value",
    [
        "/usr/bin:/bin",
        "mlx5_0,mlx5_1",
        "expandable_segments:True",
        "https://host/path",
        "max_tokens=100",
        "LL,LL128,Simple",
        "glibc.malloc.arena_max=1",
        '{"model": "draft", "num_speculative_tokens": 3}',
        "--xla_gpu_autotune_level=4",
        "0-63:2/4",
        "token: null, api_key=None",
        '{"weights": {"strategy": "token", "symmetric": true}}',
        '["LL", "LL128"]',
        '{"image_token": "<image>", "classifier_from_token": ["no", "yes"], "eos_token_id": 2}',
        "---------------Inter-Token Latency----------------",
        "--quantization fp8 --tokenizer-mode auto --skip-tokenizer-init",
    ],
)
def test_an_ordinary_value_is_no_secret(value: str) -> None:
    assert not has_secret(value)


SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "argv",
    [
        ["serve", "--api-key", SECRET],
        ["serve", f"--api-key={SECRET}"],
        ["serve", "--hf-token", SECRET],
        ["serve", "--token", SECRET],
        ["serve", f"--admin-api-key={SECRET}"],
        ["serve", "--ssl-password", SECRET],
        ["curl", "-H", f"Authorization: Bearer {SECRET}"],
        ["curl", f"https://me:{SECRET}@host"],
        ["docker", "run", "-e", f"MY_VARIABLE={SECRET}"],
        ["docker", "run", "-e", f"HF_TOKEN={SECRET}"],
        ["docker", "run", f"--env=MY_VARIABLE={SECRET}"],
        ["docker", "run", f"-eMY_VARIABLE={SECRET}"],
        ["env", f"API_KEY={SECRET}", "serve"],
        ["sh", "-c", f"HF_TOKEN=x API_KEY={SECRET} exec serve"],
        ["serve", "--config", f'{{"api_key": "{SECRET}"}}'],
        ["bash", "-c", f"vllm serve m --api-key {SECRET}"],
        ["srun", f"--export=ALL,HF_TOKEN={SECRET}", "serve"],
        ["mpirun", "-x", f"MY_VARIABLE={SECRET}", "serve"],
        ["mpiexec", "-genv", "MY_VARIABLE", SECRET, "serve"],
        ["systemd-run", "-E", f"MY_VARIABLE={SECRET}"],
        ["systemd-run", f"--setenv=MY_VARIABLE={SECRET}"],
        ["docker", "run", "-ite", f"MY_VARIABLE={SECRET}"],
        ["curl", "-u", f"me:{SECRET}"],
        ["redis-server", "--requirepass", SECRET],
        ["vllm", "serve", "m", "--api-key", SECRET, f"b{SECRET}", "--port", "8000"],
        ["lmdeploy", "serve", "api_server", "m", "--api-keys", SECRET, f"b{SECRET}"],
        ["serve", "--basic-auth", f"me:{SECRET}"],
    ],
)
def test_a_secret_in_arguments_is_redacted_and_the_rest_stays(argv: list[str]) -> None:
    told = list(Redactor(KEY).each(argv))
    assert SECRET not in repr(told)
    assert [word for word, shown in zip(argv, told, strict=True) if shown == (word,)] == [
        w for w in argv if SECRET not in w
    ]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"--api-key={SECRET}", SECRET),
        (f"--api_key={SECRET}", SECRET),
        (f"--api-key {SECRET}", SECRET),
        (f"--metrics-url=https://me:{SECRET}@host/", f"https://me:{SECRET}@host/"),
        (f"--env=HF_TOKEN={SECRET}", f"HF_TOKEN={SECRET}"),
    ],
)
def test_of_a_flag_with_a_secret_the_name_stays(line: str, value: str) -> None:
    redactor = Redactor(KEY)
    name = line.replace("=", " ").split()[0]
    assert redactor.arguments(["serve", *line.split()]) == ("serve", name, redactor.redacted(value))


def test_a_secret_in_the_place_of_a_name_goes_with_the_value() -> None:
    word = "--hf_aaaaaaaaaaaaaaaaaaaaaaaa=token=1"
    assert Redactor(KEY).arguments([word]) == (Redactor(KEY).redacted(word),)


@pytest.mark.parametrize(
    "argv",
    [
        ["python", "-m", "sglang.launch_server", "--model-path", "x", "--max-total-tokens", "100", "--tp", "8"],
        [
            "vllm",
            "serve",
            "m",
            "--speculative-config",
            '{"num_speculative_tokens": 3}',
            "--max-num-batched-tokens=8192",
        ],
        ["docker", "run", "-u", "1000:1000", "-e", "NCCL_PROTO=LL", "--env=OMP_NUM_THREADS=8"],
        ["mpiexec", "-genv", "I_MPI_DEBUG", "5", "python", "-u", "serve.py"],
        ["serve", "--ssl-keyfile", "/etc/key.pem"],
        ["serve", "--sort-key", "name", "--num-token", "3"],
        ["serve", "--api-key"],
        ["serve", "--tp", "8", "more"],
        ["serve", "--token", "--verbose"],
    ],
)
def test_ordinary_arguments_stay(argv: list[str]) -> None:
    assert Redactor(KEY).arguments(argv) == tuple(argv)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_the_command_line_has_as_many_arguments_as_the_kernel_shows(argv: list[str]) -> None:
    told = Redactor(KEY).cmdline("".join(f"{word}\0" for word in ("/bin/serve", *argv)))
    assert len(told) == 1 + len(argv) or not any(argv)


def test_a_title_is_no_arguments_however_many_there_were() -> None:
    """setproctitle 1.3.8 fills up what the arguments took."""
    assert Redactor(KEY).cmdline("VLLM::Worker_TP0" + "\0" * 19) == ("VLLM::Worker_TP0",)
    assert Redactor(KEY).cmdline("my worker\0n/python3\0-m\0vllm\0") == ("my worker",)
    assert Redactor(KEY).cmdline("llama-server\0--alias\0\0") == ("llama-server", "--alias", "")


def test_of_a_name_that_stands_twice_the_first_counts_as_in_getenv() -> None:
    assert Redactor(KEY).environ("TZ=first\0TZ=second\0").items == {"TZ": "first"}


def test_a_title_written_over_the_environment_is_no_variable() -> None:
    assert Redactor(KEY).environ("worker: my secret\0\0TZ=UTC\0=nameless\0").items == {"TZ": "UTC"}


def test_more_variables_may_be_allowed_by_name_and_by_prefix() -> None:
    redactor = Redactor(KEY, allow=("MY_MODE", "TEAM_*"))
    assert redactor.variable("MY_MODE", "fast") == "fast"
    assert redactor.variable("TEAM_MODE", "fast") == "fast"
    assert isinstance(redactor.variable("MY_MODEL", "fast"), Redacted)
    assert isinstance(redactor.variable("MY_MODE", "https://me:secret@host"), Redacted)


def test_bytes_that_are_no_text_can_be_redacted() -> None:
    assert isinstance(Redactor(KEY).redacted("caf\udce9"), Redacted)


@pytest.mark.parametrize(
    "name",
    "_ SHLVL PWD SSH_CLIENT SLURM_JOB_ID INVOCATION_ID TERM WINDOWID HOSTNAME GITHUB_RUN_ID GITHUB_ENV"
    " RUNNER_TEMP CI_JOB_TOKEN ACTIONS_RUNTIME_TOKEN".split(),
)
def test_identifiers_of_a_session_are_known(name: str) -> None:
    assert is_session(name)


@pytest.mark.parametrize("name", "PATH NCCL_PROTO SLURM_CPU_BIND MASTER_ADDR RAY_ADDRESS CUDA_VISIBLE_DEVICES".split())
def test_what_can_move_a_number_is_no_session_identifier(name: str) -> None:
    assert not is_session(name)


@given(names)
def test_no_name_of_a_secret_is_allowed(name: str) -> None:
    assert not (is_allowed(name) and is_secret_name(name))
