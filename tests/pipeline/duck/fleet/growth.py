"""Growth in SQL: each day counts what is there at its end. Parameters: t1. Tables: topic_intervals, growth."""

GROWTH = """
with routes as (select topic, broker, min(t1) as t1, max(t2) as t2 from topic_intervals group by all
), topics as (select topic, min(t1) as t1, max(t2) as t2 from routes group by all
), days as (
  select unnest(generate_series((select min(t1) from routes) // 86400000000, ({t1} - 1) // 86400000000)) as day
), ends as (select day, (day + 1) * 86400000000 as ended from days
), of_broker as (
  select day, broker, count(*) as n, 663 + sum(144 + 2 * strlen(topic)) as bytes
  from ends join routes on t1 < ended and (t2 >= ended or t2 >= {t1}) group by all
), of_all as (
  select day, count(*) as n, 170 + sum(3 + strlen(topic)) as bytes
  from ends join topics on t1 < ended and (t2 >= ended or t2 >= {t1}) group by all
)
select strftime(make_timestamp(day * 86400000000), '%Y-%m-%d'), any_value(a.n), sum(b.n)::long, count(*),
  max(b.bytes)::long, arg_max(broker, (b.bytes, broker)), any_value(a.bytes)::long
from of_broker b join of_all a using (day) group by day
"""

LIMITS = """
with points as (
  select 'registration' as measure, (day::date - date '1970-01-01') as x, registration_bytes::double as y from growth
  union all select 'topic_list', (day::date - date '1970-01-01'), list_bytes from growth
), kept as (select * from points where x > ({t1} - 1) // 86400000000 - 90
), lines as (
  select measure, arg_max(y, x) as now, count(*) as days,
    (count(*) * sum(x * y) - sum(x) * sum(y)) / nullif(count(*) * sum(x * x) - sum(x) * sum(x), 0) as slope
  from (select measure, x - min(x) over () as x, y from kept) group by measure
), ahead as (
  select *, case when now >= 16777216 then 0 when days >= 3 and slope > 0 then (16777216 - now) / slope end as left_days
  from lines
)
select measure, now::long, 16777216, now / 16777216, case when days >= 3 then slope end,
  case when left_days <= 3650 then {t1} + floor(left_days * 86400000000)::long end
from ahead
"""
