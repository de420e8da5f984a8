"""A journal with damaged lines: they are left out and counted, and all that the other lines say is restored."""

from __future__ import annotations

import logging
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, topic_config
from rocketns.journal.restore.restoring import restore
from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unconfirmed.filling import fill
from tests.journal.wild.damage import damaged
from tests.journal.wild.steps import Ask, Pass, Restart, Work
from tests.journal.wild.world import DAY_S, NS, World, small_pieces
from tests.support.profile import new_seed

SEED = new_seed()
MUTATED = int(os.environ.get("ROCKETNS_MUTATED") or 400)
BROKERS = 8
Mutation = tuple[Path, list[bytes], set[str]]  # a file, its lines with damaged ones, and the brokers that those name


class Written(NamedTuple):
    """The files of a journal by their paths, and the time after them."""

    root: Path
    files: dict[Path, list[bytes]]
    epoch_ms: int


def register(number: int) -> Ask:
    topics = [topic_config(f"T{number}"), topic_config("shared")]
    ext = {"brokerAddr": f"a:{number}", "brokerName": f"b{number}", "clusterName": "C", "brokerId": "0"}
    return Ask(0, codes.REGISTER_BROKER, ext, register_body(topics, data_version(number)))


@pytest.fixture(scope="module", params=[1_500, 1 << 20], ids=["many-files", "one-file"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A real journal of two boots: a snapshot in the middle of the first, and a second one that was killed."""
    with small_pieces():
        world = World(tmp_path_factory.mktemp("mutated"), request.param)
        for number in range(BROKERS):
            world.play(register(number))
            if number == BROKERS // 2:
                world.play(Pass(60_000))
                world.play(Work(1_000))
        world.play(Pass(1))
        world.restart(Restart(kill=True))
        for number in range(BROKERS):
            world.play(register(number))
        world.journal.buffer.flush(world.now.epoch_ms)
    files = {path: path.read_bytes().splitlines() for path in sorted(world.root.glob("v=1/*/*/*"))}
    return Written(world.root, files, world.now.epoch_ms + 1_000)


def names_in(line: bytes) -> set[str]:
    """The brokers that a line names; all of them if it says that the boot, or its file, has nothing to do with them."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return set()
    if not isinstance(record, dict):
        return set()
    is_other = record.get("ev") == "open" and type(record.get("ns")) is str and record["ns"] != NS
    if is_other or record.get("ev") == "start":
        return {f"b{number}" for number in range(BROKERS)}
    return {name for name in (record.get("broker"), f"b{str(record.get('live'))[2:]}") if isinstance(name, str)}


def mutations(written: Written, seed: int) -> Iterator[Mutation]:
    chance = random.Random(seed)
    for path in chance.sample(list(written.files), min(len(written.files), chance.choice((1, 1, 2, 3)))):
        lines, touched = list(written.files[path]), set()
        for number in chance.sample(range(len(lines)), min(len(lines), chance.choice((1, 1, 2, 4)))):
            new = damaged(chance, lines[number])
            is_start = b'"ev":"start"' in lines[number]
            touched |= (set() if is_start else names_in(lines[number])) | names_in(new)
            lines[number] = new
        yield path, lines, touched


def lost(written: Written, changed: list[Mutation]) -> set[str]:
    """Brokers that are not restored although no damaged line names them."""
    try:
        for path, lines, _ in changed:
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        restored = restore(written.root, NS, written.epoch_ms, DAY_S)
    finally:
        for path, _, _ in changed:
            path.write_bytes(b"".join(line + b"\n" for line in written.files[path]))
    assert restored is not None
    fill(RouteTables(), restored.routes, Reason.RESTORED, 0, 1)
    touched = set().union(*(names for _, _, names in changed))
    there = {name for name, group in restored.routes.groups.items()
             if group.brokers and name in restored.routes.topics.get("T" + name[1:], ())}  # fmt: skip
    return {f"b{number}" for number in range(BROKERS)} - touched - there


def test_damaged_lines_cost_nothing_but_what_they_said(written: Written, caplog: pytest.LogCaptureFixture) -> None:
    """With ROCKETNS_MUTATED=10000 so many journals; a failure names the seed of one."""
    caplog.set_level(logging.CRITICAL)
    seeds = range(SEED, SEED + MUTATED)
    assert {seed: gone for seed in seeds if (gone := lost(written, list(mutations(written, seed))))} == {}


@pytest.mark.parametrize("of", ["open", "seal"])
@pytest.mark.parametrize("written", [1_500], ids=["many-files"], indirect=True)
def test_a_number_that_is_much_too_high_does_not_make_the_next_file_a_copy(written: Written, of: str) -> None:
    """Nor is it one because the number of the file is damaged as well."""
    (first, lines), (second, next_lines) = [(path, lines) for path, lines in written.files.items() if path.suffix][:2]
    assert (first.name, second.name) == ("1700000000000-000001.jsonl", "1700000000000-000002.jsonl")
    at = 0 if of == "open" else len(lines) - 1
    high = re.sub(rb'"seq":\d+', b'"seq":9223372036854775807', lines[at])
    nameless = re.sub(rb'"file":\d+', b'"file":null', next_lines[0])
    assert (b'"ev":"%b"' % of.encode() in high, nameless != next_lines[0]) == (True, True)
    changed = [
        (first, [*lines[:at], high, *lines[at + 1 :]], set[str]()),
        (second, [nameless, *next_lines[1:]], set[str]()),
    ]
    assert lost(written, changed) == set()


def test_damaged_lines_are_counted_and_the_first_is_named(written: Written, caplog: pytest.LogCaptureFixture) -> None:
    path, lines = list(written.files.items())[-1]
    line = {"boot": orjson.loads(lines[0])["boot"], "seq": 5, "ts": 1}
    odd = [b"x", *map(orjson.dumps, (line, line | {"ev": ["reg"]}, line | {"ev": "reg", "cluster": 1}))]
    path.write_bytes(b"\n".join([lines[0], *odd, *lines[5:], b""]))
    try:
        restored = restore(written.root, NS, written.epoch_ms, DAY_S)
    finally:
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    assert restored is not None
    assert (restored.skipped, restored.first_skipped) == (4, (path, 2))
    (warning,) = caplog.messages
    assert warning.startswith(f"4 lines of the journal are damaged and were left out, the first is line 2 of {path}")
