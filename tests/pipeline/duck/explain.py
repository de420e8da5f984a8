"""A route in SQL, for journals without holes: the last value that the running boot told of each broker.

Parameters: topic, at, silent. ns, known, queues.
"""

ROUTES = """
with boots as (
    select ns, boot, min(ts) as first_ts, max(ts) as last_ts, max(coalesce(since, ts)) filter (ev = 'stop') as stop_ts,
        bool_or(coalesce(no_topics, false)) as no_topics, lead(boot) over (partition by ns order by boot) as later
    from all_events group by ns, boot
),
running as (
    select ns, boot from boots
    where not no_topics and first_ts <= {at} and {at} < case
        when stop_ts is not null then stop_ts when later is not null then last_ts else last_ts + {silent} end
),
told as (
    select ns, broker, seq, ev, unnest(topics) as entry
    from all_events semi join running using (ns, boot) where ts <= {at} and topics is not null and ev <> 'snap'
),
latest as (
    select ns, broker, arg_max(ev, seq) as ev, arg_max(entry, seq) as entry
    from told where entry.t = '{topic}' group by all
)
select ns, ns in (select ns from running), coalesce(
    list({{'broker': broker, 'r': entry.r, 'w': entry.w, 'p': entry.p, 's': entry.s}} order by broker)
        filter (ev = 'tput'), [])
from (select distinct ns from all_events) left join latest using (ns) group by ns
"""
