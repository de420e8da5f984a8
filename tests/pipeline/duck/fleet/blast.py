"""Single points of failure in SQL: each topic is tried without each broker and zone. Tables: topic_intervals,
broker_intervals, ns_uptime, sole_topics, and those of duck.topics."""

from tests.pipeline.duck.topics import COMMON

SOLE = (
    COMMON
    + """
, last as (select max(t2) as at from ns_uptime
), masters as (
  select broker, max(zone) as zone from broker_intervals where bid = 0 and t2 >= (from last) group by broker
), held as (
  select topic, broker, zone, max(case when (p & 2) = 2 then w else 0 end) as w
  from topic_intervals join masters using (broker) where t2 >= (from last) group by all
), victims as (
  select 'broker' as scope, broker as name from masters
  union select 'zone', zone from masters where zone is not null
), tried as (
  select scope, name, topic, bool_or(hit) as touched, bool_and(hit) as all_gone,
    coalesce(bool_and(hit) filter (w > 0), false) as writes_gone, coalesce(sum(w) filter (w > 0), 0)::long as w
  from (
    select scope, name, h.*, case scope when 'broker' then broker = name else zone is not distinct from name end as hit
    from victims, held h
  ) group by all
)
select scope, name, topic, kind, all_gone, writes_gone, if(writes_gone, w, 0)::long
from tried join names using (topic) where all_gone or writes_gone
"""
)

RADIUS = """
select scope, name, count(*) filter (loses_masters), count(*) filter (loses_writes), sum(queues)::long,
  list_sort(list(topic))[:5]
from sole_topics where kind = 'user' group by all
"""
