"""rocketns answers the recorded requests with the recorded bytes of the Java NameServer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interop.capture import OF_NEWEST
from interop.golden import store
from interop.golden.compare import comparable
from interop.golden.newest import differences
from interop.golden.play import play
from interop.golden.steps import Scenario, Step
from interop.harness import codes
from interop.harness.rocketmq.maven import NEWEST
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, decode_binary_header
from rocketns.shadow.comparing.frames import split
from rocketns.shadow.comparing.tokens import parse, sort_at, write

EVERY_CODE = {
    *range(codes.PUT_KV_CONFIG, codes.GET_BROKER_CLUSTER_INFO + 1),
    *(205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904),
}
VERSIONS = {0, 36, 37, 400, 401, 513}


@pytest.mark.parametrize("name", store.NAMES)
def test_answers_are_the_recorded_bytes(name: str, server_class: type[NameServer], tmp_path: Path) -> None:
    """Every row that the steps of the scenario name."""
    scenario = store.load(name)
    assert_as_recorded(scenario, server_class(tmp_path, dict(scenario.properties)))


@pytest.mark.parametrize("name", OF_NEWEST)
def test_answers_for_5_5_1_are_the_recorded_bytes(name: str, server_class: type[NameServer], tmp_path: Path) -> None:
    """``rocketns.compatibleVersion``: what the Java name server answers with the libraries of 5.5.1."""
    scenario = store.load(name, NEWEST)
    assert_as_recorded(scenario, server_class(tmp_path, scenario.properties | {"rocketns.compatibleVersion": NEWEST}))


def assert_as_recorded(scenario: Scenario, server: NameServer) -> None:
    try:
        answers = play(scenario, server)
    finally:
        server.stop()
    found = "\n\n".join(filter(None, map(difference, scenario.steps, answers)))
    assert not found, found


@pytest.mark.parametrize("name", OF_NEWEST)
def test_5_5_1_differs_in_the_version_and_in_one_address(name: str) -> None:
    """In nothing else. Every answer has the version, so that none is compared with itself."""
    old, new = store.load(name), store.load(name, NEWEST)
    assert differences(old.steps, new.answers) == []
    pairs = [pair for pair in zip(old.answers, new.answers, strict=True) if pair[0]]
    assert len(pairs) > 20
    assert all(one != other for one, other in pairs)


def test_any_other_difference_between_5_5_0_and_5_5_1_is_found() -> None:
    steps, new = store.load(OF_NEWEST[0]).steps, store.load(OF_NEWEST[0], NEWEST).answers
    at = next(number for number, answer in enumerate(new) if b'"code":0' in answer)
    changed = [*new[:at], new[at].replace(b'"code":0', b'"code":1'), *new[at + 1 :]]
    assert [found.partition("\n")[0] for found in differences(steps, changed)] == [steps[at].name]


def difference(step: Step, answer: bytes) -> str:
    """How an answer differs from the recorded one, empty if it does not."""
    if not answer or not step.answer:
        return "" if answer == step.answer else f"{step.name}: answer {answer!r}, recorded {step.answer!r}"
    here, there = comparable(step, answer), comparable(step, step.answer)
    parts = [f"  {part}\n    here {here[part]}\n    Java {there[part]}" for part in here if here[part] != there[part]]
    return "\n".join([f"{step.name} ({step.shows}; unordered: {step.unordered})", *parts]) if parts else ""


@pytest.mark.parametrize("name", store.NAMES)
def test_a_file_is_written_as_it_was_read(name: str) -> None:
    """When the answers are recorded again, the rest of the file stays as it is."""
    assert store.rendered(store.load(name)) == store.path_of(name).read_text("utf-8")


def test_the_requests_have_every_code_version_and_header_form() -> None:
    frames = [split(step.request) for name in store.NAMES for step in store.load(name).steps if step.request]
    headers = [decode_binary_header(h) for h, _, kind in frames if kind == ROCKETMQ and h[-4:] != b"\xff" * 4]
    headers += [json.loads(header) for header, _, kind in frames if kind != ROCKETMQ]
    assert {h.get("code") for h in headers} >= EVERY_CODE
    assert {h.get("version") for h in headers} >= VERSIONS
    assert {kind for _, _, kind in frames} == {0, 1}


def test_provenance_names_the_server_and_every_file() -> None:
    provenance = json.loads((store.FOLDER / "provenance.json").read_text("utf-8"))
    assert set(provenance) == {"rocketmq", "java", "jars", "command", "scenarios"}
    assert provenance["rocketmq"] == "5.5.0"
    assert re.search(r'version "\d+', provenance["java"])
    assert provenance["command"] == "python -m interop.capture"
    jars = {re.sub(r"-[\d.]+\.jar$", "", jar): digest for jar, digest in provenance["jars"].items()}
    assert set(jars) == {"rocketmq-namesrv", "rocketmq-remoting", "rocketmq-common", "fastjson2"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jars.values())
    assert provenance["scenarios"] == store.NAMES


def test_no_recorded_file_names_a_folder_of_the_machine_that_recorded_it() -> None:
    for path in store.FOLDER.glob("*.txt"):
        assert not re.search(r"(?<![\w:/.])/(tmp|home|root|Users|var)/", path.read_text("utf-8")), path.name


def test_sorting_evens_out_only_the_collection_it_names() -> None:
    one = parse('{"b":[{"n":"y"},{"n":"x"}],"a":{10:1,"2":[3,1]}}')
    assert write(one) == '{"b":[{"n":"y"},{"n":"x"}],"a":{10:1,"2":[3,1]}}'
    assert write(sort_at(one, ["b"])) == '{"b":[{"n":"x"},{"n":"y"}],"a":{10:1,"2":[3,1]}}'
    assert write(sort_at(one, ["a", "2"])) == '{"b":[{"n":"y"},{"n":"x"}],"a":{10:1,"2":[1,3]}}'
    assert write(sort_at(one, ["a"])) == '{"b":[{"n":"y"},{"n":"x"}],"a":{"2":[3,1],10:1}}'
    with pytest.raises(ValueError):
        parse('{"a": 1}')
