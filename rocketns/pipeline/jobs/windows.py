"""When the running name servers disagreed about a key (topic, broker), and what each showed then.

Everything is one sweep over sorted points in time, so a broker that comes and goes a thousand times costs no more than
its records. Number the distinct values of a key: x is the number of a name server's value. All n known values are equal
exactly if n * sum(x²) = sum(x)². Three running sums therefore suffice; no point needs a look at every name server.
Three more sums leave out the values that are in doubt since records were lost: a window in which only those differ is
no proof of a difference.

What each name server showed of a key (topic, broker), as points in time. What differs is found in one sweep over
them.

Stretches of a topic's difference in which each name server's view of it stays the same.

Which differences of name servers may not be real: after lost records, or since clocks are not known well enough.

Clocks that are off make a difference of a change that reached all name servers at once. Then one name server shows what
another one shows a little earlier or later. So a difference is certain if one shows at its beginning what another one
did not show for as long before and after as their clocks may be off.

The same holds for changes that were observed from outside, of which only two looks are known between which they came:
the later one is their time, and by ``early`` they may be earlier. They are certain if the difference lasted for the
shortest window at least, whenever between the looks they came.

Incidents: windows with the same broker and cause that begin close to each other.

A lost broker with 500 topics makes 500 windows and one incident. Windows in doubt make incidents of their own, which
are listed apart and are no finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.clocks import OBSERVED
from rocketns.pipeline.contract.frames import (
    Checkpoint,
    Observation,
    Row,
    as_it_is,
    conform,
    each,
    frame_of,
    plain_rows,
)
from rocketns.pipeline.contract.schema import DIVERGENCES, KEY_WINDOWS, STALLS, TOPIC_SEGMENTS
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS, MIN_WINDOW_US, STARTED, WATCHED
from rocketns.pipeline.jobs.clocks import apart, between, off_by_day, off_of, widest
from rocketns.pipeline.jobs.state import TOPIC, VALUE
from rocketns.pipeline.jobs.topics import NS_ENDINGS, SAMPLE_MAX, with_kind

SAME_REQUEST_US = 1_000_000  # a down and the tdel that it causes are written within this time

# Whether the name servers differ.
AGREE, PERHAPS, SURELY = 0, 1, 2
SUMS = ("n", "x", "xx", "sn", "sx", "sxx")


def key_windows(
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    observation: Observation,
    min_window_us: int = MIN_WINDOW_US,
    broker_intervals: DataFrame | None = None,
    checkpoint: Checkpoint = as_it_is,
    *,
    topic_doubts: DataFrame | None = None,
    clock_days: DataFrame | None = None,
    system_topics: DataFrame | None = None,
) -> DataFrame:
    """KEY_WINDOWS of at least ``min_window_us``. A window is cut where doubt begins or ends. Without the broker
    intervals ``gap`` is null, without the doubts and the clocks ``doubt``, without the system topics ``kind``."""
    points = points_of(topic_intervals, ns_uptime, topic_doubts)
    found = _stretches_of_difference(points).where(
        (F.col("t2") - F.col("t1") >= min_window_us) & (F.col("t1") < observation.t1) & (F.col("t2") > observation.t0)
    )
    windows = _with_values(checkpoint(found), topic_intervals, ns_uptime)
    windows = (
        _with_gap(windows, broker_intervals) if broker_intervals is not None else windows.withColumn("gap", F.lit(None))
    )
    if clock_days is not None:
        windows = with_clocks(windows, clock_days, topic_intervals, ns_uptime, topic_doubts, checkpoint, min_window_us)
    windows = conform(windows.withColumn("kind", F.lit(None)), KEY_WINDOWS)
    return windows if system_topics is None else conform(with_kind(windows, system_topics), KEY_WINDOWS)


def _stretches_of_difference(points: DataFrame) -> DataFrame:
    """topic, broker, t1, t2, t1_early, t2_early, opened_by, cause, doubt (LOST_RECORDS where only values in doubt
    differ)."""
    in_order = Window.partitionBy("key").orderBy("t")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sums = [F.sum(name).over(so_far).alias(name) for name in SUMS]
    differ = F.col("n") * F.col("xx") != F.col("x") * F.col("x")
    surely = F.col("sn") * F.col("sxx") != F.col("sx") * F.col("sx")
    return (
        _steps(points)
        .groupBy("key", "t")
        .agg(
            *each(F.first, *TOPIC),
            *each(F.sum, *SUMS),
            *each(F.max, "early"),
            F.min(F.struct("ns", "cause")).alias("first"),
        )
        .select("key", *TOPIC, "t", "early", "first", *sums)
        .withColumn("differ", F.when(surely, SURELY).when(differ, PERHAPS).otherwise(AGREE))
        .withColumn("differed", F.coalesce(F.lag("differ").over(in_order), F.lit(AGREE)))
        .where("differ <> differed")
        .withColumns({"t2": F.lead("t").over(in_order), "t2_early": F.lead("early").over(in_order)})
        .where(F.col("differ") != AGREE)
        .select(
            *TOPIC, F.col("t").alias("t1"), "t2", F.col("early").alias("t1_early"), "t2_early",
            F.col("first.ns").alias("opened_by"), "first.cause",
            F.when(F.col("differ") == PERHAPS, LOST_RECORDS).alias("doubt"),
        )
    )  # fmt: skip


def _steps(points: DataFrame) -> DataFrame:
    """What each point adds to the running sums: n (known values), x (their numbers), xx (the squares), and sn, sx, sxx
    of those that are not in doubt."""
    before = Window.partitionBy("key", "ns").orderBy("t")

    def number(known: str) -> Column:
        return F.when(F.col(known), F.col("place")).otherwise(F.lit(0))

    now = {
        "n": F.col("known").cast("long"), "x": number("known"), "xx": number("known") * number("known"),
        "sn": F.col("sure").cast("long"), "sx": number("sure"), "sxx": number("sure") * number("sure"),
    }  # fmt: skip
    summed = F.struct(*[value.alias(name) for name, value in now.items()])
    was = F.lag("now").over(before)
    return (
        points.select("key", *TOPIC, "ns", "t", "cause", "early", summed.alias("now"))
        .withColumn("was", was)
        .select(
            "key", *TOPIC, "ns", "t", "cause", "early",
            *[(F.col(f"now.{name}") - F.coalesce(F.col(f"was.{name}"), F.lit(0))).alias(name) for name in SUMS],
        )
        .where("n <> 0 or x <> 0 or sn <> 0")
    )  # fmt: skip


def _with_values(windows: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """The windows with ``values``: those of the name servers whose state is known at t1."""
    up = knowing_topics(ns_uptime).select("ns", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"))
    held = topic_intervals.select(*TOPIC, "ns", *VALUE, F.col("t1").alias("held_t1"), F.col("t2").alias("held_t2"))
    shown = (
        windows.select(*TOPIC, "t1")
        .join(held, [*TOPIC], "inner")
        .where((F.col("held_t1") <= F.col("t1")) & (F.col("held_t2") > F.col("t1")))
        .select(*TOPIC, "t1", "ns", *VALUE, F.lit(True).alias("present"))
    )
    is_up = (F.col("up_t1") <= F.col("t1")) & (F.col("up_t2") > F.col("t1"))
    value = F.struct("ns", F.coalesce("present", F.lit(False)).alias("present"), *VALUE)
    return (
        windows.join(F.broadcast(up), is_up, "inner")
        .join(shown, [*TOPIC, "t1", "ns"], "left")
        .groupBy(*TOPIC, "t1", "t2", "t1_early", "t2_early", "cause", "opened_by", "doubt")
        .agg(F.sort_array(F.collect_list(value)).alias("values"))
    )


def _with_gap(windows: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The windows with ``gap``, of the down that opened the window: the fault began that much earlier."""
    downs = broker_intervals.where("gap is not null").select(
        F.col("ns").alias("opened_by"), "broker", F.col("t2").alias("down_t"), "gap"
    )
    written_with = F.col("down_t").between(F.col("t1") - SAME_REQUEST_US, F.col("t1"))
    gaps = (
        windows.select(*TOPIC, "t1", "opened_by")
        .join(downs, ["opened_by", "broker"], "inner")
        .where(written_with)
        .groupBy(*TOPIC, "t1", "opened_by")
        .agg(F.max("gap").alias("gap"))
    )
    return windows.join(gaps, [*TOPIC, "t1", "opened_by"], "left")


