-- What analysts ask: each function of Spark's that they use, at least once. Where a query asks for an order, it leaves no tie.
-- strings
select group_id, lower(client_id) c, upper(client_host) h from members where group_id like 'd-kill/%' order by 1, 2, 3
select distinct lcase(cause) l, ucase(cause) u from rebalances order by l
select distinct length(cause) n, char_length(cause) c, character_length(cause) d, cause from rebalances order by cause
select distinct concat(group_id, ':', cause) x from rebalances where group_id like 'b-rolling%' order by x
select distinct group_id || '/' || cause as x from rebalances where group_id like 'b-rolling%' order by x
select distinct concat_ws(' ', group_id, cause, cause_client_id) x from rebalances where group_id like 'd-kill/%' order by x
select distinct substring(cause, 1, 6) a, substr(cause, 3) b, left(cause, 3) c, right(cause, 3) d from rebalances order by a, b
select distinct trim(concat('  ', cause, ' ')) a, ltrim(concat(' ', cause)) b, rtrim(concat(cause, ' ')) c from rebalances order by a
select distinct lpad(cause, 20, '.') l, rpad(cause, 20, '.') r, lpad(cause, 4, '-') s from rebalances order by l
select distinct startswith(cause, 'member') s, endswith(cause, 'ed') e, contains(cause, '_') c, cause from rebalances order by cause
select distinct regexp_replace(cause, '[aeiou]', '*') r from rebalances order by r
select count(*) from members where client_id rlike '^[a-z]+-[0-9]+$'
select count(*) from members where regexp_like(client_id, '^[a-z]+')
select count(*) from members where client_id ilike '%AGG%'
select count(*) from members where client_id not like 'app%' and client_host is not null
-- conditions
select group_id, coalesce(end_cause, 'runs') e, ifnull(end_cause, 'runs') i, nvl(end_cause, 'runs') n, nvl2(end_cause, 'over', 'runs') o from sessions where group_id like 'd-kill/%' order by 1, 2, client_id, member_id
select distinct nullif(cause, 'member_left') n, cause from rebalances order by cause
select distinct cause, case cause when 'member_left' then 1 when 'member_joined' then 2 else 3 end c from rebalances order by cause
select distinct cause, case when cause like 'member%' then 'member' when cause is null then 'none' end c from rebalances order by cause
select count(*) from sessions where end_cause <=> null
select count(*) from sessions where not (end_cause <=> 'member_left')
select count(*) from sessions where isnull(end_cause) or isnotnull(group_instance_id)
select greatest(max(duration_ms), 100) g, least(min(duration_ms), 100) l from rebalances
select count(*) from rebalances where is_inferred = false
select count(*) from rebalances where not is_inferred and cause is not null
-- numbers
select cause, ceil(avg(duration_ms)) a, floor(avg(duration_ms)) b, ceiling(avg(duration_ms)) c from rebalances group by cause order by cause
select cause, sum(duration_ms) / 1000 s, sum(duration_ms) div 1000 d, sum(duration_ms) % 1000 m, mod(sum(duration_ms), 7) n from rebalances group by cause order by cause
select cause, pmod(-sum(duration_ms), 7) p from rebalances group by cause order by cause
select cause, 100 * count(*) / sum(count(*)) over () as percent from rebalances group by cause order by cause
select count(*) from rebalances where duration_ms / 1000 > 0.5
select greatest(1, null, 3) g, least(1, null, 3) l
-- aggregates
select percentile(duration_ms, 0.95) p, percentile(duration_ms, 0) q, percentile(duration_ms, 1) r, median(duration_ms) m from rebalances
select group_id, max_by(cause, started_at) m, min_by(cause, started_at) n from rebalances where group_id like 'd-kill/%' group by group_id order by group_id
select group_id, array_sort(collect_set(cause)) c, size(collect_list(cause)) n from rebalances group by group_id order by group_id
select group_id, array_join(array_sort(collect_set(cause)), ', ') c from rebalances group by group_id order by group_id
select group_id, concat_ws(', ', sort_array(collect_set(cause))) c from rebalances group by group_id order by group_id
select sum(duration_ms) filter (where cause = 'member_left') s, avg(duration_ms) filter (where cause = 'no such') a from rebalances
select cause, sum(duration_ms) s from rebalances group by cause having sum(duration_ms) > 1000 and count(*) > 2 order by s desc, cause
select max(ended_at - started_at) m, min(ended_at - started_at) n from rebalances
select count(distinct date_trunc('HOUR', started_at)) h from rebalances
-- windows
select group_id, n, rank() over (order by n desc) r, dense_rank() over (order by n desc) d from (select group_id, count(*) n from rebalances group by group_id) order by r, group_id
select group_id, n, percent_rank() over (order by n) r, cume_dist() over (order by n) c from (select group_id, count(*) n from rebalances group by group_id) order by n, group_id
select group_id, n, ntile(4) over (order by n, group_id) q from (select group_id, count(*) n from rebalances group by group_id) order by n, group_id
select group_id, started_at, lead(started_at) over (partition by group_id order by started_at) nxt from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, lag(cause, 1, 'none') over (partition by group_id order by started_at) previous from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, first_value(cause) over (partition by group_id order by started_at) f, last_value(cause) over (partition by group_id order by started_at rows between unbounded preceding and unbounded following) l from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, nth_value(cause, 2) over (partition by group_id order by started_at) f from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, avg(duration_ms) over (partition by group_id order by started_at rows between 2 preceding and current row) s from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, count(*) over (partition by group_id order by started_at range between interval 5 minutes preceding and current row) s from rebalances where group_id like 'd-kill/%' order by 1, 2
select group_id, started_at, max(duration_ms) over w m from rebalances where group_id like 'd-kill/%' window w as (partition by group_id order by started_at) order by 1, 2
select group_id, started_at, unix_millis(started_at) - unix_millis(lag(ended_at) over (partition by group_id order by started_at)) quiet_ms from rebalances where group_id like 'd-kill/%' order by 1, 2
-- times
select distinct year(started_at) y, month(started_at) m, day(started_at) d, dayofmonth(started_at) e from rebalances order by y, m, d
select distinct hour(started_at) h, minute(started_at) m, second(started_at) s from rebalances where group_id like 'd-kill/%' order by h, m, s
select distinct dayofweek(started_at) a, weekday(started_at) b, dayofyear(started_at) c, weekofyear(started_at) d, quarter(started_at) e from rebalances order by a, c
select distinct extract(hour from started_at) h, extract(minute from started_at) m, extract(year from started_at) y from rebalances where group_id like 'd-kill/%' order by h, m
select date_trunc('SECOND', started_at) s, count(*) n from rebalances where group_id like 'd-kill/%' group by 1 order by 1
select date_trunc('day', started_at) s, date_trunc('week', started_at) w, count(*) n from rebalances group by 1, 2 order by 1
select date_trunc('month', started_at) s, date_trunc('YEAR', started_at) w, count(*) n from rebalances group by 1, 2 order by 1
select distinct trunc(at_date, 'MM') m, trunc(at_date, 'YEAR') y from rebalances order by m
select date_format(started_at, 'yyyy-MM-dd') d, count(*) n from rebalances group by 1 order by 1
select distinct date_format(started_at, 'yyyy-MM-dd HH:mm:ss.SSS') d from rebalances where group_id like 'd-kill/%' order by d
select distinct timestampdiff(MINUTE, timestamp'2026-11-21 00:00:00', started_at) a, timestampdiff(HOUR, started_at, timestamp'2026-11-22 00:00:00') b from rebalances where group_id like 'd-kill/%' order by a, b
select distinct timestampdiff(DAY, timestamp'2026-01-01 12:00:00', started_at) a, timestampdiff(MONTH, timestamp'2026-01-31 12:00:00', started_at) b from rebalances order by a, b
select distinct unix_timestamp(started_at) a, unix_seconds(started_at) b, unix_millis(started_at) c, unix_micros(started_at) d, to_unix_timestamp(started_at) e from rebalances where group_id like 'd-kill/%' order by c
select distinct at_date, cast(at_date as timestamp) t, cast(at_date as string) s from rebalances order by at_date
select count(*) from rebalances where started_at > current_timestamp() - interval 1 day
select count(*) from rebalances where at_date > current_date - 36500 or at_date > date_sub(current_date(), 36500)
select count(*) from rebalances where started_at >= '2026-11-21 05:38' and started_at < '2026-11-21 05:40:30.5'
select count(*) from rebalances where started_at >= date'2026-11-21'
select count(*) from rebalances where at_date = '2026-11-21' and hour(started_at) between 5 and 6
-- arrays, structs, JSON
select group_id, size(joined) n, cardinality(joined) c, joined[0] f from rebalances where group_id like 'd-kill/%' and size(joined) > 0 order by 1, started_at
select group_id, get(joined, 0) f, get(joined, 9) g, element_at(expired, 1) e from rebalances where size(expired) > 0 order by 1, started_at, 2
select distinct array_join(joined, '+') j, sort_array(joined) s, array_sort(joined) t from rebalances where group_id like 'd-kill/%' order by j
select distinct array_max(joined) a, array_min(joined) b from rebalances where group_id like 'd-kill/%' order by a, b
select distinct array_join(filter(joined, x -> x like '%1'), ',') f, array_join(transform(joined, x -> upper(x)), ',') t from rebalances where group_id like 'd-kill/%' order by t
select group_id, p, j from rebalances lateral view posexplode(joined) t as p, j where group_id like 'd-kill/%' order by group_id, started_at, p, j
select get_json_object(detail, '$.cause.kind') k, count(*) n from effects where effect = 'rebalance_started' group by 1 order by 1
select get_json_object(detail, '$.cause') k from effects where effect = 'rebalance_started' and group_id like 'd-kill/%' order by at_ms, group_id limit 3
select cast(get_json_object(detail, '$.session_timeout_ms') as bigint) t, count(*) n from effects where effect = 'member_joined' group by 1 order by 1
-- how queries are put together
select s.client_id, s.end_cause, r.cause from sessions s join rebalances r on s.group_id = r.group_id and s.ended_at between r.started_at - interval 1 second and r.ended_at where s.group_id like 'd-kill/%' order by 1, 2, 3, r.started_at, s.member_id
with recent as (select * from rebalances where started_at > timestamp'2026-11-21 05:39:00'), counted as (select group_id, count(*) n from recent group by group_id) select * from counted where n > 1 order by n desc, group_id
select group_id from rebalances group by group_id having count(*) > (select avg(n) from (select count(*) n from rebalances group by group_id)) order by 1
select group_id, (select max(duration_ms) from rebalances r where r.group_id = g.group_id) m from groups g order by m desc nulls last, group_id limit 10
select cause, n from (select cause, count(*) n from rebalances group by cause) order by n desc nulls last, cause limit 3 offset 1
select group_id from sessions intersect select group_id from rebalances where duration_ms > 1000 order by 1
select distinct on_time from (select duration_ms < 1000 on_time from rebalances) order by 1
select cause c, c || '!' d from (select distinct cause from rebalances) order by c
select a.group_id, b.group_id other from groups a cross join groups b where a.group_id < b.group_id and a.group_id like 'd-kill/%' and b.group_id like 'd-kill/%' order by 1, 2
from rebalances |> where cause = 'member_left' |> aggregate count(*) as n
select distinct cause, translate(cause, '_e', ' 3') t, split_part(cause, '_', 1) a, split_part(cause, '_', 3) b from rebalances order by cause
select make_date(2026, 11, 21) d, element_at(array(1, 2), 2) e
select cast(count(*) as string) s, cast(count(*) as double) d, cast('12' as int) i, cast(' 7 ' as bigint) b from rebalances
