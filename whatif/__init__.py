"""What if: a recorded world played again, with the settings it had and with others.

    recording.py           a request log -> the lives of its groups' processes, and what was recorded to come of them
    observed_processes.py  ordered requests -> what each process was seen to do
    inferred_lives.py      what was seen -> how it lived
    terms.py               on which terms each was a member, as its requests of either protocol say
    lives.py               the shapes: how each process lived, apart from what the coordinator did to it
    changes.py             SET= -> what is changed, one value or a sweep
    play.py                lives under a setting -> the pure clients and the pure coordinator in virtual time
    outcome.py             what came of a run, recorded or played: the same figures from the same effects
    fidelity.py            how well the played lives, nothing changed, equal the recorded ones
    answer.py              a whole answer, and its rows

Clients react to answers, so a changed setting cannot be replayed, only simulated. A simulation is only as good as its
baseline: the same simulation with the recorded settings, compared with the recording.

Knows requests, clients and the pure core; knows no Spark, no clock and no randomness.
"""
