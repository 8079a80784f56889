-- What goes to Spark: not proven, or refused by Spark too.
select regexp_extract(s, '(x)?(a)', 1) as r from d
select t + interval 1 day 2 hours as r from d
select int(b) as r from d
select string(i) as r from d
select t - d > interval 1 day as r from d
select min_by(a, b) as r from d
select any_value(i) as r from d
select first(i) as r from d
select last(i) as r from d
select any(f) as r from d
select max(struct(i, s)).s as r from d
select any_value(s) as r from d
select avg(q) as r from d
select sum(z) as r from d
select percentile(i, array(0.5)) as r from d
select stddev(i) as r from d
select min(a) as r from d
select approx_count_distinct(i) as r from d
select mode(i) as r from d
select a.b from d
select nothing from d
select * from nowhere
select sum(s) from d
select i + s from d
select s from d where s > 3
select 1 / 0
select i / 0 from d
select i, count(*) from d
select array(1,2)[5]
select cast('x' as int)
select 2147483647 + 1
select i from d where a = array('z')
select max(a) from d
select i from d order by a
select d.i from d x
select i from d x join d y on x.b = y.b
select count(*) from d where count(*) > 1
select i from d group by s
selec
select * from d where
select upper('straße')
select lower('ÄB')
select row_number() over () from d
select (select i from d)
select i from d union select i, b from d
select collect_list(i) from d
select max_by(i, f) from d
select any_value(i) from d
select first(s) from d group by f
select i from d tablesample (10 percent)
select /*+ broadcast(d) */ i from d
select i from d sort by i
table d
values (1), (2)
select * from values (1), (2) as t(x)
select i, s from d qualify row_number() over (order by i) = 1
select interval 5 minutes
select t - interval 5 minutes - t from d
select rlike('a', 'a'), 'ab' rlike '(?i)A'
select rand() > 2
select i from range(3)
select window(t, '10 minutes').start from d
select to_json(struct(i)) from d
select from_json('{}', 'a int')
select date'2026-13-01'
select timestamp'2026-01-01 25:00:00'
select t > '2026' from d
select t > 'noon' from d
select percentile(i, 2) from d
select 'a' 'b'
select 1 + 'a'
select i from d where i
select -s from d
select if(i, 1, 2) from d
select coalesce(i, s) from d
select sum(b) over (partition by a) from d
select last_day('x')
select s like 'a\\_%' from d
select i from d group by rollup(i)
select * from d pivot (count(*) for i in (1, 3))
explain select 1
describe extended groups
describe query select 1
select try_cast('x' as int)
select approx_percentile(i, 0.5) from d
select i from d lateral view explode(a) as i
select 1; select 2
select count(distinct *) from d
select stack(2, 1, 2)
select 5 % 3.5
select i from (select i, i from d)
select t > '2026-02-28 23:59Z' from d
select i as b, count(*) from d group by i having b > 1
select x.* from d x join d y using (b) order by x.b
select sum(i) over (rows between unbounded preceding and current row) as r from d
