-- Expressions over the columns i, b, s, t, d, f, a, q and z, a line each. What follows WHERE chooses the rows.
-- = <> < <= > >= <=>
i = 3
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
t > d
i < 2.5
i = 3.0
t = '2024-02-29T00:00:00Z'
t > '2026-02-28 23:59:59'
t < '2026-02-28 23:59'
t > timestamp'2024-02-29 00:00:00.5+05:30'
s = 'alpha-1'
i == 3
-- and or not
f and i > 0
f or i > 0
not f
i > 0 and null
!f
-- is
i is null
i is not null
f is true
f is not true
f is false
-- between in
i between 0 and 5
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
s regexp '-\\d$'
-- + - * / % div
i + 1
i - b
i * 3
i / 2
b / 3
i % 2
-7 % i WHERE i = 3 and b = 7
b div 2
i div -2
i + b * 2
-i
- b
i / 2.0
b / 1000.0
b / 3.0
100.0 * b / 7
q + i
q * q
q - 1
q / 0.5
z * 2
z + q
z / 3
i + q
mod(i, 2)
b * 0.5
7 / 2
7 div 2
-7 div 2
10 / 4.0
1 + 1.5
q / 3
q > 0.5 * i
-- case if
case when i > 0 then 'p' when i < 0 then 'n' else 'z' end
case i when 3 then 'three' end
if(f, i, b)
case when f then 1 else 2.5 end
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
round(z)
round(z, 2)
round(z, 1)
round(q, 1)
round(i, 2)
round(b / 3, 3)
round(b / 1000.0, 2)
floor(b / 7)
round(q)
abs(z)
round(2.5)
round(-0.05, 1)
round(1234567.891, 2)
round(100.0 * i / 7, 1)
-- strings
upper(s)
lower(s)
ucase(s)
lcase(s)
length(s)
len(s)
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
split(s, '\\.')
substring_index(s, '-', 1)
substring_index(s, '-', -1)
substring_index(s, 'a', 2)
substring_index(s, 'a', -2)
regexp_extract(s, '([a-z]+)-([0-9]+)', 1)
regexp_extract(s, '([a-z]+)')
regexp_replace(s, '[0-9]+', '#')
right(s, 100)
left(s, 0)
length(i)
upper(i)
-- json
get_json_object('{"a": {"b": [1, 2.50, "x\\"y", null, true]}, "c": "d"}', '$.a.b')
get_json_object('{"a":{"b":"v"}}', '$.a')
get_json_object('{"a":{"b":"v"}}', '$.a.b')
get_json_object('{"a":null}', '$.a')
get_json_object('{"a":[1,2]}', '$.a[1]')
get_json_object('{"a":1e3}', '$.b')
-- casts
cast(i as string)
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
cast('2026-01-01' as date)
cast(q as double)
cast(f as int)
cast(t as string)
cast(i as decimal(12,2))
i::string
right(s, 1) is null WHERE s = 'alpha-1'
cast(q as decimal(10,1))
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
extract(hour from t)
extract(day from d)
extract(week from d)
extract(dow from d)
extract(minute from t)
extract(quarter from d)
extract(month from t)
extract(doy from d)
current_date() > d
curdate() is null
current_date > d
dateadd(d, 5)
-- moments
date_trunc('MINUTE', t)
date_trunc('hour', t)
date_trunc('DAY', t)
date_trunc('week', t)
date_trunc('MONTH', d)
date_trunc('QUARTER', t)
date_trunc('YEAR', t)
date_trunc('second', t)
date_trunc('millisecond', t)
unix_millis(t)
unix_seconds(t)
unix_micros(t)
unix_timestamp(t)
to_unix_timestamp(t)
timestamp_millis(b)
timestamp_seconds(i)
timestamp_micros(b)
from_unixtime(b)
date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS')
date_format(t, 'EEE dd.MM.yyyy')
date_format(d, 'dd/MM/yyyy')
date_format(t, 'hh:mm a')
date_format(t, "yyyy-MM-dd'T'HH:mm")
date_format(t, 'MMM dd')
to_timestamp('2026-01-01 10:00:00')
to_timestamp(d)
timestamp(d)
now() > t
current_timestamp() > t
current_timestamp > t
timestampdiff(SECOND, t, timestamp'2026-11-21 05:39:00')
timestampdiff(HOUR, timestamp'2026-11-21 05:39:00', t)
timestampdiff(DAY, d, t)
datediff(DAY, t, timestamp'2026-01-01')
timestampdiff(MILLISECOND, t, d)
timestampadd(MINUTE, 5, t)
dateadd(HOUR, -3, t)
timestampadd(DAY, i, t)
t + interval 5 minutes
t - interval 1 day
t - interval '2' hours
t + interval 1 month
d + interval 1 day
d - interval 1 week
d + interval 2 months
d + interval 3 hours
t - interval 1 year
interval 1 hour + t
t - timestamp'2026-01-01'
t - timestamp'2024-02-29' < interval 36 hours
t - interval -1 day
timestampdiff(WEEK, t, now()) > 3
t - t
-- arrays
size(a)
cardinality(a)
array_size(a)
get(a, 0) WHERE i = 3 and b = 7
element_at(array('p', s), 1) WHERE i = 3 and b = 7
get(a, 5)
get(a, -1)
array_contains(a, 'x')
array_contains(a, 'q')
array_join(a, '-')
array_sort(a)
sort_array(a)
sort_array(a, false)
array_distinct(a)
array_min(a)
array_max(a)
array(i, b)
transform(a, x -> upper(x))
filter(a, x -> x > 'a')
exists(a, x -> x = 'x')
forall(a, x -> x is not null)
size(filter(a, x -> x is null))
sequence(1, 3)
flatten(array(a, array('k')))
transform(sequence(1, 3), n -> n * i)
array('a', s)
a
exists(a, x -> x = 'q')
-- structs
named_struct('k', i, 'v', s)
struct(i, s)
struct(i as k, t as v)
named_struct('k', i).k
array(named_struct('k', i, 't', t))
-- literals
1
-1
1.50
'x'
true
null
3000000000
timestamp'2026-01-01 10:00:00'
date'2026-01-01'
'it\'s'
"dq"
0.001
.5
-0.5
'ü'
'a"b'
rlike(s, 'a')
regexp(s, '^B')
locate('a', s)
lpad(s, 4, '0')
rpad(s, 10, 'xy')
lpad(i, 4, '0')
try_divide(i, 0)
try_divide(b, i)
try_divide(z, 3)
