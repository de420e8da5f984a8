"""What two answers of servers on this machine have to have in common, what is asked at the end of a play, and the
deliberate differences of docs/differences.md.

rocketns.shadow.comparing.even says what of Java's answers is not compared. Also left out is the machine: folders, ports
and the time. The questions only read; 322 counts as a heartbeat on both servers alike.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from interop.harness import codes
from interop.harness.wire import frame
from interop.parity.language import PORTS, Scenario, Step
from interop.parity.servers import Outcome, Side, request
from rocketns.shadow.comparing import even
from rocketns.shadow.comparing.comparing import Comparing
from rocketns.shadow.comparing.listed import SEEN
from rocketns.shadow.frames import split
from rocketns.shadow.pairs import Pair

Question = tuple[int, dict[str, str] | None, int]

GLOBAL: tuple[Question, ...] = tuple(
    (code, None, 513)
    for code in (
        codes.GET_BROKER_CLUSTER_INFO,
        codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        codes.GET_UNIT_TOPIC_LIST,
        codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
        codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        codes.GET_NAMESRV_CONFIG,
    )
)
DIALECTS = (513, 400)
_BARE = re.compile(rb"([{,])(-?\d+):")
NOW = b'"timestamp":0'
_TIMESTAMP = re.compile(rb'"timestamp":(\d{13})\b')


def settled(data: bytes, home: Path, ports: tuple[int, ...] = ()) -> bytes:
    """A frame without what depends on the machine and on the time."""
    kind, header, body = split(data)
    return frame(numberless(header, ports), numberless(_settled_body(body, home), ports), kind)


def _settled_body(body: bytes, home: Path) -> bytes:
    body = body.replace(str(home).encode(), b"HOME")
    if b"listenPort=" in body:
        body = re.sub(rb"(?m)^listenPort=[1-9]\d*$", b"listenPort=PORT", body)
    return _TIMESTAMP.sub(_without_now, body) if b'"timestamp":' in body else body


def numberless(data: bytes, ports: tuple[int, ...]) -> bytes:
    """The listeners' ports as the scenario has them."""
    for place, port in zip(PORTS, ports, strict=False):
        data = data.replace(str(port).encode(), place.encode())
    return data


def _without_now(match: re.Match[bytes]) -> bytes:
    is_now = abs(int(match[1]) - time.time() * 1000) < even.NOW_WITHIN_MS
    return NOW if is_now else match[0]


def differing(
    java: bytes, rocketns: bytes, *, no_opaque: bool = False, exact: bool = False
) -> dict[str, tuple[str, str]]:
    """Two settled answers: the parts that differ, each as Java and as rocketns has it."""
    if java == rocketns:
        return {}  # most answers; reading them as JSON is what takes long
    return even.differing(java, rocketns, 0, no_opaque=no_opaque, exact=exact)


def file_text(content: bytes, home: Path) -> str:
    """A file's content without the machine in it: JSON with its members sorted, anything else as it is."""
    body = _settled_body(content, home)
    try:
        return json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return body.decode("latin-1")


@dataclass
class Known:
    """The names in the requests of a play, as they were sent."""

    topics: set[str] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)
    # cluster, address, name, id: whatever unregistration takes them back
    brokers: set[tuple[str, str, str, str]] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    settings_changed: bool = False

    def note(self, code: int, ext: Mapping[str, str] | None) -> None:
        """Remember what a request names."""
        ext = ext or {}
        cluster, name, addr = (ext.get(key, "") for key in ("clusterName", "brokerName", "brokerAddr"))
        self.clusters.update(filter(None, (cluster, ext.get("cluster"))))
        if ext.get("topic"):
            self.topics.add(ext["topic"])
        if name or addr:
            self.brokers.add((cluster, addr, name, ext.get("brokerId", "0")))
        if "namespace" in ext:
            self.keys.add((ext["namespace"], ext.get("key", "")))
        self.settings_changed |= code == codes.UPDATE_NAMESRV_CONFIG

    def note_header(self, data: bytes) -> None:
        """The same of a frame of any bytes, as far as its header is JSON."""
        try:
            header = json.loads(data[8 : 8 + int.from_bytes(data[5:8])])
            ext = {key: str(value) for key, value in (header.get("extFields") or {}).items()}
            json.dumps(ext, ensure_ascii=False).encode()  # a lone surrogate can name nothing
            self.note(int(header.get("code") or 0), ext)
        except (ValueError, AttributeError, TypeError):
            return


