"""How near in time is near enough, where printed lines, requests and records of one thing are laid side by side.

Each is a judgement, with its reason. Kafka's defaults and what programs wait for stand where they are used. Those for
request logs were halved and doubled: they name the golden cases whose facts change. On the others no recording that is
kept depends. Knows numbers. Must not know lines or records.
"""

from __future__ import annotations

# ---------------------------------------------------------------- two inputs, two clocks

SAME_FACT_WITHIN_MS = 5_000
"""Two inputs have one fact within this time: a busy broker writes a record and prints a line some time after the
request, and a file may have whole seconds.
"""
IN_TRANSACTION_WITHIN_MS = 60_000
"""A request log has a commit of a transaction this much earlier than the topic, where it counts from the end of the
transaction: transaction.timeout.ms as shipped.
"""
CLOCKS_WITHIN_MS = 5_000
"""Two machines print lines about one thing within this time, where their clocks are not compared."""
CLOCK_AHEAD_MS = 1_000
"""Times of a clock that is this much ahead are moved. What is found by time allows for a smaller difference."""
PRINTED_LATE_MS = 100
"""A program prints a line this much after what it is about: so clocks are compared no more exactly."""

# ---------------------------------------------------------------- what one thing brings

NOT_WAITED_MS = 1
"""A join phase of this length waited for nobody: the coordinator ended it with the request that began it."""
TOGETHER_MS = 50
"""A coordinator prints what one request or timer brings within this time, as a removal and the end of a join phase."""
TIMER_LATE_MS = 50
"""A timer fires this much late at most, on a broker that is not overloaded."""
SESSION_WITHIN_MS = 100
"""Records of a heartbeat and of its session's end give the session timeout this exactly."""
TIMEOUT_WITHIN_MS = 1_000
"""Records of a revocation and of a member's removal give the rebalance timeout this exactly."""
GIVEN_TOGETHER_MS = 100
"""Member ids that are given out within this time may be one client's, which asks again at once."""
AT_ONCE_MS = 1_000
"""What one change brings is printed within this time: by all groups, by all clients, or later by the same client."""
EXPIRED_TOGETHER_MS = 5_000
"""Members that are cut off at once expire within the time between two heartbeats: 3 s as shipped."""
EXPIRED_AROUND_MS = 60_000
"""If others expire as well this long before and after, some members expire together by chance."""

# ---------------------------------------------------------------- who comes back

RETURNED_AT_ONCE_MS = 100
"""A client that left on its own and continues is back within this time. A process does not notice its session's end."""
BACK_AT_HEARTBEAT_MS = 3_500
"""Members come back at their next heartbeat, every 3 s as shipped. Nobody held a join phase that is shorter."""
REJOINED_WITHIN_MS = 5_000
"""The others learn of a classic rebalance and rejoin within this time. The topic has no record of its beginning."""
BACK_AFTER_LEAVE_MS = 5_000
"""A client that polled too late comes back within this time after its leave. One that does not has closed."""
DELAY_OVER_WITHIN_MS = 5_000
"""A Connect worker that asks to join within this time after the delay of its group waited for its end."""
STEPPED_WITHIN_MS = 5_500
"""A member takes its step towards a new epoch within this time, if nothing prevents it: 5 s between two heartbeats are
group.consumer.heartbeat.interval.ms as brokers are shipped.
"""
HELD_AT_LEAST_MS = 500
"""A join phase that is shorter waited for nobody worth naming."""
SHORT_GENERATION_MS = 60_000
"""A member that learns of the next rebalance within this time of its join was hardly in its generation."""

# ---------------------------------------------------------------- who lived, and who went

CLOSED_WITHIN_MS = 1_000
"""A client that closes commits and leaves within this time."""
ALIVE_WITHIN_MS = 10_000
"""A heartbeat this short before shows that the process was alive: three are sent meanwhile as shipped."""
LEFT_WITHIN_MS = 10_000
"""A client that is out and leaves later than this may have joined again, for which some clients have no line."""
REMOVED_WITHIN_MS = 600_000
"""A removal longer ago is laid beside a client's line by the member id only."""
LEVEL_SHOWN_WITHIN_MS = 60_000
"""A logger that shows a level within this time had it before, too."""

