"""Group members in SQL: every pair of a topic and a %RETRY% topic that one client asked one name server for."""

SQL = """
with asked as (
  select ns, client, topic, min(ts - coalesce(iv_ms, 0) * 1000) as t1, max(ts) + 30000000 as t2
  from events where ev = 'lookup' and client like '%:%' and n > 0 group by ns, client, topic
)
select g.topic[8:] as "group", t.topic, t.ns, t.client, greatest(t.t1, g.t1) as t1, least(t.t2, g.t2) as t2
from asked t join asked g using (ns, client)
where starts_with(g.topic, '%RETRY%') and not starts_with(t.topic, '%RETRY%')
  and greatest(t.t1, g.t1) < least(t.t2, g.t2)
"""
