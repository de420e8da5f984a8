"""rocketns answers the recorded requests with the recorded bytes of the Java NameServer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interop.capture import OF_NEWEST
from interop.golden import store
from interop.golden.compare import comparable, split
from interop.golden.newest import differences
from interop.golden.play import play
from interop.golden.scenarios import SCENARIOS
from interop.golden.steps import Step
from interop.golden.tokens import parse, sort_at, write
from interop.harness import codes
from interop.harness.rocketmq.maven import NEWEST
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, decode_binary_header

EVERY_CODE = {
    *range(codes.PUT_KV_CONFIG, codes.GET_BROKER_CLUSTER_INFO + 1),
    *(205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904),
}
VERSIONS = {0, 36, 37, 400, 401, 513}


@pytest.mark.parametrize("name", SCENARIOS)
def test_answers_are_the_recorded_bytes(name: str, server_class: type[NameServer], tmp_path: Path) -> None:
    """Every row that the steps of the scenario name."""
    scenario = SCENARIOS[name]
    server = server_class(tmp_path, scenario.properties)
    try:
        answers = play(scenario, server)
    finally:
        server.stop()
    recorded = [step.answer for step in store.load(name)]
    differing = [difference(*one) for one in zip(scenario.steps, answers, recorded, strict=True)]
    found = "\n\n".join(filter(None, differing))
    assert not found, found


@pytest.mark.parametrize("name", OF_NEWEST)
def test_answers_for_5_5_1_are_the_recorded_bytes(name: str, server_class: type[NameServer], tmp_path: Path) -> None:
    """``rocketns.compatibleVersion``: what the Java name server answers with the libraries of 5.5.1."""
    scenario = SCENARIOS[name]
    server = server_class(tmp_path, scenario.properties | {"rocketns.compatibleVersion": NEWEST})
    try:
        answers = play(scenario, server)
    finally:
        server.stop()
    recorded = [step.answer for step in store.load(name, NEWEST)]
    found = "\n\n".join(filter(None, map(difference, scenario.steps, answers, recorded)))
    assert not found, found


@pytest.mark.parametrize("name", OF_NEWEST)
def test_5_5_1_differs_in_the_version_and_in_one_address(name: str) -> None:
    """In nothing else. Every answer has the version, so that none is compared with itself."""
    steps, old, new = SCENARIOS[name].steps, store.load(name), store.load(name, NEWEST)
    assert differences(steps, [step.answer for step in old], [step.answer for step in new]) == []
    pairs = [(one.answer, other.answer) for one, other in zip(old, new, strict=True) if one.answer]
    assert len(pairs) > 20
    assert all(one != other for one, other in pairs)


def test_any_other_difference_between_5_5_0_and_5_5_1_is_found() -> None:
    name = OF_NEWEST[0]
    steps, old = SCENARIOS[name].steps, [step.answer for step in store.load(name)]
    new = [step.answer for step in store.load(name, NEWEST)]
    at = next(number for number, answer in enumerate(new) if b'"code":0' in answer)
    changed = [*new[:at], new[at].replace(b'"code":0', b'"code":1'), *new[at + 1 :]]
    assert [found.partition("\n")[0] for found in differences(steps, old, changed)] == [steps[at].name]
    assert differences(steps, old, new[:-1])


def difference(step: Step, answer: bytes, recorded: bytes) -> str:
    """How an answer differs from the recorded one, empty if it does not."""
    if not answer or not recorded:
        return "" if answer == recorded else f"{step.name}: answer {answer!r}, recorded {recorded!r}"
    here, there = comparable(step, answer), comparable(step, recorded)
    parts = [f"  {part}\n    here {here[part]}\n    Java {there[part]}" for part in here if here[part] != there[part]]
    return "\n".join([f"{step.name} ({step.shows}; unordered: {step.unordered})", *parts]) if parts else ""


@pytest.mark.parametrize("name", SCENARIOS)
def test_recorded_requests_are_the_scripts(name: str) -> None:
    """Fails after a change of the script until the answers are captured again."""
    assert [step.request for step in store.load(name)] == [step.request for step in SCENARIOS[name].steps]
    text = store.path_of(name).read_text("utf-8")
    assert text == store.rendered(SCENARIOS[name], [step.answer for step in store.load(name)])


def test_the_script_has_every_code_version_and_header_form() -> None:
    frames = [split(step.request) for s in SCENARIOS.values() for step in s.steps if step.request]
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
    assert provenance["scenarios"] == sorted(SCENARIOS)
    assert sorted(path.stem for path in store.FOLDER.glob("*.txt")) == sorted(SCENARIOS)


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