# ---------------------------------------------------------------- requests and their answers, in a request log

LINE_LATE_MS = 1_000
"""A line is written this late at most after its request was handled: answers are sent, commits are replicated."""
ANSWERED_AT_ONCE_MS = 50
"""A request whose answer took longer waited for others, or for a busy broker."""
PARKED_WITHIN_MS = 5.0
"""A JoinGroup or SyncGroup that is parked reaches its group within this time after a handler took it up."""
PARKED_MS = 20.0
"""A request that was parked for longer was answered together with others. Nearly all logs: it decides the order within
milliseconds.
"""
BETWEEN_LINES_MS = 0.23
"""Lines of one millisecond are taken to be this far apart; many lines are spread evenly. Nearly all logs: it decides
the order within milliseconds.
"""
OVERDUE_MS = 3.0
"""A parked request is surely no longer parked this long after its recorded answer. Halved: dying, libraries."""
ANSWERED_EARLIER_MS = 50
"""The answer of a parked request may be recorded this long before the coordinator's rules give it ..."""
ANSWERED_LATER_MS = 3_000
"""... and this long after."""
NEIGHBOUR_WITHIN_MS = 2.0
"""The broker may have worked first on a request that arrived this much later: the first attempt."""
FARTHER_NEIGHBOUR_WITHIN_MS = 30.0
"""The same, for a second attempt if the first explains no answer."""

# ---------------------------------------------------------------- deadlines that a request log has no line for

FIRED_EARLIER_MS = 25
"""A deadline that the rules put this much later than a request or an answer may have fired before it in the broker."""
DEADLINE_LATE_MS = 2_000
"""A deadline that the rules put this much earlier than a request may have fired after it in the broker. Halved:
storm-55. Doubled: dying, storm-3, storm-55, unanswered.
"""
TIMERS_TOGETHER_MS = 30
"""Timers fire late by up to this much: which of two such close ones fires first a log does not show. Doubled:
storm-13.
"""
SESSION_LATE_MS = 250
"""A broker may notice the end of a session this much later. Either way: k44-newer and most storms, by the bounds of
sessions.
"""
DELAY_LATE_MS = 80
"""A first member may be seen to wait this much longer than the initial delay. Halved: conversions."""
SHORT_OF_A_DELAY_MS = 200
"""An initial delay that ends this much earlier than its deadline has reached it. Only an expiry ends it earlier."""

# ---------------------------------------------------------------- a broker that was away

BROKER_SILENT_MS = 5_000
"""A broker without a line for this long may have been away: no session is shorter, and members beat more often."""
HOLE_MS = 600_000
"""In a longer time without a line single sessions are not examined."""
DOWN_AT_LEAST_MS = 500
"""No broker begins anew in a shorter time."""
RESTART_SHOWN_WITHIN_MS = 5_000
"""Connections show that a broker began anew, and groups that they are loaded, within this time."""
RETURN_WITHIN_MS = 10_000
"""Members send requests again within this time after their broker was away."""
BACK_SHOWN_WITHIN_MS = 7_500
"""A leave without a reason may be a poll timeout if its process is back within this time. Where a consumer group
changes, the answers to its members' next heartbeats show what has changed.
"""
TOPIC_SHOWN_WITHIN_MS = 15_000
"""Members get new partitions of a topic within this time: three heartbeats. Doubled: q-consumer-slow."""

# ---------------------------------------------------------------- the rule


def is_near(at_ms: int, from_ms: int, to_ms: int | None = None, within_ms: int = SAME_FACT_WITHIN_MS) -> bool:
    """Return True if two inputs with the same number mean one rebalance by it: one has it at a moment, the other then.

    from_ms, to_ms: of the other; None: it has a moment too. within_ms: by what their times differ at most.
    """
    return from_ms - within_ms <= at_ms <= (from_ms if to_ms is None else to_ms) + within_ms
