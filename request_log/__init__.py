"""A Kafka broker's request log as input: its lines, in the order the broker worked through them, as request rows.

    files.py     the files of a log, rotated or compressed or of several brokers, as one sequence of lines
    clock.py     the log's local timestamps as epoch milliseconds
    wire.py      the JSON of a line as the messages of `schemas`, by API and version
    lines.py     one line: used, skipped or unreadable
    rows.py      the shapes that come out: request rows with the answers that were recorded for them
    survey.py    what only a first look over the whole log can tell; settings.py: the broker's, as far as it shows them
    ahead.py     what is read of a group and not taken yet
    follow.py    one group followed through its requests, so that near ties fall as the recorded answers say
    model.py     the pure core's group that the recording is held against; trial.py: what would come of a request
    quiet.py     requests that need no trial; passing.py: deadlines and owed answers
    observe.py   what no line says and the answers prove, as requests of its own; observe_join.py, observe_end.py: of
                 JoinGroups, and of rebalances' beginnings and ends; scene.py: what such a conclusion has to go by
    infer.py     causes that a client library did not give; names.py: topics that a client did not name
    reading.py   lines as requests, each line counted
    importer.py  all of it together: paths in, request rows out
    live.py      the same for a log that is still being written; evidence.py: what shows that a group is at rest, and
                 nobody waits in it; snapshot.py: all of it as bytes, and back; tail.py: a file that grows, rotates
    parity.py    recorded answers beside ours
    replay.py    the pure core driven by request rows

Knows lines, messages and the pure core; knows no Spark and no table.
"""
