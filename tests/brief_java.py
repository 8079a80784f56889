"""How the JVMs of tests are started, which live for seconds: to compile their code well takes longer than that saves.

Knows the JVM's options; must not know what runs in it.
"""

from __future__ import annotations

BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
BRIEF_SPARK = " ".join((*BRIEF, "-XX:ReservedCodeCacheSize=240m"))
"""With that level alone a JVM has 48 MB for what it compiles; one that runs all notebooks ends when these are full."""
EXECUTORS = ("--conf", f"spark.executor.extraJavaOptions={BRIEF_SPARK}")
"""Words of spark-submit: a driver's JVM takes SPARK_SUBMIT_OPTS, an executor's does not."""
