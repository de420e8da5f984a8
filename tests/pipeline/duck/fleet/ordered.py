"""Moved keys in SQL: both lists of each step are written out, and each hash up to their common multiple is tried.
Tables: topic_intervals, events, and those of duck.topics."""

from tests.pipeline.duck.topics import COMMON

SQL = (
    COMMON
    + """
, used as (select * from topic_intervals where w > 0 and (p & 2) = 2
), times as (select ns, topic, t1 as t from used union select ns, topic, t2 from used
), lists as (
  select ns, topic, t, coalesce((
      select list(struct_pack(b := broker, w := w) order by broker) from used u
      where u.ns = times.ns and u.topic = times.topic and u.t1 <= times.t and u.t2 > times.t
    ), []) as brokers
  from times
), turns as (
  select * from lists qualify brokers is distinct from lag(brokers) over (partition by ns, topic order by t)
), lasting as (
  select *, lead(t) over (partition by ns, topic order by t) - t as lasted from turns
), settled as (
  select ns, topic, t, brokers, flatten([[e.b || ' ' || q for q in range(e.w)] for e in brokers]) as queues
  from lasting where lasted >= 30000000 and len(brokers) > 0
), pairs as (
  select *, lag(queues) over w as old, lag(brokers) over w as old_brokers from settled
  window w as (partition by ns, topic order by t)
), steps as (
  select *, len(old) as n, len(queues) as m, len([1 for h in range(lcm(len(old), len(queues)))
      if old[h % len(old) + 1] <> queues[h % len(queues) + 1]]) / lcm(len(old), len(queues)) as moved,
    list_min([e.b for e in list_concat(old_brokers, brokers)
      if not (list_contains(old_brokers, e) and list_contains(brokers, e))]) as changed
  from pairs where old <> queues
), servers as (
  select topic, ns, count(*) as n from steps group by all
)
select topic, any_value(kind), topic in (
    select key from events where ns_key = 'ORDER_TOPIC_CONFIG' and val is not null
  ), (select max(s.n) from servers s where s.topic = steps.topic), list_sort(list(distinct ns)), max(moved),
  -max((moved, -t))[2], max((moved, -t, n, m, changed))[3], max((moved, -t, n, m, changed))[4],
  max((moved, -t, n, m, changed))[5], min(t), max(t)
from steps join names using (topic) group by topic
"""
)
