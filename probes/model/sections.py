"""What is told about the models of one process."""

from typing import Union

from probes.kit.facts import Document, Map, Redacted, Section, Seen, config

Text = Union[str, Redacted]

_FLAGS = "*model* *revision* *tokenizer* --speculative-* -sc -m -md --hf* -hf* --download-dir --huggingface-hub-cache"
_VARIABLES = "MODEL_ID LLAMA_ARG_MODEL HF_* HUGGINGFACE_* XDG_CACHE_HOME HOME *_USE_MODELSCOPE MODELSCOPE_*"
_ASKED = (
    *(f"process/*/flags/{name}" for name in _FLAGS.split()),
    "process/*/operands",
    *(f"process/*/env/{name}" for name in _VARIABLES.split()),
)
_PLACED = (*_ASKED, "process/*/cwd", "model/*/*/name")
_OTHER = ("model/*/*/path", "model/*/*/revision")
_MADE = (*_OTHER, "model/*/*/weights/headers")


class Weights(Section):
    """The files that hold the tensors, told by their headers."""

    format: Seen[str] = config(
        "How the weights are stored decides how they are loaded: mapped, copied, unpickled",
        "names of the files",
        follows=_OTHER,
    )
    count: Seen[int] = config(
        "One shard too many, left over from another download, is loaded like the rest",
        "names of the files",
        "files",
        follows=_OTHER,
    )
    bytes: Seen[int] = config(
        "What has to be read at the start, and to fit into memory", "sizes of the files", "B", follows=_MADE
    )
    parameters: Seen[int] = config(
        "How much work a token is, of a model that is told by its name alone",
        "headers of safetensors and GGUF",
        follows=_MADE,
    )
    tensors: Seen[Map[Seen[int]]] = config(
        "How many tensors have each number format: the bytes that a decode step reads",
        "headers of safetensors and GGUF",
        "tensors",
        follows=_MADE,
    )
    headers: Seen[str] = config(
        "Tells weights of one name and size apart by what their headers say, without reading them",
        "SHA-256 over the headers of all files, by name",
        follows=_OTHER,
    )
    metadata: Seen[Map[Seen[Text]]] = config(
        "A GGUF file holds configuration, tokenizer and template itself; how it was quantised is said here",
        "header of the first file",
        private=True,
        follows=_MADE,
    )


class Checkpoint(Section):
    """One model's files."""

    name: Seen[Text] = config(
        "Another model is another amount of work for each token",
        "--model, --model-path, --model-id, -m, --speculative-config and their like; the first operand of a `serve`",
        private=True,
        follows=_ASKED,
    )
    path: Seen[str] = config(
        "A name of the hub is whatever its cache holds on this host; two caches may hold two states of it",
        "the folder or file named, else the hub's cache: HF_HUB_CACHE, HF_HOME, ~/.cache/huggingface/hub",
        follows=_PLACED,
    )
    revision: Seen[str] = config(
        "A branch moves: the same name was another model, or another chat template, a week ago",
        "refs/ and snapshots/ of the hub's cache; .cache/huggingface/download of a folder",
        follows=_PLACED,
    )
    configuration: Seen[Document] = config(
        "Layers, experts, context length, position scaling and the name of the architecture decide which code runs",
        "config.json, or params.json",
        follows=_OTHER,
    )
    generation_config: Seen[Document] = config(
        "Servers take temperature and stop tokens from here where a request leaves them out: lengths and accepted "
        "drafts move",
        "generation_config.json",
        follows=_OTHER,
    )
    quantization: Seen[Document] = config(
        "Which layers have few bits, and how they are scaled, decides which kernels can run them",
        "hf_quant_config.json, quantize_config.json, quant_config.json",
        follows=_OTHER,
    )
    files: Seen[Map[Seen[str]]] = config(
        "A tokenizer, a template or the model's own code edited in place keeps the path while prompts or layers differ",
        "SHA-256 of tokenizer, template, processor and index files and of *.py beside them",
        follows=_OTHER,
    )
    weights: Weights = Weights()


class Model(Section):
    """By role: `target`, `draft`, `tokenizer` where it is another folder's."""

    models: Seen[Map[Checkpoint]] = config(
        "With a draft model two are loaded, and the accept length is a matter of both",
        "the arguments",
        follows=_ASKED,
    )
