"""What if: a recorded world played again, with the settings it had and with others.

    past.py      the shapes: how each process of a group lived, apart from what the coordinator did to it
    observe.py   request rows -> what each process was seen to do
    infer.py     what was seen -> how it lived
    settings.py  SET= -> what is changed, one value or a sweep
    play.py      a past under a setting -> the pure clients and the pure coordinator in virtual time
    outcome.py   what came of a run, recorded or played: the same figures from the same effects
    fidelity.py  how well the played past, nothing changed, equals the recorded one
    record.py    a request log -> the pasts of its groups, and what was recorded to come of them

Clients react to answers, so a changed setting cannot be replayed, only simulated; and what is simulated is only as good
as its baseline: the same simulation with the recorded settings, held against the recording.

Knows rows, clients and the pure core; knows no Spark, no clock and no randomness.
"""
