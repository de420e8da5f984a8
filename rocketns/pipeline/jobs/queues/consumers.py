"""Who of which consumer group asked which name server for which topic, from lookups journalled for each client.

A consumer of group g keeps the topic ``%RETRY%g`` beside those it subscribes to, and looks all of them up over one
connection, every POLL_US. So one client address at one name server that asks for both is a member of g that sees that
name server's view of the topic.

What this cannot see: which of several groups of one process subscribes to the topic (it counts for each), a producer
in the same process as a consumer of other topics (it counts as a consumer), and clients that the interval's limit of
rows put into ``*``. A client that changes its name server counts at both until POLL_US after it left the first. Members
behind one address are in the order of their ports; the clients' own order is by process.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

from rocketns.pipeline.contract.schema import columns, conform

RETRY = "%RETRY%"
POLL_US = 30_000_000  # the client's default pollNameServerInterval

# client: ip:port at the name server; [t1, t2): from its first lookup's interval until POLL_US after its last lookup.
GROUP_MEMBERS = columns("group:string topic:string ns:string client:string t1:long t2:long")


def group_members(events: DataFrame) -> DataFrame:
    """GROUP_MEMBERS, empty where lookups were not journalled for each client."""
    asked = _asked(events)
    is_retry = F.col("topic").startswith(RETRY)
    groups = asked.where(is_retry).select(
        "ns",
        "client",
        F.substring(F.col("topic"), len(RETRY) + 1, 1000).alias("group"),
        F.col("t1").alias("in_t1"),
        F.col("t2").alias("in_t2"),
    )
    both = asked.where(~is_retry).join(groups, ["ns", "client"], "inner")
    spans = {"t1": F.greatest("t1", "in_t1"), "t2": F.least("t2", "in_t2")}
    return conform(both.withColumns(spans).where(F.col("t1") < F.col("t2")), GROUP_MEMBERS)


def _asked(events: DataFrame) -> DataFrame:
    """ns, client, topic, t1, t2 of the clients that are named. A row stands for the iv_ms before its ts."""
    one_client = events.where((F.col("ev") == "lookup") & F.col("client").contains(":") & (F.col("n") > 0))
    start = F.col("ts") - F.coalesce(F.col("iv_ms"), F.lit(0)) * 1000
    return one_client.groupBy("ns", "client", "topic").agg(
        F.min(start).alias("t1"), (F.max("ts") + POLL_US).alias("t2")
    )
