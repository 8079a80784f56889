"""What if: a recorded world played again, with the settings it had and with others.

    recording.py           a request log -> the schedules of its groups' processes, and the recorded outcome
    observed_processes.py  ordered requests -> what each process was seen to do
    inferred_schedules.py  what was seen -> when it started, stalled, polled late, ended
    schedules.py           the shapes: what each process did on its own, not because of the coordinator, and its terms:
                           protocol, topics, assignors and timeouts, by its requests
    changes.py             --set -> what is changed, one value or a sweep
    play.py                schedules under a setting -> the pure clients and the pure coordinator in virtual time
    outcome.py             the figures of a run, recorded or played, by the same rules from its effects
    fidelity.py            how well the baseline equals the recording
    answer.py              a whole answer, and its rows

Clients react to answers, so a changed setting cannot be replayed, only simulated. A simulation is only as good as its
baseline: the same simulation with the recorded settings, compared with the recording.

Knows requests, clients and the pure core; knows no Spark, no clock and no randomness.
"""
