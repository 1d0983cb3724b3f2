"""What was compiled and tuned before: caches that a start finds, and settings of kernels by the GPU's name."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_LOST = "https://github.com/mitchross/talos-argocd-proxmox/pull/1848"
_COMPILE = "https://docs.vllm.ai/en/stable/design/torch_compile/"
_CACHE = "storage/*/caches/*"
_WRITTEN = (
    Condition(facts="usage/main/write_bytes", sign="grew", says="the run wrote more, as one that compiles does"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="compile-cache-at-start",
        sees=("storage/*/caches", _CACHE, f"{_CACHE}/path", f"{_CACHE}/at_start"),
        moves=("kernel choice", "storage", "cpu time"),
        best=("warm",),
        mostly=True,
        phases=("start-up", "prefill", "any work"),
        binds=_WRITTEN,
        usual=(1.05, 5.0),
        why="A cold cache is filled while the server starts, 166 s of one start, or within the first requests, -10 % "
        "in a window that was timed. What was tuned anew is told by its digest.",
        confirm="Start a second time with the same folder, and compare that start with the warm one",
        confirmed=2,
        sources=(_LOST, "https://github.com/vllm-project/vllm/pull/24605", _COMPILE),
    ),
    Rule(
        name="compile-cache-content",
        sees=(f"{_CACHE}/digest",),
        moves=("kernel choice",),
        phases=("start-up", "prefill", "decode step", "verify step", "any work"),
        usual=(1.0, 1.15),
        beside=(f"{_CACHE}/at_start", "process/*/env/TRITON_*", "process/*/env/TORCHINDUCTOR_*"),
        why="The names of what lies in it are digests of sources, settings and compilers: with other names, other "
        "kernels were compiled, or the same ones tuned at another time, beside another neighbour.",
        confirm="Start from a copy of the other run's folder, with the same libraries",
        confirmed=1,
        sources=(_COMPILE, "https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html"),
    ),
    Rule(
        name="tuned-kernel-files",
        sees=("storage/*/tuned/*/path", "storage/*/tuned/*/files", "storage/*/tuned/*/files/*"),
        moves=("kernel choice", "gpu compute"),
        phases=("prefill", "decode step", "verify step", "any work"),
        usual=(1.03, 1.7),
        beside=("libraries/*/packages/triton/version", "gpu/*/name"),
        told_by=("experts-untuned", "experts-tuned-for-another", "blocks-untuned"),
        why="vLLM and SGLang take block sizes and warps of the expert kernels from a file named after experts, size "
        "and GPU, SGLang for each release of Triton as well. Where it is missing they go on with general ones, and a "
        "line of the log says so.",
        confirm="grep -i `config` in the engine's log at the start; put the other run's file there",
        confirmed=3,
        sources=(
            "https://github.com/sgl-project/sglang/pull/24562",
            "https://github.com/sgl-project/sglang/pull/7687",
        ),
    ),
)