VALUE_TYPE = "struct<r:int,w:int,p:int>"
# Of several points at the same time, the one with the highest rank applies.
END_OF_DOUBT, DOUBT, CLOSES, GOES_DOWN, COMES_UP, OPENS = range(6)


def points_of(topic_intervals: DataFrame, ns_uptime: DataFrame, topic_doubts: DataFrame | None = None) -> DataFrame:
    """What applies from ``t`` on: key, TOPIC, ns, t, known, value (null: absent), place (a number of the value among
    those of the key), sure (known, and not in doubt), cause, early (by how much earlier an observed change may have
    come, us); one row per time and name server.

    ``key``: a hash of topic and broker, as in ``state.keyed``. With ``topic_doubts``, doubt that begins or ends is a
    point too.
    """
    points = _of_intervals(topic_intervals).unionByName(_of_servers(topic_intervals, knowing_topics(ns_uptime)))
    if topic_doubts is not None:
        points = points.unionByName(_of_doubts(topic_doubts))
    points = points.withColumn("key", F.xxhash64(*TOPIC))
    # The windows by key come first: then what is sorted by key is not sent around again for each name server.
    numbered = points.withColumn("place", F.dense_rank().over(Window.partitionBy("key").orderBy("value")).cast("long"))
    found = _filled(numbered).where("next_t is null or next_t > t")
    known = F.coalesce("last.known", F.lit(False))  # a doubt may come before the first point that was not left out
    sure = known & ~F.coalesce("doubt", F.lit(False))
    return found.select(
        "key", *TOPIC, "ns", "t", known.alias("known"), "last.value", "place", sure.alias("sure"), "cause", "early"
    )


