-- What goes to Spark: not proven, or refused by Spark too.
select regexp_extract(s, '(x)?(a)', 1) as r from d
select any(f) as r from d
select a.b from d
select nothing from d
select * from nowhere
select sum(s) from d
select i + s from d
select s from d where s > 3
select i / 0 from d
select i, count(*) from d
select array(1,2)[5] as r
select cast('x' as int) as r
select 2147483647 + 1
select d.i from d x
select i from d x join d y on x.b = y.b
select count(*) from d where count(*) > 1
select i from d group by s
selec
select * from d where
select upper('straße') as r
select lower('ÄB') as r
select row_number() over () as r from d
select (select i from d) as r
select i from d union select i, b from d
select collect_list(i) from d
select max_by(i, f) from d
select i from d tablesample (10 percent)
select i from d sort by i
table d
select * from values (1), (2) as t(x)
select interval 5 minutes
select rlike('a', 'a'), 'ab' rlike '(?i)A'
select i from range(3)
select date'2026-13-01' as r
select timestamp'2026-01-01 25:00:00' as r
select t > '2026' from d
select t > 'noon' from d
select percentile(i, 2) as r from d
select 1 + 'a'
select i from d where i
select -s as r from d
select if(i, 1, 2) as r from d
select coalesce(i, s) as r from d
select last_day('x') as r
explain select 1
describe extended groups
describe query select 1
select i from d lateral view explode(a) as i
select 1; select 2
select count(distinct *) from d
select 5 % 3.5
select t > '2026-02-28 23:59Z' from d
select i as b, count(*) from d group by i having b > 1
select x.* from d x join d y using (b) order by x.b
select distinct replace(cause, '_', ' ') a, replace(cause, '_') b, translate(cause, '_', ' ') c from rebalances order by a
select distinct reverse(cause) r, repeat(cause, 2) s from rebalances order by r
select distinct split(cause, '_') p, split(cause, '_')[0] f, size(split(cause, '_')) n from rebalances order by f, n, cause
select distinct split_part(cause, '_', 1) a, split_part(cause, '_', 2) b, split_part(cause, '_', -1) c from rebalances order by a, b
select count(*) from rebalances where cause like 'member\\_%'
select distinct cause, overlay(cause placing 'XX' from 2 for 2) o from rebalances order by cause
select cause, round(avg(duration_ms)) a, round(avg(duration_ms), 2) b, round(avg(duration_ms), -1) c from rebalances group by cause order by cause
select cause, 100.0 * count(*) / sum(count(*)) over () as percent from rebalances group by cause order by cause
select sum(duration_ms) / 0 z from rebalances
select cast(avg(duration_ms) as decimal(10, 2)) d from rebalances
select cast(avg(duration_ms) as string) s from rebalances
select count(*) * 1.5 x from rebalances
select round(2.5) a, round(3.5) b, round(-2.5) c, round(0.125, 2) d
select percentile(duration_ms, array(0.5, 0.9)) p from rebalances
select percentile_cont(0.9) within group (order by duration_ms) p from rebalances
select group_id, sort_array(array_agg(duration_ms), false) c from rebalances group by group_id order by group_id
select listagg(cause, ',') within group (order by cause) l from (select distinct cause from rebalances)
select string_agg(cause, ',') within group (order by cause) l from (select distinct cause from rebalances)
select cause, group_id, count(*) n from rebalances where group_id like 'd-kill/%' group by rollup(cause, group_id) order by cause, group_id, n
select cause, group_id, count(*) n from rebalances where group_id like 'd-kill/%' group by cube(cause, group_id) order by cause, group_id, n
select cause, group_id, count(*) n from rebalances where group_id like 'd-kill/%' group by grouping sets ((cause), (group_id)) order by cause, group_id, n
select max(struct(duration_ms, group_id)) m from rebalances
select sum(duration_ms / 1000) s from rebalances
select avg(duration_ms / 1000) s from rebalances
select sum(ended_at - started_at) m from rebalances
select group_id, cause from rebalances qualify row_number() over (partition by group_id order by started_at desc, from_generation_id desc, cause) = 1 order by group_id
select distinct extract(second from started_at) s from rebalances where group_id like 'd-kill/%' order by s
select distinct date_format(started_at, 'EEEE') d, date_format(started_at, 'MMM d') e from rebalances order by d, e
select distinct to_date('2026-11-21') a, to_date('21.11.2026', 'dd.MM.yyyy') b, date'2026-11-21' c
select to_timestamp('2026-11-21 05:38:00') a, to_timestamp('21.11.2026 05:38', 'dd.MM.yyyy HH:mm') b, cast('2026-11-21 05:38:00' as timestamp) c
select distinct datediff(at_date, date'2026-01-01') a, date_diff(at_date, date'2026-01-01') b, at_date - date'2026-01-01' c from rebalances order by a
select cast(started_at as bigint) b from rebalances where group_id like 'd-kill/%' order by b limit 3
select count(*) from rebalances where started_at >= '2026-11-21T05:38:00+02:00'
select sequence(1, 5) s, sequence(1, 10, 3) t
select joined[5] f from rebalances where group_id like 'd-kill/%'
select distinct array_join(array_distinct(concat(joined, expired)), ',') a from rebalances where group_id like 'd-kill/%' order by a
select group_id, started_at, j from rebalances lateral view outer explode(expired) t as j where group_id like 'd-kill/%' order by 1, 2, 3
select r.group_id, j.col from rebalances r, lateral explode(r.joined) j where group_id like 'd-kill/%' order by r.started_at, 1, 2
select from_json(detail, 'session_timeout_ms bigint').session_timeout_ms t, count(*) n from effects where effect = 'member_joined' group by 1 order by 1
select * from (select cause, outcome from rebalances) pivot (count(*) for outcome in ('completed', 'superseded')) order by cause
select cause as started_at, max(duration_ms) m from rebalances group by started_at order by m, 1
values ('a', 1), ('b', 2)
select * from (values ('member_left', 'bye'), ('member_joined', 'hi')) as v(cause, word) join (select distinct cause from rebalances) using (cause) order by cause
select /*+ BROADCAST(g) */ count(*) from groups g join members m using (group_id)
select upper(s), count(*) from d group by upper(s) order by 1
select inline(array(named_struct('k', i, 'v', s))) from d order by k, v
select i as a, i + 1 as b2, b2 * 2 as c from d where i = 1
select * from d x left join (select cast(7 as bigint) as b, 'seven' as name) using (b) order by b
select * from d x right join (select cast(7 as bigint) as b, 'seven' as name) using (b)
select * from d x full join (select cast(8 as bigint) as b, 'eight' as name) using (b) order by b
select b, t > timestamp'2024-02-29 00:00:00.5+05:30' as r from d where true order by b
select b, round(i, 2) as r from d where true order by b
select b, length(i) as r from d where true order by b
select b, get_json_object('{"a": {"b": [1, 2.50, "x\\"y", null, true]}, "c": "d"}', '$.a.b') as r from d where true order by b
select b, cast(f as int) as r from d where true order by b
select b, extract(dow from d) as r from d where true order by b
select b, date_trunc('millisecond', t) as r from d where true order by b
select b, date_format(t, 'hh:mm a') as r from d where true order by b
select b, date_format(t, "yyyy-MM-dd'T'HH:mm") as r from d where true order by b
select b, to_timestamp('2026-01-01 10:00:00') as r from d where true order by b
select b, d + interval 1 day as r from d where true order by b
select b, d + interval 2 months as r from d where true order by b
select b, t - interval -1 day as r from d where true order by b
select b, sort_array(a, false) as r from d where true order by b
select b, 'it\'s' as r from d where true order by b
select b, lpad(i, 4, '0') as r from d where true order by b
select f, any_value(f) filter (where f) as r from d group by f order by f
select rank() over w as r from d window w as (partition by f)
select lag(i) over (partition by f) as r from d
select first_value(i) over (partition by f) as r from d
select nth_value(i, 0) over (order by b) as r from d
select percentile(i, q) as r from d
select left(s, i) as r from d order by b
select substring(s, i, 2) as r from d order by b
select rpad(s, i, '0') as r from d order by b
select split_part(s, '-', i) as r from d order by b
select split_part(s, '', 1) as r from d order by b
select substring_index(s, '-', 0) as r from d order by b
select locate('a', s, 0) as r from d order by b
select split(s, '') as r from d order by b
select regexp_extract(s, 'a', 1) as r from d order by b
select transform(a, (x, k) -> k) as r from d order by b
select count_if(i) as r from d
select bool_and(i) as r from d
select i from d where i + 1
select length(a) as r from d
select size(s) as r from d
select get_json_object('{"a":[{"b":1},{"b":2}]}', '$.a[*].b') as r
select get_json_object('{"a":1}', 'a') as r
select timestampdiff(MONTH, timestamp'2026-01-31 00:00:00', timestamp'2026-02-28 00:00:00') as r
select cast(concat('2026-01-31', 'T10:00:00+02:00') as timestamp) as r
select i from d union all select s from d
select f = 1 as r from d
select explode(a) as e, count(*) as n from d group by 1 order by 1
select array_contains(a, null) as r from d
select unix_millis(d) as r from d
select count(distinct i) over (partition by f) as r from d
select lag(s, i) over (order by b) as r from d
select date_add(d, q) as r from d
select count(*) as n from d lateral view explode(a)
select x.i from d x join d y on x.i
select b, i is true as r from d order by b
select b, coalesce(f, 1) as r from d order by b
select b, f in (1, 2) as r from d order by b
select b, case when f then f else 0 end as r from d order by b
select b, case f when 1 then 2 else 3 end as r from d order by b
select b, q div 2 as r from d order by b
select b, f / 2 as r from d order by b
select median(f) as r from d
select b, get_json_object(i, '$.a') as r from d order by b
select b, 2 / f as r from d order by b
