"""When the running name servers disagreed about a key (topic, broker), and what each showed then.

Which differences may not be real: after lost records, or since clocks are not known well enough. Clocks that are off
make a difference of a change that reached all name servers at once. Then one name server shows what another one shows a
little earlier or later. So a difference is certain if one shows at its beginning what another one did not show for as
long before and after as their clocks may be off.

The same holds for changes that were observed from outside, of which only two looks are known between which they came:
the later one is their time, and by ``early`` they may be earlier. They are certain if the difference lasted for the
shortest window at least, whenever between the looks they came.

Segments: stretches of a topic's difference in which each name server's view of it stays the same.

Divergences: windows with the same broker and cause that begin close to each other. A lost broker with 500 topics makes
500 windows and one divergence. Windows in doubt make divergences of their own, which are listed apart and are no
finding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import product
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.clocks import OBSERVED
from rocketns.pipeline.contract.frames import Observation, Row, by_group
from rocketns.pipeline.contract.schema import DIVERGENCES, KEY_WINDOWS, TOPIC_SEGMENTS
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS, MIN_WINDOW_US
from rocketns.pipeline.jobs.clocks import Clocks, apart, may_differ, widest
from rocketns.pipeline.jobs.timeline import VALUE, Point, Step, Timeline, in_order, server_steps, timelines, value_of
from rocketns.pipeline.jobs.topics import SAMPLE_MAX, kind_of

TIME = attrgetter("t")
SAME_REQUEST_US = 1_000_000  # a down and the tdel that it causes are written within this time


class Judge(NamedTuple):
    """What the windows of every topic are judged by. ``downs``: by name server and broker the time and the gap of each
    down, in order; ``clocks``: None if they explain no window."""

    servers: Mapping[str, Sequence[Step]]
    seen: Observation
    min_window: int
    system_topics: Set[str]
    downs: Mapping[tuple[str, str], Sequence[tuple[int, int]]] = {}
    clocks: Clocks | None = None


def key_windows(
    topic_intervals: DataFrame,
    ns_uptime: Iterable[Row],
    observation: Observation,
    min_window_us: int = MIN_WINDOW_US,
    broker_intervals: Iterable[Row] = (),
    *,
    topic_doubts: DataFrame | None = None,
    clock_days: Sequence[Row] | None = None,
    system_topics: Set[str] = frozenset(),
) -> DataFrame:
    """KEY_WINDOWS of at least ``min_window_us``. A window is cut where doubt begins or ends. Without the broker
    intervals ``gap`` is null, without the doubts and the clocks ``doubt``."""
    downs = defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    for row in broker_intervals:
        if row["gap"] is not None:
            insort(downs[row["ns"], row["broker"]], (row["t2"], row["gap"]))
    suspect = clock_days is not None and (
        widest(clock_days) > min_window_us or any(row["method"] == OBSERVED for row in clock_days)
    )
    clocks = Clocks(clock_days) if clock_days is not None and suspect else None
    judge = Judge(server_steps(ns_uptime), observation, min_window_us, system_topics, dict(downs), clocks)
    frames = {"intervals": topic_intervals} | ({} if topic_doubts is None else {"doubts": topic_doubts})
    return by_group("topic", partial(windows_of_topic, judge), KEY_WINDOWS, **frames)


def windows_of_topic(judge: Judge, topic: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of KEY_WINDOWS."""
    kind = kind_of(topic, judge.system_topics)
    early = max((row[name] or 0 for row in rows["intervals"] for name in ("t1_early", "t2_early")), default=0)
    for broker, timeline in timelines(rows["intervals"], judge.servers, rows.get("doubts", ())).items():
        for window in _differences(timeline):
            t1, t2 = window["t1"], window["t2"]
            if t2 - t1 >= judge.min_window and t1 < judge.seen.t1 and t2 > judge.seen.t0:
                downs = judge.downs.get((window["opened_by"], broker), ())
                written_with = downs[bisect_left(downs, (t1 - SAME_REQUEST_US, 0)) : bisect_left(downs, (t1 + 1, 0))]
                gap = max((gap for _t, gap in written_with), default=None)
                unclear = window["doubt"] is None and _may_be_clocks(window, timeline, judge, early)
                doubt = CLOCKS if unclear else window["doubt"]
                yield window | {"topic": topic, "broker": broker, "gap": gap, "doubt": doubt, "kind": kind}


# Whether the name servers differ.
AGREE, PERHAPS, SURELY = 0, 1, 2