def knowing_topics(ns_uptime: DataFrame) -> DataFrame:
    """Without the boots of observers to whom the name server did not list its topics: nobody knows what it has."""
    return ns_uptime.where(~F.coalesce("no_topics", F.lit(False)))


def _filled(points: DataFrame) -> DataFrame:
    """With ``next_t``, and on each point the latest state so far: ``last`` (known, value), its place, doubt."""
    in_order = Window.partitionBy("key", "ns").orderBy("t", "rank")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    tells = F.col("known").isNotNull()
    latest = {
        "last": F.when(tells, F.struct("known", "value")),
        "place": F.when(tells, F.col("place")),
        "doubt": F.col("doubt"),
    }
    return points.select(
        "key", *TOPIC, "ns", "t", "cause", "early", F.lead("t").over(in_order).alias("next_t"),
        *[F.last(column, ignorenulls=True).over(so_far).alias(name) for name, column in latest.items()],
    )  # fmt: skip


def _of_intervals(topic_intervals: DataFrame) -> DataFrame:
    opens = _point("t1", OPENS, cause=F.col("cause"), known=True, value=F.struct(*VALUE), early="t1_early")
    closes = _point("t2", CLOSES, cause=F.col("end_cause"), known=True, early="t2_early")
    keys = (*TOPIC, "ns")
    closed = topic_intervals.where(~F.col("end_cause").isin(*NS_ENDINGS))  # the others end with their name server
    return topic_intervals.select(*keys, *opens).unionByName(closed.select(*keys, *closes))


