"""Which topics an alert counts as users': the same as a run."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.stream.step import Limits
from tests.pipeline.journals import SECOND, Broker, Journal, topic
from tests.pipeline.stream.test_alerting import Follower

NOT_OF_USERS = ("TBW102", "%RETRY%g", "broker-b", "shop", "shop_REPLY_TOPIC")


def test_a_divergence_counts_topics_of_users_apart_from_what_each_broker_makes_for_itself(spark: SparkSession) -> None:
    """n2 drops broker-b, which n1 keeps."""
    broker = Broker("broker-b", "10.0.0.2:10911", cluster="shop")
    journals = {ns: Journal(0, ns) for ns in ("n1", "n2")}
    for journal in journals.values():
        journal.register(SECOND, broker, [topic(name) for name in ("orders", *NOT_OF_USERS)])
    journals["n2"].down(20 * SECOND, broker, "expired")
    for journal in journals.values():
        journal.add(40 * SECOND, "alive")
    told = Follower(spark, Limits()).take({ns: journal.records for ns, journal in journals.items()})
    (alert,) = (line for line in told if line["kind"] == "divergence")
    assert (alert["topics"], alert["user_topics"], alert["topic_sample"][0]) == (6, 1, "orders")
    assert "disagree about 1 user topic of broker-b" in alert["text"]
