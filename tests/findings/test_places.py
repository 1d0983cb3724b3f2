"""Models and caches on file systems that another host or program answers for."""

import pytest

from fingerprint.findings import one_sided
from probes.kit.facts import Gap, Map, Section
from probes.storage.sections import Cache, InMemory, Model, Mount, Storage
from tests.findings.servers import effective, found, section_of, told

NFS = Mount(type="nfs4", answers=True)
GONE = Mount(type="nfs4", answers=False)
LOCAL = Mount(type="ext4", answers=Gap("unsupported"))


def server(mount: Mount, in_memory: InMemory | Gap = "all", cache: Mount = LOCAL) -> dict[str, Section]:
    models = Map({"target": Model(mount=mount, in_memory=in_memory)})
    return {"storage/vllm-8000": Storage(models=models, caches=Map({"triton": Cache(mount=cache)}))}


def test_weights_that_a_server_has_yet_to_send_are_told() -> None:
    [finding] = found(server(NFS, "none"))
    assert finding.identity == ("weights-to-come", "nfs4 target")
    assert finding.says == (
        "Next to none of the weights of vllm-8000's target model lies in memory: nfs4 has the rest to send."
    )
    assert finding.facts[0] == "storage/vllm-8000/models/target/in_memory"
    assert told(server(NFS, "part")) == [("weights-to-come", "nfs4 target")]


@pytest.mark.parametrize(
    ("mount", "held"),
    [(NFS, "all"), (LOCAL, "none"), (NFS, Gap("denied")), (Mount(type=Gap("absent"), answers=Gap("absent")), "none")],
)
def test_what_is_in_memory_on_a_local_disk_or_not_told_is_no_finding(mount: Mount, held: InMemory | Gap) -> None:
    assert found(server(mount, held)) == ()


def test_a_file_system_that_does_not_answer_is_told_once_with_all_that_lies_there() -> None:
    [finding] = found(server(GONE, Gap("timed_out"), GONE))
    assert finding.identity == ("file-system-silent", "nfs4")
    assert "below vllm-8000/models/target, vllm-8000/caches/triton does not answer" in finding.says


def test_a_diff_tells_it_of_the_run_that_has_it() -> None:
    of_a, of_b = one_sided(effective(server(NFS, "all")), effective(server(NFS, "none")), section_of)
    assert (of_a, [finding.rule for finding in of_b]) == ((), ["weights-to-come"])


def test_a_section_that_was_not_read_shows_nothing() -> None:
    assert found({"storage/vllm-8000": Storage()}) == ()
