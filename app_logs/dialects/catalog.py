"""All dialects, in the order in which a line is asked."""

from __future__ import annotations

from app_logs.dialects import broker, java_consumer
from app_logs.dialects.dialect import Dialect

DIALECTS: tuple[Dialect, ...] = (java_consumer.DIALECT, broker.DIALECT)
