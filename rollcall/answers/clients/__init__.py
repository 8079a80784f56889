"""The member's side of the protocol, pure: no clock, no randomness, no Spark, only the standard library and schemas.

`member` is the entrance and says who calls it. Behind it: `membership` (what is remembered), `joining` and `assigning`
(a rebalance, up to the callbacks), `assignors` (the leader's part), `heartbeats` (what continues without the
application), `committing`, `leaving`, `lookup` (the coordinator), `requests` (what each version carries),
`reactions` (the tables of errors, and the reasons' words), `events` (what comes out), `config`.
"""
