"""The two run files of examples/story and what they might have been: each is explained where there is neither GPU nor
store."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fingerprint.explain.contract import Diff
from fingerprint.report.text import render
from tests.e2e.conftest import Cli
from tests.story.__main__ import COLUMNS, FOLDER, README, block
from tests.story.runs import ENV, FRIDAY, SAME_STATE, THURSDAY, Day, exported

POWER = "gpu/*/power_limit"
A, B = (str(FOLDER / f"{day.name}.json") for day in (THURSDAY, FRIDAY))
SLOW = replace(SAME_STATE, decode=16.6, plain=60.0)
"""Every step is slower, as it is where the all-reduces are."""
AGAIN = (
    "See whether verify_ms stays at 29.6 ms or comes back to 19.2 ms: fingerprint run --name run-B --repeat 3 -- "
    "./bench.sh --model /models/moe-1t --tp 8 --speculative"
)
WITHOUT_NCCL = {name: value for name, value in ENV.items() if not name.startswith("NCCL_")}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Diff:
    """Of the two files in the repository."""
    cli = Cli(tmp_path_factory.mktemp("home"))
    answer = msgspec.json.decode(cli("diff", A, B, "--format", "json", status=1).stdout, type=Diff)
    assert not Path(cli.env["FINGERPRINT_STORE"]).exists()
    return answer


def between(cli: Cli, a: Day, b: Day) -> dict[str, Any]:
    for day in (a, b):
        (cli.home / f"{day.name}.json").write_bytes(exported(day))
    return cli.diff(f"{a.name}.json", f"{b.name}.json")


def suspects(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {suspect["facts"][0]: suspect for suspect in answer["suspects"]}


def test_the_answer_names_the_limit_what_was_at_work_what_speaks_against_it_and_what_is_left(answer: Diff) -> None:
    first = f"{POWER} 600 -> 450 W on 8/8, at most 15 % of it"
    assert answer.headline == f"verify_ms is worse (+54 %); first suspect: {first}."
    [suspect] = answer.suspects
    assert (suspect.facts, suspect.on, suspect.likelihood) == ((POWER,), "8/8", "possible")
    assert [one.fact.rpartition("/")[2] for one in suspect.evidence] == ["sw_power_cap", "draw"]
    assert [one.fact for one in suspect.against] == ["decode_ms"]
    assert suspect.explains
    assert answer.unexplained
    assert suspect.explains.high == pytest.approx(19.2 * (12.1 / 11.2 - 1), abs=0.01)
    assert answer.unexplained.low == pytest.approx(10.4 - suspect.explains.high, abs=0.01)
    assert suspect.restore
    assert "-pl 600" in suspect.restore


def test_its_numbers_fit_each_other(answer: Diff) -> None:
    told = answer.arithmetic
    assert told
    assert told.contradictions == ()
    assert {metric.name: metric.verdict for metric in answer.metrics}["accept_length"] == "same"
    parts = {factor.name: factor.share for factor in told.factors if factor.part_of == "cycle"}
    assert sum(share or 0 for share in parts.values()) == pytest.approx(1, abs=0.01)
    assert max(parts, key=lambda name: parts[name] or 0) == "verify_ms"
    assert [round(each.accept_length, 2) for each in told.break_even] == [1.89, 2.73]


def test_what_was_equal_is_ruled_out_and_nothing_else_changed(answer: Diff) -> None:
    assert {change.fact for change in answer.changes if change.suspect is None} == set()
    assert {group.title for group in answer.ruled_out.groups} >= {"gpu", "process", "kernel", "memory", "numa"}
    assert answer.ruled_out.count > 1500


def test_the_readme_shows_what_is_printed(answer: Diff) -> None:
    shown = block(render(answer, width=COLUMNS))
    assert shown in README.read_text(), "renew it: python -m tests.story"


def test_it_fits_a_screen(answer: Diff) -> None:
    assert len(render(answer, width=COLUMNS).splitlines()) <= 60


def test_without_plain_decode_beside_it_the_limit_is_likely_and_explains_what_the_clocks_lost(fingerprint: Cli) -> None:
    told = between(fingerprint, replace(THURSDAY, decode=None), replace(FRIDAY, decode=None))
    power = suspects(told)[POWER]
    assert (power["rank"], power["likelihood"], power["against"]) == (1, "likely", [])
    assert 5.5 < power["explains"]["high"] < 6.5
    assert told["blind"] == []


def test_where_plain_decode_stood_still_the_limit_is_spoken_against(fingerprint: Cli) -> None:
    told = between(fingerprint, THURSDAY, replace(FRIDAY, decode=11.2, plain=89.0))
    power = suspects(told)[POWER]
    assert power["likelihood"] == "unlikely"
    assert "decode_ms" in power["against"][0]["says"]
    assert power["explains"]["high"] == 0
    assert "what changed explains nothing of it: gpu/*/power_limit 600 -> 450 W on 8/8" in told["headline"]
    assert told["next"] == [AGAIN]


def test_variables_that_did_not_reach_the_process_are_suspects_and_the_limit_is_ruled_out(fingerprint: Cli) -> None:
    told = between(fingerprint, THURSDAY, replace(SLOW, env=WITHOUT_NCCL, workers=WITHOUT_NCCL))
    found = suspects(told)
    assert set(found) == {"process/*/env/NCCL_PROTO", "process/*/env/NCCL_P2P_LEVEL"}
    assert {(one["on"], one["likelihood"]) for one in found.values()} == {("10/10", "possible")}
    [gpus] = [group for group in told["ruled_out"]["groups"] if group["title"] == "gpu"]
    assert "power limits" in gpus["says"]


def test_variables_that_reached_the_script_and_not_the_workers_are_told_of_the_workers(fingerprint: Cli) -> None:
    told = between(fingerprint, THURSDAY, replace(SLOW, workers=WITHOUT_NCCL))
    found = suspects(told)
    assert set(found) == {"process/*/env/NCCL_PROTO", "process/*/env/NCCL_P2P_LEVEL"}
    assert {one["on"] for one in found.values()} == {"8/10"}
    ranks = [f"process/main.python.{number}/env/NCCL_PROTO" for number in range(2, 10)]
    assert found["process/*/env/NCCL_PROTO"]["which"] == ranks


def test_where_all_is_equal_but_the_number_it_says_so_and_what_it_did_not_look_at(fingerprint: Cli) -> None:
    told = between(fingerprint, THURSDAY, SAME_STATE)
    assert told["suspects"] == []
    nothing = "nothing that was seen in both runs changed that could explain it"
    assert told["headline"] == f"verify_ms is worse (+54 %), and {nothing}."
    assert told["ruled_out"]["count"] > 1500
    assert told["blind"]
    assert told["not_known"]
    assert told["next"] == [AGAIN]


def test_where_of_the_first_day_only_numbers_were_kept_nothing_is_blamed(fingerprint: Cli) -> None:
    """As a log keeps them: what was measured and asked, and no state."""
    kept = json.loads(Path(A).read_bytes())
    numbers = ("opened", "workload", "metric", "closed")
    for run in kept["runs"]:
        run["records"] = [record for record in run["records"] if record["record"] in numbers]
    (fingerprint.home / "log.json").write_text(json.dumps({**kept, "snapshots": [], "blobs": []}))
    told = fingerprint.diff("log.json", B)
    assert (told["suspects"], told["changes"], told["ruled_out"]["count"]) == ([], [], 0)
    unseen = "no state was seen in both runs: what changed is not known"
    assert told["headline"] == f"verify_ms is worse (+54 %), and {unseen}."
    assert told["next"] == [AGAIN]
    leading = {unknown["fact"]: unknown["rules"] for unknown in told["not_known"]}
    assert "power-limit" in leading["gpu"]
    assert told["arithmetic"]["says"][0].startswith("Of throughput x 0.64")
    same = fingerprint.diff("log.json", "log.json")["headline"]
    assert same == "No state was seen in both runs: what changed is not known."


def test_turned_round_the_verdicts_turn(fingerprint: Cli) -> None:
    turned = fingerprint.diff(B, A)
    verdicts = {metric["name"]: metric["verdict"] for metric in turned["metrics"]}
    assert {verdicts[name] for name in ("throughput", "verify_ms", "draft_ms", "decode_ms")} == {"better"}
    assert (suspects(turned)[POWER]["before"], suspects(turned)[POWER]["after"]) == (450_000, 600_000)
