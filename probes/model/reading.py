"""The models of one process, read from outside, weights by their headers."""

import posixpath
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Union

from probes.kit.answering import answering
from probes.kit.asked import TARGET, Asked, asked
from probes.kit.configured import configured
from probes.kit.documents import document
from probes.kit.facts import Document, Gap, Map, Redacted, Seen, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.hub import Place, place
from probes.kit.lazy import lazy_regex
from probes.kit.processes import began
from probes.kit.shards import shards
from probes.model.sections import Checkpoint, Model
from probes.model.tensors import weights_in, weights_of, without_weights

Text = Union[str, Redacted]

DOCUMENT_BYTES = 512 << 10
MOST_FILES = 64

_CONFIGS = ("config.json", "params.json")
_QUANTIZATIONS = ("hf_quant_config.json", "quantize_config.json", "quant_config.json")
_GENERATION = ("generation_config.json",)
_DIGESTED = lazy_regex(
    r"tokenizer.*|.*\.(?:tiktoken|jinja|py)|vocab\.(?:json|txt)|merges\.txt|special_tokens_map\.json|added_tokens\.json"
    r"|chat_template\.json|tekken\.json|(?:pre|video_pre)?processor_config\.json|.*\.index\.json"
)


def model(host: Host, pid: int) -> Model:
    argv = host.arguments(pid)
    if isinstance(argv, Gap):
        return Model(models=argv)
    environ = host.environ(pid)
    env = {} if isinstance(environ, Gap) else _present(environ.items)
    files, cwd = answering(host, pid), link_of(host, pid, "cwd")
    file = configured(files, argv, cwd, partial(began, host, pid))
    found = asked(argv, env, {} if isinstance(file, Gap) else file.flags)
    if isinstance(file, Gap) and TARGET not in found:
        return Model(models=file)
    return Model(
        models=Map({role: _checkpoint(files, one, place(files, one, env, cwd)) for role, one in found.items()})
    )


def _present(items: Mapping[str, Seen[Text]]) -> dict[str, Text]:
    return {name: value for name, value in items.items() if not isinstance(value, Gap)}


def _checkpoint(files: Host, one: Asked, there: Place) -> Checkpoint:
    path = there.path
    names = then(path, files.names) if there.folder else then(path, lambda file: shards(files, file))
    folder = path if there.folder else then(path, posixpath.dirname)
    told: dict[str, Any] = {"name": one.name, "path": path, "revision": there.revision}
    if isinstance(names, Gap) or isinstance(folder, Gap):
        return _unseen(names if isinstance(names, Gap) else folder, told)
    beside = names if there.folder else ()
    return Checkpoint(
        configuration=_document(files, folder, beside, _CONFIGS),
        generation_config=_document(files, folder, beside, _GENERATION),
        quantization=_document(files, folder, beside, _QUANTIZATIONS),
        files=Map(_digests(files, folder, beside)),
        weights=weights_in(files, folder, names) if there.folder else weights_of(files, folder, names),
        **told,
    )


def _unseen(why: Seen[object], told: Mapping[str, Any]) -> Checkpoint:
    """Each fact of the files with the same gap."""
    facts = dict.fromkeys(Checkpoint.__facts__, why)
    return Checkpoint(weights=without_weights(why), **{**facts, **told})


def _document(files: Host, folder: str, names: Sequence[str], wanted: Sequence[str]) -> Seen[Document]:
    name = next((one for one in wanted if one in names), None)
    if name is None:
        return Gap("absent", f"no {' or '.join(wanted)}")
    return then(files.text(f"{folder}/{name}", DOCUMENT_BYTES), lambda text: document(files.redactor, text.encode()))


def _digests(files: Host, folder: str, names: Sequence[str]) -> dict[str, Seen[str]]:
    wanted = [name for name in names if _DIGESTED.fullmatch(name)][:MOST_FILES]
    return {name: files.sha256(f"{folder}/{name}") for name in wanted}
