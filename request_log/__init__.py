"""A Kafka broker's request log as input: its lines, in the order the broker worked through them, as request rows.

    files.py     the files of a log, rotated or compressed or of several brokers, as one sequence of lines
    clock.py     the log's local timestamps as epoch milliseconds
    wire.py      the JSON of a line as the messages of `schemas`, by API and version
    lines.py     one line: used, skipped or unreadable
    rows.py      the shapes that come out: request rows with the answers that were recorded for them
    survey.py    what only a first look over the whole log can tell
    arrival.py   lines as they were answered -> requests as they arrived
    evidence.py  what the log shows later of a group: who else, which generation, whose assignment
    follow.py    one group followed through its requests, so that near ties fall as the recorded answers say
    observe.py   what no line says and the answers prove, as requests of its own
    infer.py     causes that a client library did not give, from what its process did next
    importer.py  all of it together: paths in, request rows out
    parity.py    recorded answers beside ours
    replay.py    the pure core driven by request rows

Knows lines, messages and the pure core; knows no Spark and no table.
"""
