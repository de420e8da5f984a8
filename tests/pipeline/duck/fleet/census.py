"""The fleet census in SQL. Parameters: t0, t1. Tables: events, clients, and those of duck.topics."""

from tests.pipeline.duck.topics import COMMON

CLIENTS = """
select client, lang, cv, list_sort(list(distinct ns)), count(distinct topic), sum(n)::long,
  sum(coalesce(miss, 0))::long, case when client is not null then sum(iv_ms) / 1000 / sum(n) end,
  min(ts - coalesce(iv_ms, 0) * 1000), max(ts)
from events where ev = 'lookup' and topic <> '*' and ts >= {t0} and ts < {t1} group by client, lang, cv
"""

CENSUS = """
select lang, cv, case when cv between 213 and 1411 and cv % 2 = 1
    then array_to_string(string_split(((cv + 587) // 2)::varchar, ''), '.') end,
  count(client), count(distinct client[:-1 - position(':' in reverse(client))]), sum(n)::long, sum(miss)::long,
  sum(n) / (select sum(n) from clients), median(poll_s), count(*) filter (poll_s < 15)
from clients group by lang, cv
"""

ASKERS = (
    COMMON
    + """
select topic, kind, client, lang, cv, list_sort(list(distinct ns)), sum(n)::long, sum(coalesce(miss, 0))::long,
  min(ts - coalesce(iv_ms, 0) * 1000), max(ts)
from asked join names using (topic) group by topic, kind, client, lang, cv having sum(miss) > 0
"""
)
