"""The page: a home's groups, their history and its troubles, in a browser. Reads a home, and never writes to it.

    history.py    what the pages are made from: the effects in a database of the process's own, kept current
    lists.py      the rows of the overview and of the list of troubles
    details.py    one group, one rebalance, who owned a partition
    drawings.py   scenes and the strip as SVG
    queries.py    the SQL box
    shown.py      texts for people: times, durations, links
    live.py       notifies browsers of changes
    guard.py      who may use the page, and what a browser may load
    app.py        which address is answered by what
    serving.py    the server: settings, TLS, start and end
    templates/    one file a page; static/: style, scripts

Knows views, explanations and scenes; knows no Spark and no rule of the protocol.
"""
