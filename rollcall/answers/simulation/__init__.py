"""Many consumers and their coordinator in virtual time: what would a group do with these settings and schedules?

The members are `rollcall.answers.clients.member`, the coordinator is `rollcall.coordinator_udfs.protocol`; only their
surroundings are simulated: a network with latency and losses, processes that start, stop, stall and die, applications
that poll late. Chance is derived from a seed and from what it decides, so the same plan always gives the same run, and
a changed setting changes only what it touches.

Pure like the two it joins: no clock, no randomness, no Spark, only the standard library, schemas and those layers.
"""
