-- What people on call type. Where a query asks for an order, it leaves no tie.
select count(*) from groups
select * from groups order by group_id limit 10
select state, count(*) as n from groups group by state order by n desc, state
select group_id, member_count from groups where state = 'Stable' order by member_count desc, group_id limit 5
select group_id from groups where state <> 'Stable' and updated_at > '2026-11-21' order by 1
select group_id, state, state_since, timestampdiff(SECOND, state_since, updated_at) as s from groups order by s desc, group_id limit 20
select count(*) as n, max(updated_at) as latest, min(created_at) as first from groups
select protocol_name, count(*) groups, sum(member_count) members from groups group by protocol_name order by 1
select group_id, client_id, client_host from members where group_id like 'd-kill/%' order by group_id, client_id, member_id
select client_host, count(*) n from members group by client_host having count(*) > 1 order by n desc, client_host
select group_id, client_id, size(assigned_partitions) n from members order by n desc, group_id, client_id, member_id limit 12
select client_id, assigned_partitions from members where group_id = 'd-kill/views-agg' order by client_id
select group_id, client_id, p from members lateral view explode(assigned_partitions) t as p where p like 'clicks-%' order by 1, 2, 3
select group_id, explode(assigned_partitions) as partition from members where group_id = 'a-scale/orders-svc' order by all
select group_id, client_id from members where array_contains(assigned_partitions, 'views-1') order by group_id, client_id
select group_id, client_id from members where size(assigned_partitions) = 0 order by 1, 2
select group_id, max(session_timeout_ms) / 1000 as session_s from members group by group_id order by group_id
select m.group_id, m.client_id, g.state from members m join groups g on m.group_id = g.group_id where g.state != 'Stable' order by 1, 2, m.member_id
select m.client_id, g.leader_id = m.member_id as is_leader from members m join groups g using (group_id) where group_id = 'd-kill/clicks-agg' order by client_id
select group_id, started_at, cause from rebalances order by started_at desc, group_id, cause, from_generation_id limit 10
select cause, count(*) as n from rebalances group by cause order by n desc, cause
select cause, count(*) as n, round(avg(duration_ms), 1) as mean_ms, max(duration_ms) as worst_ms from rebalances group by cause order by n desc, cause
select group_id, count(*) as rebalances, sum(duration_ms) / 1000 as seconds from rebalances group by group_id order by rebalances desc, group_id limit 10
select cause_client_id, count(*) n from rebalances where cause in ('session_expired', 'poll_timeout') group by cause_client_id order by n desc, cause_client_id
select * from rebalances where group_id = 'd-kill/views-agg' order by started_at, from_generation_id
select group_id, from_generation_id, to_generation_id, outcome from rebalances where outcome <> 'completed' order by 1, 2, 3, 4
select outcome, count(*) from rebalances group by outcome order by outcome
select date_trunc('MINUTE', started_at) as minute, count(*) n from rebalances where group_id like 'j-busy-1/%' group by 1 order by 1
select date_trunc('hour', started_at) h, cause, count(*) n from rebalances group by h, cause order by h, n desc, cause
select hour(started_at) h, minute(started_at) m, count(*) from rebalances where at_date = '2026-11-21' group by 1, 2 order by 1, 2
select at_date, count(*) from rebalances group by at_date order by at_date
select group_id, started_at, duration_ms from rebalances where duration_ms > 5000 and at_date >= '2026-11-01' order by duration_ms desc, group_id, started_at limit 20
select group_id, started_at, ended_at - started_at as took from rebalances where group_id like 'd-kill/%' order by started_at, group_id
select count(*) from rebalances where ended_at - started_at > interval 3 seconds
select group_id, started_at from rebalances where started_at between '2026-11-21 05:38:00' and '2026-11-21 05:39:00' order by started_at, group_id
select group_id, started_at, cause from rebalances where started_at >= timestamp'2026-11-21 05:39:00' - interval 2 minutes and started_at < timestamp'2026-11-21 05:39:00' order by started_at, group_id
select group_id, started_at, cause from rebalances where started_at >= '2026-11-21T05:38:00Z' and started_at < '2026-11-21T05:40:00+00:00' order by started_at, group_id
select slowest_client_id, count(*) n, max(slowest_wait_ms) worst from rebalances where slowest_wait_ms > 100 group by 1 order by n desc, 1 limit 10
select group_id, percentile(duration_ms, 0.5) p50, percentile(duration_ms, 0.99) p99 from rebalances group by group_id order by group_id
select median(duration_ms) from rebalances where outcome = 'completed'
select group_id, started_at, expired from rebalances where size(expired) > 0 order by started_at, group_id
select group_id, started_at, concat_ws(', ', joined) who from rebalances where size(joined) > 1 order by started_at, group_id, from_generation_id
select e as client, count(*) n from rebalances lateral view explode(expired) t as e group by e order by n desc, client
select count(*) from rebalances where is_inferred
select count_if(is_inferred) inferred, count(*) total from rebalances
select group_id, count_if(cause = 'session_expired') as died, count_if(cause = 'poll_timeout') as slow from rebalances group by group_id having died > 0 or slow > 0 order by 1
select group_id, sum(case when cause = 'member_joined' then 1 else 0 end) joins, sum(if(cause = 'member_left', 1, 0)) leaves from rebalances group by 1 order by 1
select cause, count(distinct group_id) groups, count(distinct cause_client_id) clients from rebalances group by cause order by cause
select distinct cause from rebalances order by cause
select distinct group_id, cause from rebalances where cause like '%expired%' order by 1, 2
select group_id, max(started_at) as last from rebalances group by group_id order by last desc, group_id limit 5
select group_id, from_generation_id, coalesce(cause_client_id, cause_group_instance_id, '?') who from rebalances where cause = 'member_rejoined' order by 1, 2, 3
select coalesce(client_reason, 'none given') reason, count(*) n from rebalances group by 1 order by n desc, 1
select group_id, members_before, members_after, members_after - members_before as delta from rebalances where members_after < members_before order by group_id, from_generation_id, started_at, delta limit 20
select group_id, started_at, lag(started_at) over (partition by group_id order by started_at, from_generation_id, ended_at, cause) as previous from rebalances where group_id like 'd-kill/%' order by group_id, started_at
select group_id, started_at, started_at - lag(started_at) over (partition by group_id order by started_at) as since from rebalances where group_id like 'd-kill/%' order by group_id, started_at
select * from (select group_id, cause, started_at, row_number() over (partition by group_id order by started_at desc, from_generation_id desc, cause) as rn from rebalances) where rn = 1 order by group_id
with last as (select group_id, max(started_at) at from rebalances group by group_id) select r.group_id, r.cause, r.started_at from rebalances r join last l on r.group_id = l.group_id and r.started_at = l.at where r.group_id like 'd-kill/%' order by 1, 2
with bad as (select group_id, count(*) n from rebalances where cause = 'session_expired' group by group_id) select g.group_id, g.state, coalesce(b.n, 0) as expiries from groups g left join bad b using (group_id) order by expiries desc, group_id limit 15
select group_id, count(*) n, sum(count(*)) over () as total from rebalances group by group_id order by n desc, group_id limit 5
select group_id, cause, rank() over (order by n desc) as place from (select group_id, cause, count(*) as n from rebalances group by group_id, cause) order by place, group_id, cause limit 20
select client_id, held_others_ms from join_waits where held_others_ms is not null order by held_others_ms desc, client_id, started_at, member_id limit 10
select group_id, client_id, sum(held_others_ms) total from join_waits group by group_id, client_id having sum(held_others_ms) > 1000 order by total desc, 1, 2
select group_id, to_generation_id, count(*) members, max(joined_at) - min(joined_at) as spread from join_waits where group_id like 'b-rolling%' group by 1, 2 order by 1, 2
select client_id, unix_millis(synced_at) - unix_millis(joined_at) as ms from join_waits where synced_at is not null and group_id = 'd-kill/views-agg' order by ms desc, client_id, started_at
select count(*) from join_waits where joined_at is null
select topic, partition, client_id, from_at, to_at from assignments where group_id = 'd-kill/clicks-agg' order by topic, partition, from_at
select client_id, from_at, to_at from assignments where group_id = 'd-kill/views-agg' and topic = 'views' and partition = 1 and from_at <= '2026-11-21 05:39:00' and (to_at > '2026-11-21 05:39:00' or to_at is null)
select client_id, count(*) as partitions from assignments where to_at is null group by client_id order by partitions desc, client_id limit 10
select topic, partition, count(distinct member_id) owners from assignments group by topic, partition order by owners desc, topic, partition limit 10
select topic, count(*) moves, avg(unix_seconds(to_at) - unix_seconds(from_at)) held_s from assignments where to_at is not null group by topic order by topic
select a.topic, a.partition, a.client_id from assignments a where a.to_at is null and a.group_id = 'a-scale/orders-svc' order by 1, 2
select group_id, count(*) from assignments where to_at is null group by group_id order by 2 desc, 1
select end_cause, count(*) n from sessions group by end_cause order by n desc, end_cause
select client_id, joined_at, ended_at, end_cause from sessions where end_cause = 'session_expired' order by ended_at, client_id, member_id
select client_id, count(*) restarts from sessions where group_id like 'b-rolling%' group by client_id having count(*) >= 2 order by restarts desc, client_id
select client_id, client_host, (unix_millis(coalesce(ended_at, timestamp'2026-11-21 06:00:00')) - unix_millis(joined_at)) div 1000 as lived_s from sessions where group_id like 'd-kill/%' order by lived_s, client_id, client_host
select substring_index(group_id, '/', 1) capture, count(*) sessions, count(ended_at) ended from sessions group by 1 order by 1
select split(client_host, '/')[1] as host, count(*) n from sessions where client_host like '/%' group by 1 order by n desc, host limit 10
select replace(client_host, '/', '') host, min(joined_at) first_seen from sessions where group_id like 'g-coop%' group by 1 order by 1
select group_instance_id, client_id, joined_at from sessions where group_instance_id is not null order by group_instance_id, joined_at, member_id, client_id limit 20
select t as topic, count(distinct client_id) consumers from sessions lateral view explode(topics) x as t where ended_at is null group by t order by t
select upper(end_cause) c, length(client_id) l from sessions where end_cause is not null order by c, l, member_id, group_id limit 10
select min(slack_ms), max(slack_ms), avg(slack_ms) from heartbeat_slack where slack_ms is not null
select client_id, slack_ms from heartbeat_slack where slack_ms < 1000 order by slack_ms, client_id, member_id, group_id limit 20
select group_id, topic, sum(committed_offset) from offsets group by group_id, topic order by 1, 2
select group_id, topic, partition, committed_offset, committed_at from offsets order by committed_at desc, group_id, topic, partition limit 10
select count(*) from offsets where committed_at < '2026-11-21 05:40:00'
select api, error_code, count(*) n from replies where error_code <> 'NONE' group by api, error_code order by n desc, api, error_code
select api, count(*) n, max(parked_ms) worst_ms, percentile(parked_ms, 0.99) p99 from replies group by api order by api
select api, avg(parked_ms) from replies group by api order by api
select client_id, count(*) n from replies where error_code = 'UNKNOWN_MEMBER_ID' group by client_id order by n desc, client_id limit 5
select date_format(replied_at, 'HH:mm:ss.SSS') t, api, client_id, error_code from replies where group_id = 'd-kill/views-agg' and error_code != 'NONE' order by replied_at, request_id
select request_id, get_json_object(response, '$.member_id') m from replies where api = 'JoinGroup' and group_id = 'd-kill/views-agg' order by request_id limit 5
select date_trunc('minute', replied_at) m, count(*) n from replies where api = 'Heartbeat' and group_id like 'd-kill/%' group by 1 order by 1
select api, api_version, count(*) from replies group by api, api_version order by 1, 2
select * from storms order by from_at, group_id
select group_id, rebalances, cause, cause_client_id from storms where rebalances > 8 order by rebalances desc, group_id, from_at
select * from flapping_members order by from_at, group_id, client_id
select client_id, memberships, period_ms / 1000 period_s, matching_setting from flapping_members where matching is not null order by memberships desc, client_id, from_at, group_id
select * from leader_only_loops order by from_at, group_id
select client_id, count(*) n, min(slack_ms) nearest from near_misses group by client_id order by n desc, client_id limit 10
select group_id, client_id, from_at, gap_ms from near_misses order by slack_ms, from_at, member_id, group_id limit 10
select group_id, from_at, to_at, restarts, clients, partitions_moved from deploys order by from_at, group_id
select * from double_owners order by given_at, group_id, topic, partition, old_member_id, new_member_id
select group_id, sum(overlap_ms) from double_owners group by group_id order by 1
select group_id, count(*) n, sum(duration_ms) total_ms from standstills group by group_id order by total_ms desc, group_id limit 10
select group_id, from_at, duration_ms from standstills where duration_ms > 3000 order by duration_ms desc, group_id, from_at limit 10
select effect, count(*) n from effects group by effect order by n desc, effect
select at, effect, cause from effects where group_id = 'd-kill/views-agg' and effect in ('member_removed', 'rebalance_started') order by at_ms, seq
select get_json_object(detail, '$.cause.client_id') client, count(*) n from effects where effect = 'rebalance_started' group by 1 order by n desc, client
select max(at) from effects
select count(*), min(at), max(at) from effects where at_date = date'2026-11-21'
select group_id, count(*) n from effects where at > now() - interval 36500 days group by group_id order by n desc, group_id limit 5
select count(*) from effects where at >= current_date() - interval 36500 days
select * from quarantine
select count(*) from requests
select group_id from groups where group_id not in (select group_id from members) order by 1
select group_id from groups g where not exists (select 1 from members m where m.group_id = g.group_id) order by 1
select group_id from groups minus select group_id from members order by 1
select g.group_id from groups g left anti join members m on g.group_id = m.group_id order by 1
select group_id, 'rebalance' as what, started_at as at from rebalances where group_id = 'd-kill/views-agg' union all select group_id, 'standstill', from_at from standstills where group_id = 'd-kill/views-agg' order by at, what
select r.group_id, r.started_at, s.client_id, s.end_cause from rebalances r join sessions s on s.group_id = r.group_id and s.ended_at = r.started_at where r.cause = 'session_expired' order by 1, 2, 3, s.member_id
select r.group_id, r.cause, count(a.partition) moved from rebalances r left join assignments a on a.group_id = r.group_id and a.from_at between r.started_at and r.ended_at where r.group_id like 'd-kill/%' group by r.group_id, r.cause order by 1, 2
select case when duration_ms < 1000 then 'fast' when duration_ms < 5000 then 'slow' else 'very slow' end as speed, count(*) n from rebalances group by 1 order by n desc, speed
select regexp_extract(client_id, '([a-z]+)-([0-9]+)', 2) as n, count(*) from sessions where group_id like 'd-kill/%' group by 1 order by 1
select client_id from sessions where client_id rlike 'agg-[0-9]$' group by client_id order by client_id
select group_id, max_by(cause, started_at) from rebalances where group_id like 'd-kill/%' group by group_id order by group_id
select group_id, array_sort(collect_set(cause)) causes from rebalances group by group_id order by group_id
select group_id, array_join(sort_array(collect_list(client_id)), ', ') who from members group by group_id order by group_id
select round(sum(duration_ms) / 60000, 2) as minutes from rebalances
select count(*) filter (where cause = 'member_left') as left, count(*) as total from rebalances
select group_id, weekday(started_at) d, dayofweek(at_date) w, date_format(started_at, 'yyyy-MM-dd HH:mm') t from rebalances where group_id like 'd-kill/%' order by started_at, group_id
select nvl(cause_client_host, 'unknown') host, count(*) as n from rebalances group by 1 order by n desc, host limit 5
select avg(duration_ms) / 1000 as s from rebalances where cause = 'member_left'
select sum(duration_ms) / count(*) from rebalances
select bool_or(is_inferred), max(is_inferred) from rebalances
select group_id, min(from_at), max(coalesce(to_at, now())) > timestamp'2026-11-21' as is_late from assignments group by group_id order by group_id
select `group_id` as `the group` from groups order by `the group` limit 3
SELECT GROUP_ID, COUNT(*) FROM Rebalances GROUP BY GROUP_ID ORDER BY COUNT(*) DESC, GROUP_ID LIMIT 5
select r.* from rebalances r where r.group_id = 'd-kill/audit-trail' order by started_at
select * except (response) from replies where group_id = 'd-kill/audit-trail' order by replied_at, request_id limit 3
select count(*) from effects where generation_id = '2' and client_id is not null
select date(started_at) d, count(*) from rebalances group by date(started_at) order by d
select to_date(started_at) d, cause, count(*) n from rebalances group by all order by all