def questions(known: Known, java_says: list[Outcome]) -> list[Question]:
    """What follows from the answers to GLOBAL and from the names that the play used."""
    info, topics = (_json(outcome) for outcome in java_says[:2])
    listed = set(topics.get("topicList", ())) | known.topics
    clusters = set(info.get("clusterAddrTable", {})) | known.clusters
    groups = {(data.get("cluster", ""), name) for name, data in info.get("brokerAddrTable", {}).items()}
    groups |= {(cluster, name) for cluster, _, name, _ in known.brokers if name}
    live = {(cluster, addr) for cluster, addr, _, _ in known.brokers if cluster and addr}
    asked: list[Question] = []
    for topic in sorted(listed):
        asked += [(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, version) for version in DIALECTS]
        # By the control thread: rocketns' reactors answer no lookup with a zone. An empty one filters nothing.
        asked.append((codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "__ZONE_NAME": ""}, 513))
    asked += [(codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513) for cluster in sorted(clusters)]
    asked += [(codes.GET_BROKER_MEMBER_GROUP, {"clusterName": c, "brokerName": n}, 513) for c, n in sorted(groups)]
    asked += [(codes.QUERY_DATA_VERSION, {"clusterName": c, "brokerAddr": a}, 513) for c, a in sorted(live)]
    namespaces = {namespace for namespace, _ in known.keys} | {"ORDER_TOPIC_CONFIG"}
    asked += [(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}, 513) for namespace in sorted(namespaces)]
    return asked


def stray_address(says: list[Outcome]) -> str:
    """The broker address of 304 where 106 does not show it; of the answers to GLOBAL."""
    found = _json(says[2]).get("brokerAddr")
    return found if found is not None and f'"{found}"'.encode() not in says[0].frame else ""


def send_all(side: Side, on: str, asked: list[Question]) -> None:
    frames = (request(code, ext, opaque, version) for opaque, (code, ext, version) in enumerate(asked))
    side.send(on, b"".join(frames))


def quoted(body: bytes) -> bytes:
    """Java's default dialect as JSON: bare numeric keys get quotes."""
    return _BARE.sub(rb'\1"\2":', body)


def _json(outcome: Outcome) -> dict:  # type: ignore[type-arg]
    """A body as far as it is JSON."""
    if outcome.kind != "answer":
        return {}
    _, _, body = split(outcome.frame)
    try:
        return dict(json.loads(quoted(body)))
    except ValueError:
        return {}


FILE = Path(__file__).parents[2] / "docs" / "differences.md"
SECTION = re.compile(r"^## (?P<title>.+?) \{#(?P<id>[a-z0-9-]+)\}\n(?P<text>.*?)(?=^## |\Z)", re.M | re.S)
PARTS = {"Java", "rocketns", "Why", "Shown by"}
Parts = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Difference:
    """A step, or a question at the end, that rocketns answers differently: part by part Java's and its."""

    about: str
    parts: Parts
    step: Step | None = None
    # What was asked, and what Java and rocketns answered, where it is one pair.
    pair: tuple[bytes, Outcome, Outcome] | None = None

    def __str__(self) -> str:
        lines = [f"  {part}\n    Java     {java}\n    rocketns {here}" for part, (java, here) in self.parts.items()]
        return "\n".join([self.about, *lines])


@dataclass(frozen=True)
class Listed:
    """One section: its id, and the scenarios that show it."""

    id: str
    title: str
    parts: dict[str, str]

    @property
    def scenarios(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.parts.get("Shown by", ""))


def listed(text: str | None = None) -> dict[str, Listed]:
    """The sections of the file by their ids."""
    text = FILE.read_text("utf-8") if text is None else text
    found = (Listed(match["id"], match["title"], _parts(match["text"])) for match in SECTION.finditer(text))
    return {one.id: one for one in found}


def _parts(text: str) -> dict[str, str]:
    items = re.findall(r"^- \*\*(.+?):\*\* (.*?)(?=^- \*\*|\Z)", text, re.M | re.S)
    return {name: " ".join(value.split()) for name, value in items}


def shows(scenario: Scenario) -> set[str]:
    """The ids of the differences that the scenario's steps name."""
    return {step.differs.id for step in scenario.steps if step.differs}


# Differences of which some leave nothing that one pair of answers shows.
PARTLY_SEEN = {"entries-without-end", "mappings-without-end"}
# Differences that leave the same in an answer as another one.
SAME_SIGN = {"registration-without-address": "entries-without-end"}


def misjudged(difference: Difference) -> str:
    """What `rocketns shadow` says of a listed difference, if it is wrong; empty if it names it, or cannot see it."""
    shown = seen(difference)
    if not shown or difference.pair is None or shown not in SEEN:
        return ""
    data, *answers = difference.pair
    java, here = (one.frame if one.kind == "answer" else None for one in answers)
    found = Comparing().compare(Pair(0, "", int(time.time() * 1000), data, java, here, 0.0, 0.0))
    right = found.listed in (shown, SAME_SIGN.get(shown)) or (shown in PARTLY_SEEN and not found.listed)
    return "" if right else f"{shown}, and rocketns shadow says {found}"


def seen(difference: Difference) -> str:
    """The id of the listed difference that this one shows, or "" if it is not listed."""
    expected = None if difference.step is None else difference.step.differs
    if expected is None:
        return ""
    java, here = ("\n".join(values) for values in zip(*difference.parts.values(), strict=True))
    return expected.id if re.search(expected.java, java) and re.search(expected.rocketns, here) else ""
