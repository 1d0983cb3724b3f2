"""Servers as they answer: what each engine says, in its own names, and a host on which one listens."""

from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.testing import Replay
from probes.engine import Engine, read
from probes.engine.asking import METRICS
from probes.kit.facts import Document, Gap, Map
from probes.kit.probe import Target
from tests.probes.asked import received

PID, PORT, INODE = 42, 30000, "777"
TCP, TCP6 = f"/proc/{PID}/net/tcp", f"/proc/{PID}/net/tcp6"
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

# SGLang 0.5.9: ServerArgs, what its scheduler adds, and for each scheduler its state with all of it again.
SGLANG: Mapping[str, Any] = {
    "model_path": "/models/m",
    "revision": None,
    "host": "0.0.0.0",
    "port": PORT,
    "nccl_port": 31002,
    "api_key": None,
    "dtype": "auto",
    "mem_fraction_static": 0.907,
    "max_running_requests": 256,
    "chunked_prefill_size": 8192,
    "tp_size": 8,
    "dp_size": 1,
    "random_seed": 832251587,
    "attention_backend": "fa3",
    "speculative_algorithm": "EAGLE",
    "speculative_num_steps": 3,
    "speculative_num_draft_tokens": 4,
    "cuda_graph_bs": [1, 2, 4, 8],
    "disable_cuda_graph": False,
    "enable_metrics": True,
    "lora_paths": None,
    "status": "ready",
    "max_total_num_tokens": 20480,
    "max_req_input_len": 20474,
    "internal_states": [
        {"tp_size": 8, "last_gen_throughput": 129.3, "effective_max_running_requests_per_dp": 128, "api_key": None}
    ],
    "version": "0.5.9",
}
# vLLM 0.11: what everybody is answered, and the configuration of VLLM_SERVER_DEV_MODE=1.
VLLM_CACHE = (
    'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",'
    'gpu_memory_utilization="0.9",num_gpu_blocks="27000",sliding_window="None"} 1.0'
)
VLLM: Mapping[str, Any] = {
    "/version": {"version": "0.11.0"},
    "/v1/models": {"object": "list", "data": [{"id": "served", "root": "/models/m", "max_model_len": 32768}]},
    "/metrics": [VLLM_CACHE, 'vllm:generation_tokens_total{engine="0",model_name="served"} 1200.0'],
}
VLLM_CONFIG: Mapping[str, Any] = {
    "vllm_config": {
        "model_config": {"revision": "abc123", "max_model_len": 32768, "enforce_eager": False, "quantization": None},
        "scheduler_config": {"max_num_seqs": 128, "max_num_batched_tokens": 8192, "enable_chunked_prefill": True},
        "parallel_config": {"tensor_parallel_size": 8, "data_parallel_size": 1},
        "cache_config": {"block_size": 16, "cache_dtype": "fp8"},
        "compilation_config": {"cudagraph_capture_sizes": [16, 8, 4, 2, 1]},
        "speculative_config": {"method": "eagle3", "num_speculative_tokens": 5},
    },
    "vllm_env": {"VLLM_SERVER_DEV_MODE": True},
}
LLAMA_CPP: Mapping[str, Any] = {
    "default_generation_settings": {"n_ctx": 512, "params": {"speculative.types": "none", "temperature": 0.8}},
    "total_slots": 2,
    "model_path": "/models/m.gguf",
    "chat_template": "a long one",
    "build_info": "b10434-7e4c0a9",
}
ELSEWHERE = Gap("unsupported", "it answers 404")


def listener(address: str = "00000000", port: int = PORT, inode: str = INODE) -> str:
    return (
        f"   0: {address}:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"
    )


def listens(
    argv: Sequence[str],
    answers: Mapping[str, Any],
    at: str = f"127.0.0.1:{PORT}",
    tables: Mapping[str, str] | None = None,
    held: Sequence[str] = (INODE,),
    env: Mapping[str, str] | None = None,
) -> Replay:
    """answers: JSON by path, lines of /metrics, or a Gap."""
    told = {path: it if isinstance(it, Gap) else Document(it) for path, it in answers.items()}
    return Replay(
        {
            ("arguments", f"/proc/{PID}/cmdline"): tuple(argv),
            ("environ", f"/proc/{PID}/environ"): Map(dict(env or {})),
            ("opened", f"{PID} " + r"socket:\[\d+\]"): tuple(f"socket:[{inode}]" for inode in held),
            **{("text", name): HEADER + table for name, table in (tables or {TCP: listener()}).items()},
            **{("http", f"{PID} {at} {path} {METRICS if path == '/metrics' else ''}"): it for path, it in told.items()},
        }
    )


def told(host: Replay) -> Engine:
    return received(read.read(host, Target("main", PID)))


def sglang(answers: Mapping[str, Any], *flags: str) -> Engine:
    return told(listens(("python", "-m", "sglang.launch_server", *flags), answers))


def vllm(answers: Mapping[str, Any], *flags: str) -> Engine:
    return told(listens(("vllm", "serve", "/models/m", "--port", str(PORT), *flags), answers))
