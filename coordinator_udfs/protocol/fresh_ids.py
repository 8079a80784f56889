"""New ids that are the same each time a request is handled: derived from the request itself.

Pure arithmetic; knows nothing of groups.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Container
from itertools import count

from rollcall.schemas.messages import Request


def fresh_id(group_id: str, request: Request, attempt: int = 0) -> bytes:
    """16 bytes that are unique to a request. attempt: a higher one gives another id, if the first is in use."""
    parts = (group_id, request.client_id, request.request_id, str(request.received_at_ms))
    seed = "\0".join((*parts, str(attempt)) if attempt else parts)
    return hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unused_uuid_text(group_id: str, request: Request, used: Container[str]) -> str:
    """The first of a request's UUIDs, in the base64 that Kafka writes them in, that is not in use and, as Kafka's, does
    not begin with a dash.
    """
    ids = (fresh_id(group_id, request, attempt) for attempt in count())
    texts = (base64.urlsafe_b64encode(each).decode().rstrip("=") for each in ids)
    return next(text for text in texts if text not in used and not text.startswith("-"))
