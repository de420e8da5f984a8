"""Missing topics in SQL. Parameters: t0, t1. Table: events."""

from tests.pipeline.duck.topics import kind

SQL = """
with hourly as (
  select topic, floor((ts - coalesce(iv_ms, 0) * 500) / 3600e6)::long as hour, sum(coalesce(miss, 0))::long as miss,
    sum(n)::long as n, list_sort(list(distinct ns) filter (miss > 0)) as servers
  from events where ev = 'lookup' and topic <> '*' and ts >= {t0} and ts < {t1} group by all
), born as (select topic, min(hour) as first from hourly group by topic
), busy as (select * from hourly join born using (topic) where miss >= 20
), hours as (
  select b.topic, b.hour, unnest(generate_series(greatest(b.first, b.hour - 168), b.hour - 1)) as past from busy b
), history as (
  select h.topic, h.hour, coalesce(p.miss, 0) as miss
  from hours h left join hourly p on p.topic = h.topic and p.hour = past
), middle as (select topic, hour, count(*) as hours, median(miss) as median from history group by all
), spread as (
  select topic, hour, median(abs(miss - median)) as mad from history join middle using (topic, hour) group by all
), judged as (
  select b.*, coalesce(hours, 0) as hours, median, mad, median + 5 * greatest(1.4826 * mad, 1) as bound,
    rank() over (partition by topic order by hour) as place
  from busy b left join middle using (topic, hour) left join spread using (topic, hour)
)
select topic, hour * 3600000000, case when hours < 24 then 'new' else 'anomaly' end, miss, n, servers, hours::int,
  median, mad, case when hours >= 24 then bound end, {kind}
from judged where case when hours < 24 then place = 1 else miss > bound end
""".replace("{kind}", kind("topic"))