def _of_servers(topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """Each key is absent at first, and unknown when the name server has ended."""
    comes = _point("t1", COMES_UP, cause=F.when(F.col("observed"), WATCHED).otherwise(STARTED), known=True)
    goes = _point("t2", GOES_DOWN, cause=F.col("end_cause"), known=False)
    point = F.explode(F.array(F.struct(*comes), F.struct(*goes))).alias("point")
    keys = topic_intervals.select(*TOPIC).distinct()
    return keys.join(F.broadcast(ns_uptime.select("ns", point)), how="cross").select(*TOPIC, "ns", "point.*")


def _of_doubts(topic_doubts: DataFrame) -> DataFrame:
    begins = _point("t1", DOUBT, cause=F.lit(LOST_RECORDS), doubt=True)
    ends = _point("t2", END_OF_DOUBT, cause=F.lit(LOST_RECORDS), doubt=False)
    point = F.explode(F.array(F.struct(*begins), F.struct(*ends))).alias("point")
    return topic_doubts.select(*TOPIC, "ns", point).select(*TOPIC, "ns", "point.*")


def _point(
    time: str,
    rank: int,
    *,
    cause: Column,
    known: bool | None = None,
    value: Column | None = None,
    doubt: bool | None = None,
    early: str | None = None,
) -> list[Column]:
    """A point with a value (null: absent). If ``known`` is None it says only whether there is ``doubt``. ``early``: the
    column that has by how much."""
    nothing = F.lit(None).cast(VALUE_TYPE)
    return [
        F.col(time).alias("t"), F.lit(rank).alias("rank"), F.lit(known).cast("boolean").alias("known"),
        (nothing if value is None else value).alias("value"), F.lit(doubt).cast("boolean").alias("doubt"),
        cause.alias("cause"), (F.lit(0) if early is None else F.coalesce(early, F.lit(0))).cast("long").alias("early"),
    ]  # fmt: skip


def topic_segments(
    topic_intervals: DataFrame, ns_uptime: DataFrame, key_windows: DataFrame, observation: Observation
) -> DataFrame:
    """TOPIC_SEGMENTS: the time of the certain key windows, cut wherever a name server's view of the topic changes."""
    windows = certain(key_windows).where((F.col("t1") < observation.t1) & (F.col("t2") > observation.t0))
    diverging = windows.select("topic").distinct()
    points = points_of(topic_intervals.join(diverging, ["topic"], "left_semi"), ns_uptime)
    of_topics = points.select(F.xxhash64("topic").alias("key"), *TOPIC, "ns", "t", "known", "value")
    return conform(_merged(_pieces(of_topics, _covers(windows))), TOPIC_SEGMENTS)


def _covers(windows: DataFrame) -> DataFrame:
    """The union of a topic's windows: key, topic, t1, t2. No cover begins where another one ends."""
    in_order = Window.partitionBy("key").orderBy("t1", "t2")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = F.coalesce(F.col("t1") > F.max("t2").over(earlier), F.lit(True)).cast("int")
    return (
        windows.select(F.xxhash64("topic").alias("key"), "topic", "t1", "t2")
        .withColumn("begins", begins)
        .withColumn("cover", F.sum("begins").over(so_far))
        .groupBy("key", "topic", "cover")
        .agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"))
    )


def _pieces(points: DataFrame, covers: DataFrame) -> DataFrame:
    """key, topic, t1, end, views: pieces between successive points within the covers, and the end of each one's
    cover."""
    # Each row once for every piece that it applies to, and the one that begins a piece also for that.
    last = F.when(F.col("applies"), F.col("until")).when(F.col("begins"), F.col("since"))
    begins_it = F.col("begins") & (F.col("piece") == F.col("since"))
    shown = F.when(F.col("value").isNotNull(), F.struct("broker", *[F.col(f"value.{name}") for name in VALUE]))
    entries = F.sort_array(F.collect_list(F.when(F.col("applies"), F.struct("ns", shown.alias("shown")))))
    return (
        _swept(points, covers)
        .withColumn("piece", F.explode(F.sequence("since", last)))
        .groupBy("key", "topic", "piece")
        .agg(
            F.max(F.when(begins_it, F.col("t"))).alias("t1"),
            F.max(F.when(begins_it, F.col("cover_end"))).alias("end"),
            entries.alias("entries"),
        )
        .withColumn("views", _views(F.col("entries")))
    )


def _views(entries: Column) -> Column:
    """The view of each name server of the entries (ns, and what it shows of a broker, null: nothing)."""

    def view(ns: Column) -> Column:
        own = F.filter(entries, lambda entry: (entry["ns"] == ns) & entry["shown"].isNotNull())
        return F.struct(ns.alias("ns"), F.transform(own, lambda entry: entry["shown"]).alias("view"))

    return F.transform(F.array_distinct(F.transform(entries, lambda entry: entry["ns"])), view)


def _swept(points: DataFrame, covers: DataFrame) -> DataFrame:
    """The points, and the bounds of covers, with ``begins``: a piece begins there; ``applies``: it does so to the
    pieces from ``since`` to ``until``, up to its key's next point at its name server. The pieces of a topic are counted
    in one sweep, so that no point is compared with pieces that it does not apply to."""
    begin = F.struct(F.col("t1").alias("t"), F.col("t2").alias("end"))
    end = F.struct(F.col("t2").alias("t"), F.lit(None).cast("long").alias("end"))
    bounds = covers.select("key", "topic", F.explode(F.array(begin, end)).alias("bound"))
    topic = Window.partitionBy("key")
    # The begin of a cover comes before the points of its time.
    in_order = topic.orderBy("t", F.desc_nulls_last("end"))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.coalesce(F.lag("t").over(in_order) < F.col("t"), F.lit(True))
    inside = F.coalesce(F.col("t") < F.col("cover_end"), F.lit(False))
    since = F.col("piece") + F.when(F.col("inside"), 0).otherwise(1)
    next_since = F.lead("since").over(Window.partitionBy("key", "broker", "ns").orderBy("t"))
    applies = F.col("ns").isNotNull() & F.col("known") & (F.col("until") >= F.col("since"))
    return (
        points.unionByName(bounds.select("key", "topic", "bound.*"), allowMissingColumns=True)
        .withColumns({"first": first, "cover_end": F.last("end", ignorenulls=True).over(so_far)})
        .withColumns({"inside": inside, "begins": F.col("first") & inside})
        .withColumn("piece", F.count_if("begins").over(so_far))
        .withColumns({"since": since, "all": F.max("piece").over(topic)})
        .withColumn("until", F.coalesce(next_since - 1, F.col("all")))
        .withColumn("applies", F.coalesce(applies, F.lit(False)))
    )


def _merged(pieces: DataFrame) -> DataFrame:
    """Join successive pieces with the same views into one segment. A piece ends with the next one, or with its
    cover."""
    topic = Window.partitionBy("key")
    in_order = topic.orderBy("t1")
    goes_on = (F.lag("views").over(in_order) == F.col("views")) & (F.lag("t2").over(in_order) == F.col("t1"))
    return (
        pieces.withColumn("t2", F.least("end", F.lead("t1").over(in_order)))
        .where(F.size("views") > 0)
        .withColumns({
            "begins": ~F.coalesce(goes_on, F.lit(False)),
            "ended": F.lag("t2").over(in_order),
            "last": F.max("t2").over(topic),
        })
        .where("begins")
        .withColumn("t2", F.coalesce(F.lead("ended").over(in_order), "last"))
    )  # fmt: skip


WINDOW = (*TOPIC, "t1")


def certain(key_windows: DataFrame) -> DataFrame:
    """The windows that count as a difference of name servers."""
    return key_windows.where("doubt is null")


def with_clocks(
    windows: DataFrame,
    clock_days: DataFrame,
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    topic_doubts: DataFrame | None = None,
    checkpoint: Checkpoint = as_it_is,
    min_window_us: int = 0,
) -> DataFrame:
    """The windows, with CLOCKS as doubt if clocks may explain them: they are shorter than two of their name servers'
    clocks may differ by CLOCK_DAYS and than their ends may be earlier, and no two of these name servers differ for
    certain. None is shorter than ``min_window_us``."""
    known = plain_rows(clock_days)
    if widest(known) <= min_window_us and not any(row["method"] == OBSERVED for row in known):
        return windows
    with_apart = checkpoint(_with_apart(windows, clock_days))
    suspects = with_apart.where(F.col("doubt").isNull() & (F.col("t2") - F.col("t1") < F.col("apart")))
    lasting = F.when(_looks() > 0, min_window_us).otherwise(0).cast("long")
    unproven = _unproven(suspects.withColumn("lasting", lasting), topic_intervals, ns_uptime, topic_doubts)
    unclear = unproven.withColumn("unclear", F.lit(CLOCKS))
    joined = with_apart.join(unclear, [*WINDOW], "left")
    return joined.withColumn("doubt", F.coalesce("doubt", "unclear")).select(*windows.columns)


def _with_apart(windows: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The windows with ``offs`` (values with their clock) and ``apart``: by how much two times of the same moment may
    differ, of the clocks and of both ends."""

    def with_off(value: Column) -> Column:
        return value.withField("clock", off_of(value["ns"]))

    dated = off_by_day(windows, "t1", clock_days)
    with_offs = dated.withColumn("offs", F.transform("values", with_off)).drop("clocks")
    clocks = apart(F.transform("offs", lambda value: value["clock"]))
    return with_offs.withColumn("apart", clocks + _looks())


def _looks() -> Column:
    """By how much earlier both ends of a window may have been, us."""
    return F.coalesce("t1_early", F.lit(0)) + F.coalesce("t2_early", F.lit(0))


def _unproven(
    suspects: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame, topic_doubts: DataFrame | None
) -> DataFrame:
    """WINDOW of the suspects in which no name server shows what another one did not show at any near time. What was
    observed may have been shown earlier than its point, and the value before it only up to then."""
    keys = F.broadcast(suspects.select(*TOPIC).distinct())
    doubts = None if topic_doubts is None else topic_doubts.join(keys, [*TOPIC], "left_semi")
    points = points_of(topic_intervals.join(keys, [*TOPIC], "left_semi"), ns_uptime, doubts)
    in_order = Window.partitionBy("key", "ns").orderBy("t")
    until, surely_until = F.lead("t").over(in_order), F.lead(F.col("t") - F.col("early")).over(in_order)
    shown = points.select(
        *TOPIC, "ns", F.col("t").alias("at"), (F.col("t") - F.col("early")).alias("t"), until.alias("until"), "sure",
        "value", surely_until.alias("surely_until"),
    )  # fmt: skip
    near = (F.col("t") <= F.col("high")) & (F.coalesce("until", F.col("high") + 1) > F.col("low"))
    same = ~F.col("sure") | F.col("value").eqNullSafe(F.col("wanted"))
    proven = (
        _lasting(_pairs(suspects), shown)
        .join(shown, [*TOPIC, "ns"], "inner")
        .where(near)
        .groupBy(*WINDOW, "one", "ns", "low")
        .agg(F.max(same).alias("same"), F.min("t").alias("first"))
        .where(~F.col("same") & (F.col("first") <= F.col("low")))
    )
    return suspects.select(*WINDOW).join(proven.select(*WINDOW).distinct(), [*WINDOW], "left_anti")


def _lasting(pairs: DataFrame, shown: DataFrame) -> DataFrame:
    """The pairs in which ``one`` shows for certain what it shows at t1, for as long as it is to last."""
    of_one = shown.select(*TOPIC, F.col("ns").alias("one"), "at", "until", "surely_until")
    at_t1 = (F.col("at") <= F.col("t1")) & (F.col("until").isNull() | (F.col("until") > F.col("t1")))
    stays = F.col("surely_until").isNull() | (F.col("surely_until") >= F.col("t1") + F.col("lasting"))
    certain = pairs.where("lasting > 0").join(of_one, [*TOPIC, "one"], "inner").where(at_t1 & stays)
    return pairs.where("lasting = 0").unionByName(certain.select(*pairs.columns))


def _pairs(suspects: DataFrame) -> DataFrame:
    """WINDOW, one, wanted, ns, low, high, lasting: what name server ``one`` shows at t1, and from when to when ``ns``
    may have shown the same by then, both included."""
    first = suspects.select(*WINDOW, "lasting", "offs", F.explode("offs").alias("a"))
    two = first.select("*", F.explode("offs").alias("b"))
    both = between(F.col("a.clock"), F.col("b.clock"))
    value = F.when(F.col("a.present"), F.struct(*[F.col(f"a.{name}").alias(name) for name in VALUE]))
    return two.where("a.ns <> b.ns").select(
        *WINDOW, F.col("a.ns").alias("one"), value.alias("wanted"), F.col("b.ns").alias("ns"),
        (F.col("t1") - both).alias("low"), (F.col("t1") + both + F.col("lasting")).alias("high"), "lasting",
    )  # fmt: skip


APART_US = 10_000_000  # a window that begins within 10 s of the one before joins its incident


KEYS = ["broker", "cause", "doubt", "incident"]


def divergences(key_windows: DataFrame, stalls: Sequence[Row] = ()) -> DataFrame:
    """DIVERGENCES. ``stalls``: rows of ``brokers.stalls``; without them nobody is ``stalled``."""
    in_order = Window.partitionBy("broker", "cause", "doubt").orderBy("t1")
    # a range, not rows: windows that begin at the same time are in one incident, in any order
    up_to_here = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.coalesce(F.col("t1") - F.lag("t1").over(in_order) > APART_US, F.lit(True))
    user = F.coalesce(F.col("kind") == "user", F.lit(True))
    absent = F.filter("values", lambda value: ~value["present"])
    numbered = (
        key_windows.withColumn("user", user)
        .withColumn("first", first.cast("long"))
        .withColumn("incident", F.sum("first").over(up_to_here))
    )
    topics = numbered.groupBy(*KEYS, "topic", "user").agg(
        *each(F.min, "t1"),
        *each(F.max, "t2"),
        F.count("*").alias("windows"),
        F.max(_hidden()).alias("hidden"),
        F.flatten(F.collect_list(F.transform(absent, lambda value: value["ns"]))).alias("without"),
        F.collect_set("opened_by").alias("opened_by"),
        F.max(F.col("t2") - F.col("t1")).alias("longest"),
        F.max("gap").alias("gap_max"),
        F.min(F.struct("t1", (-F.coalesce("t1_early", F.lit(0))).alias("early"))).alias("begins"),
        F.max(F.struct("t2", F.coalesce("t2_early", F.lit(0)).alias("early"))).alias("ends"),
    )
    by_importance = F.sort_array(F.collect_list(F.struct((~F.col("user")).alias("other"), "topic")))
    grouped = topics.groupBy(*KEYS).agg(
        *each(F.min, "t1"),
        *each(F.max, "t2", "longest", "gap_max"),
        (-F.min("begins").early).alias("t1_early"),
        F.max("ends").early.alias("t2_early"),
        *each(F.sum, "windows"),
        F.count("*").alias("topics"),
        F.count_if("user").alias("user_topics"),
        F.slice(by_importance, 1, SAMPLE_MAX)["topic"].alias("topic_sample"),
        F.coalesce(F.sum(F.when(F.col("user"), F.col("hidden"))), F.lit(0)).alias("queues"),
        _names("without").alias("ns_without"),
        _names("opened_by").alias("opened_by"),
    )
    return conform(_explained(grouped, numbered, stalls), DIVERGENCES)


def _explained(grouped: DataFrame, numbered: DataFrame, stalls: Sequence[Row]) -> DataFrame:
    """The incidents with ``stalled``: of the name servers compared, those that stalled when a window began."""
    spans = frame_of(grouped.sparkSession, [(s["ns"], s["t1"], s["t2"]) for s in stalls], STALLS)
    compared = F.explode(F.transform("values", lambda value: value["ns"])).alias("ns")
    suspects = numbered.select(*KEYS, F.col("t1").alias("t"), compared).distinct()
    stalled = (
        suspects.join(F.broadcast(spans), "ns", "inner")
        .where("t between stall_t1 and stall_t2")
        .groupBy(*[F.col(name).alias(f"stalled_{name}") for name in KEYS])
        .agg(F.sort_array(F.collect_set("ns")).alias("stalled"))
    )
    same = [F.col(name).eqNullSafe(F.col(f"stalled_{name}")) for name in KEYS]
    nobody = F.array().cast("array<string>")
    return grouped.join(stalled, same, "left").withColumn("stalled", F.coalesce("stalled", nobody))


def _hidden() -> Column:
    """How many read queues of a window one name server showed and another did not."""
    shown = F.transform("values", lambda value: F.when(value["present"], value["r"]).otherwise(0))
    return F.array_max(shown) - F.array_min(shown)


def _names(lists: str) -> Column:
    return F.sort_array(F.array_distinct(F.flatten(F.collect_list(lists))))
