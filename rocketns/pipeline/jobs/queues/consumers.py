"""Which members of which consumer group asked which name server for a topic, from lookups journalled per client.

A consumer of group g looks up its topics and ``%RETRY%g`` over one connection, every POLL_US. A client address that
asks one name server for both is therefore a member of g and has that name server's view of the topic.

Limits. A process with several groups counts for each of them. A producer in the same process as a consumer of other
topics counts as a consumer. Clients that the journal counts under ``*`` are not seen. A client that changes its name
server counts at both until POLL_US after its last lookup at the first. Members behind one address are ordered by port,
while clients order themselves by process.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import GROUP_MEMBERS

RETRY = "%RETRY%"
POLL_US = 30_000_000  # the client's default pollNameServerInterval


def group_members(callers: DataFrame) -> DataFrame:
    """GROUP_MEMBERS, of CALLERS; empty if lookups were not journalled per client."""
    asked = _asked(callers)
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


def _asked(callers: DataFrame) -> DataFrame:
    """ns, client, topic, t1, t2 of each named client."""
    one_client = callers.where(F.col("client").contains(":") & F.col("asked"))
    return one_client.groupBy("ns", "client", "topic").agg(F.min("t1").alias("t1"), (F.max("t2") + POLL_US).alias("t2"))
