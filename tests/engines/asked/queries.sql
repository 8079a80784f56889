-- Whole queries over the table d: how they are put together.
select i, s from d order by i, b
select i from d order by i desc, b
select s from d order by s nulls last
select s from d order by s desc nulls first
select distinct f from d order by f
select i as k from d order by k desc nulls last, b limit 2
select i from d order by 1 limit 2 offset 1
select i, b from d order by all
select b from d order by i + b, b
select s from d order by length(s), s
select i x, count(*) from d group by x order by x
select i, count(*) c from d group by 1 having c > 1
select i, count(*) from d group by i having count(*) > 1 order by i
select f, i, count(*) n from d group by all order by all
select upper(s), count(*) from d group by upper(s) order by 1
select i % 2 as m, sum(b) from d group by i % 2 order by m
select x.i, y.s from d x join d y on x.i = y.i and x.b < y.b
select x.i, y.b from d x left join d y on x.b = y.i order by x.b, y.b
select count(*) from d x right join d y on x.b = y.i
select count(*), count(x.i), count(y.i) from d x full outer join d y on x.b = y.i
select count(*) from d x cross join d y
select count(*) from d x, d y where x.i = y.i
select i from d x left semi join (select 3 as i) y using (i)
select b from d x left anti join (select 3 as i) y on x.i = y.i order by b
select * from d x join (select i, count(*) n from d group by i) y using (i) order by b
select i from d union select b from d order by i
select i from d union all select 1.5 from d order by i
select i from d except select 3
select i from d intersect select 3
select i from d minus select 1 order by i
(select i from d) union (select 5) order by 1
select i from d where b = (select max(b) from d)
select (select count(*) from d) as n, i from d order by b
select i from d where i in (select max(i) from d) order by b
select i from d where i not in (select b from d where b is not null) order by i
select i from d x where exists (select 1 from d y where y.b = x.i)
select i from d x where not exists (select 1 from d y where y.i = x.i + 1) order by b
select e, i from d lateral view explode(a) l as e order by i, e
select e from d lateral view outer explode(a) as e order by e
select p, e from d lateral view posexplode(a) l as p, e order by p, e
select i, explode(a) as e from d order by i, e
select i, explode(a) from d order by i, 2
select i, posexplode(a) as (p, e) from d order by i, p, e
select inline(array(named_struct('k', i, 'v', s))) from d order by k, v
select i, explode_outer(a) e from d order by i, e, b
select d.* from d order by b
select * except (a, z, q) from d order by b
select x from (select i as x from d) where x > 0 order by x
with e as (select i from d where i > 0), f as (select i + 1 as j from e) select * from f order by j
select i as a, i + 1 as b2, b2 * 2 as c from d where i = 1
select I, D.S from d where i = 1
select t.i from d as t where t.s is not null order by t.b
select i from d where i > 0 group by i order by max(b)
select count(*) n from d having count(*) > 100
select f, count(*) from d group by f order by count(*) desc, f
select sum(n) from (select i, count(*) n from d group by i)
select i, sum(sum(b)) over (order by i) r from d group by i order by i
select distinct i, f from d order by i, f
select max(i) from d group by f order by max(i)
select e.k from (select named_struct('k', i) as e from d) order by 1
select e.* from (select i, s from d) e order by i, s
select i k, b k from d where i = 1
select 1 as x, 2 as x
select i from d limit 0
select count(*) from (select i from d limit 2)
select 'a' as k, count(*) from d group by k
select f as state, count(*) from d where f group by state
select i as s from d order by s, b
select b, x.i, y.i from d x join d y using (b) order by b
from d select i where i = 1
select i from d x inner join d y using (i, b) order by 1
select count(*) from d group by i order by i
select i, e from (select i, a from d) lateral view explode(a) as e where i > 0 order by 1, 2
select case when count(*) > 3 then 'many' else 'few' end as c from d
select max(e) from d lateral view explode(a) as e
select i, count(e) from d lateral view outer explode(a) as e group by i order by i
select i from d where not (i = 1 or i is null) order by i, b
select i, rank() over (order by count(*) desc) as r from d group by i order by r, i
select min(t) over w as r from d window w as (partition by f order by b) order by b
select * from d x left join (select cast(7 as bigint) as b, 'seven' as name) using (b) order by b
select * from d x right join (select cast(7 as bigint) as b, 'seven' as name) using (b)
select * from d x full join (select cast(8 as bigint) as b, 'eight' as name) using (b) order by b
select x.i, y.i from d x join d y
select posexplode(a) from d order by 1, 2
with x as (select 1) select * from x, x as y
select 1
select max(distinct i) from d
select avg(distinct i), sum(distinct b) from d
select i from d where s = 'ALPHA-1'
select e from d lateral view explode(array(1, 2)) as e where e > 1 and i = 1
select 1.5 + 1
select * from d join d using (i)