def _differences(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """t1, t2, t1_early, t2_early, opened_by, cause, values, doubt (LOST_RECORDS where only values in doubt differ)."""
    now: dict[str, Point] = {}
    differed, window = AGREE, None
    for t, points in in_order((ns, point) for ns, of_server in timeline.items() for point in of_server):
        turned = [(ns, point) for ns, point in points if point.changes(now.get(ns))]
        now.update(points)
        if not turned:
            continue
        surely = len({point.value for point in now.values() if point.sure}) > 1
        perhaps = len({point.value for point in now.values() if point.known}) > 1
        differ = SURELY if surely else PERHAPS if perhaps else AGREE
        if differ == differed:
            continue
        differed, early = differ, max(point.early for _ns, point in turned)
        if window is not None:
            yield window | {"t2": t, "t2_early": early}
        opened_by, opening = min(turned)
        window = None if differ == AGREE else {
            "t1": t, "t1_early": early, "opened_by": opened_by, "cause": opening.cause,
            "doubt": LOST_RECORDS if differ == PERHAPS else None,
            "values": [_shown(ns, point.value) for ns, point in sorted(now.items()) if point.known],
        }  # fmt: skip


def _shown(ns: str, value: tuple[int, int, int] | None) -> Row:
    shown = dict.fromkeys(VALUE) if value is None else dict(zip(VALUE, value, strict=True))
    return {"ns": ns, "present": value is not None, **shown}


def _may_be_clocks(window: Row, timeline: Timeline, judge: Judge, early: int) -> bool:
    """Whether clocks may explain the window: it is shorter than two of its name servers' clocks may differ and than its
    ends may be earlier, and no two of these name servers differ for certain. ``early``: the most of any point."""
    if judge.clocks is None:
        return False
    t1, looks = window["t1"], window["t1_early"] + window["t2_early"]
    offs = {value["ns"]: judge.clocks.off(value["ns"], t1) for value in window["values"]}
    if window["t2"] - t1 >= apart(offs.values()) + looks:
        return False
    lasting = judge.min_window if looks > 0 else 0
    lasts = [value for value in window["values"] if not lasting or _stays(timeline[value["ns"]], t1, t1 + lasting)]
    for one, other in product(lasts, offs):
        both = may_differ(offs[one["ns"]], offs[other])
        first = bisect_right(timeline[other], t1 - both, key=TIME) - 1
        near = timeline[other][max(first, 0) : bisect_right(timeline[other], t1 + both + lasting + early, key=TIME)]
        value = value_of(one) if one["present"] else None
        if other != one["ns"] and _never_shown(near, value, t1 - both, t1 + both + lasting):
            return False
    return True


def _stays(points: Sequence[Point], t1: int, until: int) -> bool:
    """Whether a name server shows for certain until then what it shows at t1."""
    following = bisect_right(points, t1, key=TIME)
    return all(point.t - point.early >= until for point in points[following : following + 1])


def _never_shown(points: Sequence[Point], value: Any, low: int, high: int) -> bool:
    """Whether a name server showed something else for certain at all times from ``low`` to ``high``. ``points``: its
    last one up to ``low`` and those that follow. What was observed may have been shown earlier than its point, and the
    value before it only up to then."""
    near = [point for point in points if point.t - point.early <= high]
    begins = min((point.t - point.early for point in near), default=high + 1)
    return begins <= low and all(point.sure and point.value != value for point in near)


def topic_segments(
    topic_intervals: DataFrame, ns_uptime: Iterable[Row], key_windows: DataFrame, observation: Observation
) -> DataFrame:
    """TOPIC_SEGMENTS: the time of the certain key windows, cut wherever a name server's view of the topic changes."""
    within = (F.col("t1") < observation.t1) & (F.col("t2") > observation.t0)
    windows = key_windows.where("doubt is null").where(within).select("topic", "t1", "t2")
    work = partial(_segments_of_topic, server_steps(ns_uptime))
    return by_group("topic", work, TOPIC_SEGMENTS, intervals=topic_intervals, windows=windows)


def _segments_of_topic(
    servers: Mapping[str, Sequence[Step]], topic: str, rows: Mapping[str, Sequence[Row]]
) -> Iterator[Row]:
    """Its rows of TOPIC_SEGMENTS. A segment ends where a view changes, or where no window goes on."""
    covers = _covers((row["t1"], row["t2"]) for row in rows["windows"])
    views = _views(timelines(rows["intervals"], servers)) if covers else []
    times = [t for t, _shown in views]
    for t1, t2 in covers:
        for number in range(max(bisect_right(times, t1) - 1, 0), bisect_left(times, t2)):
            since, shown = views[number]
            until = min(t2, *times[number + 1 : number + 2])
            if shown:
                yield {"topic": topic, "t1": max(t1, since), "t2": until, "views": shown}


def _covers(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of the spans, in order. None begins where another one ends."""
    covers: list[tuple[int, int]] = []
    for t1, t2 in sorted(spans):
        joined = bool(covers) and t1 <= covers[-1][1]
        begin, end = covers.pop() if joined else (t1, t2)
        covers.append((begin, max(end, t2)))
    return covers


def _views(timelines: Mapping[str, Timeline]) -> list[tuple[int, list[Row]]]:
    """The ``views`` of TOPIC_SEGMENTS from each time on at which one of them changes."""
    points = [
        ((broker, ns), point)
        for broker, timeline in timelines.items() for ns, of_server in timeline.items() for point in of_server
    ]  # fmt: skip
    shown: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    of_servers: dict[str, Row] = {}
    views: list[tuple[int, list[Row]]] = []
    for t, at_once in in_order(points):
        for (broker, ns), point in at_once:
            if not point.known:
                shown.pop(ns, None)
            elif point.value is None:
                shown[ns].pop(broker, None)
            else:
                shown[ns][broker] = {"broker": broker, **dict(zip(VALUE, point.value, strict=True))}
        for ns in {ns for (_broker, ns), _point in at_once}:
            of_servers[ns] = {"ns": ns, "view": [view for _broker, view in sorted(shown.get(ns, {}).items())]}
        now = [of_servers[ns] for ns in sorted(shown)]
        if not views or views[-1][1] != now:
            views.append((t, now))
    return views


APART_US = 10_000_000  # a window that begins within 10 s of the one before joins its divergence


def divergences(key_windows: DataFrame, stalls: Sequence[Row] = ()) -> DataFrame:
    """DIVERGENCES. ``stalls``: rows of ``brokers.stalls``; without them nobody is ``stalled``."""
    return by_group("broker", partial(divergences_of_broker, stalls), DIVERGENCES, windows=key_windows)


def divergences_of_broker(stalls: Sequence[Row], broker: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of DIVERGENCES, from those of KEY_WINDOWS in ``rows["windows"]``."""
    alike = defaultdict[tuple[str, str | None], list[Row]](list)
    for window in sorted(rows["windows"], key=itemgetter("t1")):
        alike[window["cause"], window["doubt"]].append(window)
    for (cause, doubt), windows in alike.items():
        begins = [i for i, window in enumerate(windows) if not i or window["t1"] - windows[i - 1]["t1"] > APART_US]
        for begin, end in zip(begins, [*begins[1:], len(windows)], strict=True):
            yield {"broker": broker, "cause": cause, "doubt": doubt, **_divergence(windows[begin:end], stalls)}


def _divergence(windows: Sequence[Row], stalls: Sequence[Row]) -> Row:
    """The rest of the row, of its windows in the order of t1."""
    hidden = Counter[str]()
    for window in windows:
        if _is_of_user(window):
            shown = [value["r"] if value["present"] else 0 for value in window["values"]]
            hidden[window["topic"]] = max(hidden[window["topic"]], max(shown) - min(shown))
    others = {window["topic"] for window in windows if not _is_of_user(window)}
    t1, t2 = windows[0]["t1"], max(window["t2"] for window in windows)
    gaps = [window["gap"] for window in windows if window["gap"] is not None]
    compared = {(value["ns"], window["t1"]) for window in windows for value in window["values"]}
    stalled = {s["ns"] for s in stalls for ns, t in compared if ns == s["ns"] and s["t1"] <= t <= s["t2"]}
    return {
        "t1": t1, "t2": t2, "windows": len(windows), "topics": len(hidden) + len(others), "user_topics": len(hidden),
        "topic_sample": [*sorted(hidden), *sorted(others)][:SAMPLE_MAX], "queues": sum(hidden.values()),
        "ns_without": sorted({value["ns"] for row in windows for value in row["values"] if not value["present"]}),
        "opened_by": sorted({window["opened_by"] for window in windows}),
        "longest": max(window["t2"] - window["t1"] for window in windows), "gap_max": max(gaps, default=None),
        "stalled": sorted(stalled), "t1_early": max(row["t1_early"] for row in windows if row["t1"] == t1),
        "t2_early": max(row["t2_early"] for row in windows if row["t2"] == t2),
    }  # fmt: skip


def _is_of_user(window: Row) -> bool:
    return window["kind"] in (None, "user")
