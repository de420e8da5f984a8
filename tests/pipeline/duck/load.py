"""What each broker holds, in SQL: the largest number of queues of each topic while the observation lasts."""

from tests.pipeline.duck.topics import COMMON

SQL = (
    COMMON
    + """
, held as (
  select broker, topic, kind = 'user' as own, max(r) as r from topic_intervals join names using (topic)
  where t1 < {t1} and t2 > {t0} group by all
)
select broker, count(*), count(*) filter (own), coalesce(sum(r) filter (own), 0)::long,
  coalesce(list_slice(list_sort(list(topic) filter (own)), 1, 5), [])
from held group by broker
"""
)
