-- Expressions over the columns i, b, s, t, d, f, a, q and z, a line each. What follows WHERE chooses the rows.
-- = <> < <= > >= <=>
i <> 3
s < 'a'
t <= '2026-03-01'
d > '2024-01-01'
b >= i
i <=> null
i <=> 3
q = 0.25
q > i
z < q
i = '3'
b != '7'
f = true
i < 2.5
i = 3.0
t = '2024-02-29T00:00:00Z'
t > '2026-02-28 23:59:59'
t < '2026-02-28 23:59'
-- and or not
f and i > 0
f or i > 0
not f
i > 0 and null
!f
-- is
f is true
f is not true
f is false
-- between in
i not between 0 and 5
t between '2024-01-01' and '2026-03-01'
i in (1, 3)
i not in (1, null)
s in ('alpha-1', '')
d in (date'1970-01-01')
b in (7, 10000000000)
d between '1970-01-01' and '2000-01-01'
-- like ilike rlike
s like 'a%'
s not like '%-_'
s ilike 'B%'
s rlike '[0-9]+$'
s not rlike '^a'
s rlike '^(alpha|Beta)'
regexp_like(s, 'a.p')
-- + - * / % div
i - b
i * 3
i / 2
b / 3
-7 % i WHERE i = 3 and b = 7
b div 2
i div -2
i + b * 2
-i
q + i
q * q
q - 1
z + q
z / 3
mod(i, 2)
7 / 2
7 div 2
-7 div 2
-- case if
case when i > 0 then 'p' when i < 0 then 'n' else 'z' end
case i when 3 then 'three' end
if(f, i, b)
if(i > 0, 'a', null)
case when i > 2 then t end
nullif(i, 3)
nullif(s, '')
nvl(i, 0)
ifnull(s, '-')
coalesce(null, i, 0)
coalesce(b, i)
nvl2(i, 'y', 'n')
isnull(i)
isnotnull(i)
greatest(i, b)
least(i, 0)
greatest(t, timestamp'2025-01-01')
nullif(b, i)
coalesce(q, 0)
-- abs ceil floor round
abs(i)
abs(q)
ceil(z)
floor(z)
ceiling(i)
round(z, 1)
round(b / 3, 3)
floor(b / 7)
-- strings
upper(s)
lower(s)
ucase(s)
lcase(s)
length(s)
char_length(s)
character_length(s)
concat(s, '-', i)
s || '!'
concat_ws(',', s, 'x')
concat_ws('-', a)
substring(s, 2, 3)
substr(s, 3)
substring(s, 1)
left(s, 2)
right(s, 2)
trim(' a ')
ltrim(' a ')
rtrim(s)
replace(s, 'a', 'bb')
startswith(s, 'a')
endswith(s, '1')
contains(s, 'et')
instr(s, 'a')
split(s, '-')
split(s, '-')[0] WHERE i = 3 and b = 7
substring_index(s, '-', 1)
substring_index(s, '-', -1)
substring_index(s, 'a', 2)
substring_index(s, 'a', -2)
regexp_extract(s, '([a-z]+)-([0-9]+)', 1)
regexp_extract(s, '([a-z]+)')
regexp_replace(s, '[0-9]+', '#')
right(s, 100)
left(s, 0)
-- json
get_json_object('{"a":{"b":"v"}}', '$.a.b')
get_json_object('{"a":null}', '$.a')
get_json_object('{"a":[1,2]}', '$.a[1]')
get_json_object('{"a":1e3}', '$.b')
-- casts
cast(i as bigint)
cast(b as double)
cast(z as int)
cast(z as bigint)
cast('12' as int)
cast(f as string)
cast(d as string)
cast(t as date)
cast(d as timestamp)
cast('2026-01-01' as timestamp)
cast(t as string)
right(s, 1) is null WHERE s = 'alpha-1'
-- dates
year(t)
month(d)
day(d)
dayofmonth(t)
dayofweek(d)
weekday(d)
dayofyear(d)
weekofyear(d)
quarter(t)
hour(t)
minute(t)
second(t)
date_add(d, 1)
date_sub(d, 31)
date_add(t, i)
datediff(t, d)
datediff(d, '2024-01-01')
date_diff(d, t)
add_months(d, 1)
add_months(d, -12)
last_day(d)
to_date(t)
date(t)
to_date('2026-01-31')
trunc(d, 'MM')
trunc(t, 'YEAR')
trunc(d, 'week')
d + 1
d - 1
extract(year from t)
extract(minute from t)
extract(quarter from d)
extract(month from t)
current_date() > d - 3000
-- moments
date_trunc('MINUTE', t)
date_trunc('hour', t)
date_trunc('DAY', t)
date_trunc('week', t)
date_trunc('MONTH', d)
date_trunc('QUARTER', t)
date_trunc('YEAR', t)
date_trunc('second', t)
unix_millis(t)
unix_seconds(t)
unix_micros(t)
unix_timestamp(t)
to_unix_timestamp(t)
timestamp_millis(b)
timestamp_seconds(i)
from_unixtime(b)
date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS')
date_format(d, 'dd/MM/yyyy')
to_timestamp(d)
to_timestamp(i)
to_timestamp(b)
to_timestamp(q)
to_timestamp(z)
to_timestamp(b / 1000)
to_timestamp(unix_millis(t) / 1000)
to_timestamp(-7)
now() > t
current_timestamp() > t
timestampdiff(SECOND, t, timestamp'2026-11-21 05:39:00')
timestampdiff(HOUR, timestamp'2026-11-21 05:39:00', t)
timestampdiff(DAY, d, t)
datediff(DAY, t, timestamp'2026-01-01')
timestampdiff(MILLISECOND, t, d)
t + interval 5 minutes
t - interval 1 day
t + interval 1 month
d + interval 3 hours
t - interval 1 year
interval 1 hour + t
t - timestamp'2024-02-29' < interval 36 hours
timestampdiff(WEEK, t, now()) > -3
t - t
-- arrays
size(a)
cardinality(a)
array_size(a)
get(a, 0) WHERE i = 3 and b = 7
element_at(array('p', s), 1) WHERE i = 3 and b = 7
get(a, 5)
array_contains(a, 'x')
array_contains(a, 'q')
array_join(a, '-')
array_sort(a)
sort_array(a)
array_distinct(a)
array_min(a)
array_max(a)
array(i, b)
transform(a, x -> upper(x))
filter(a, x -> x > 'a')
size(filter(a, x -> x is null))
flatten(array(a, array('k')))
array('a', s)
a
-- structs
-- literals
-1
'x'
true
null
3000000000
timestamp'2026-01-01 10:00:00'
"dq"
'ü'
'a"b'
rlike(s, 'a')
lpad(s, 4, '0')
rpad(s, 10, 'xy')
pmod(i, -3)
get(a, -1)
get(a, i)
substring(s, length(s) div 2 + 1)
locate('a', s, 3)
unix_timestamp(timestamp'1969-12-31 23:59:59.5')
