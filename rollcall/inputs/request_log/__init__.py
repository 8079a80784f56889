"""A Kafka broker's request log as input: its lines, in the order the broker worked through them, as requests.

    lines/       from file to request: files.py (rotated, compressed, of several brokers), tail.py (a file that grows),
                 clock.py (local timestamps), wire.py (JSON as messages), line.py (one line: used, skipped or
                 unreadable), reading.py (each line counted, when its requests were worked on, sections),
                 silences.py (when a broker was away), connections.py (when it began anew)
    following/   one group as the log shows it: follower.py uses three objects: order.py (what is to be taken),
                 group_model.py (the core's group, tried on copies), clock.py (deadlines and absences, with
                 passed_deadlines.py and group_sessions.py); placing.py (a request that needs trials), trial.py,
                 without_trial.py, topic_names.py, rest_proofs.py (what shows that no request is parked)
    explaining/  what no line shows and the answers prove: explanations.py, joins.py, rebalances.py, context.py (what a
                 inference has to go by), inferred_causes.py
    recorded.py  the shapes that come out: requests with the answers that were recorded for them
    survey.py    what only a first pass over the whole log shows; broker_settings.py: the broker's, as far as shown
    group_following.py  one group of a finished log; live.py: all groups of one that is still written, snapshot.py: its
                 state as bytes, and back
    parity.py    recorded answers beside ours

Knows lines, messages and the pure core; knows no Spark and no table.
"""
