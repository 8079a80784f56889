-- Whole queries over the table d: how they are put together.
select distinct f from d order by f
select i from d order by 1 limit 2 offset 1
select b from d order by i + b, b
select s from d order by length(s), s
select i, count(*) c from d group by 1 having c > 1
select f, i, count(*) n from d group by all order by all
select i % 2 as m, sum(b) from d group by i % 2 order by m
select x.i, y.s from d x join d y on x.i = y.i and x.b < y.b
select count(*) from d x right join d y on x.b = y.i
select count(*), count(x.i), count(y.i) from d x full outer join d y on x.b = y.i
select count(*) from d x cross join d y
select i from d x left semi join (select 3 as i) y using (i)
select b from d x left anti join (select 3 as i) y on x.i = y.i order by b
select i from d union select b from d order by i
select i from d intersect select 3
select i from d minus select 1 order by i
(select i from d) union (select 5) order by 1
select i from d where b = (select max(b) from d)
select (select count(*) from d) as n, i from d order by b
select i from d where i in (select max(i) from d) order by b
select i from d where i not in (select b from d where b is not null) order by i
select i from d x where exists (select 1 from d y where y.b = x.i)
select i from d x where not exists (select 1 from d y where y.i = x.i + 1) order by b
select p, e from d lateral view posexplode(a) l as p, e order by p, e
select i, explode(a) as e from d order by i, e
select i, posexplode(a) as (p, e) from d order by i, p, e
select d.* from d order by b
select * except (a, z, q) from d order by b
with e as (select i from d where i > 0), f as (select i + 1 as j from e) select * from f order by j
select I, D.S from d where i = 1
select t.i from d as t where t.s is not null order by t.b
select i from d where i > 0 group by i order by max(b)
select sum(n) from (select i, count(*) n from d group by i)
select i, sum(sum(b)) over (order by i) r from d group by i order by i
select i k, b k from d where i = 1
select 1 as x, 2 as x
select i from d limit 0
select 'a' as k, count(*) from d group by k
select f as state, count(*) from d where f group by state
select b, x.i, y.i from d x join d y using (b) order by b
select i from d x inner join d y using (i, b) order by 1
select i, e from (select i, a from d) lateral view explode(a) as e where i > 0 order by 1, 2
select case when count(*) > 3 then 'many' else 'few' end as c from d
select max(e) from d lateral view explode(a) as e
select i from d where not (i = 1 or i is null) order by i, b
select i, rank() over (order by count(*) desc) as r from d group by i order by r, i
select min(t) over w as r from d window w as (partition by f order by b) order by b
select x.i, y.i from d x join d y
with x as (select 1) select * from x, x as y
select 1
select max(distinct i) from d
select avg(distinct i), sum(distinct b) from d
select i from d where s = 'ALPHA-1'
select e from d lateral view explode(array(1, 2)) as e where e > 1 and i = 1
select t + interval 1 day 2 hours as r from d
select t - d > interval 1 day as r from d
select min_by(a, b) as r from d
select min(a) as r from d
select i from d where a = array('z')
select max(a) from d
select i from d order by a
select i from (select i, i from d)
select sum(i) over (rows between unbounded preceding and current row) as r from d
select count(1) from d where i > 1000
select count(distinct i, s) from d where i > 1000
select count_if(i > 0) from d where i > 1000
select min(s) from d where i > 1000
select max(t) from d where i > 1000
select min_by(s, b) from d where i > 1000
select max_by(i, t) from d where i > 1000
select bool_and(f) from d where i > 1000
select bool_or(f) from d where i > 1000
select median(z) from d where i > 1000
select sum(i) / count(*) from d where i > 1000
select max(i) - min(i) from d where i > 1000
select sum(i * 2) from d where i > 1000
select 'a' 'b' as r
select t - interval 5 minutes - t as r from d order by b
select 'x' as k, count(*) as n from d union all select 'y', max(b) from d order by k
select 'it''s' as r
