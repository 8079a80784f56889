"""The answers for resources that no group answers for: of another type than GROUP, or named twice in one request.

Knows the messages about configs; knows no group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    GROUP_RESOURCE,
    AlterConfigsResult,
    ConfigsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResult,
    Response,
)

NOT_A_GROUP = "Only groups have configs here; ask for them alone"
TWICE = "Each resource must appear at most once."


def of_groups(request: ConfigsRequest) -> tuple[ConfigsRequest, Callable[[Response], Response]]:
    """The request for its groups alone, and a function that adds the answers for its other resources.

    Errors: INVALID_REQUEST, for a resource of another type and, where configs are altered, for one named twice.
    """
    is_describing = isinstance(request, DescribeConfigsRequest)
    field, answer = ("results", DescribeConfigsResult) if is_describing else ("responses", AlterConfigsResult)
    named = Counter((one.resource_type, one.resource_name) for one in request.resources)

    def why_not(one: Any) -> str:
        if not is_describing and named[one.resource_type, one.resource_name] > 1:
            return TWICE
        return NOT_A_GROUP if one.resource_type != GROUP_RESOURCE else ""

    for_groups = [one for one in request.resources if not why_not(one)]
    refused = [
        answer(
            resource_type=one.resource_type,
            resource_name=one.resource_name,
            error_code=Error.INVALID_REQUEST,
            error_message=why_not(one),
        )
        for one in request.resources
        if why_not(one)
    ]

    def beside(response: Response) -> Response:
        return msgspec.structs.replace(response, **{field: [*getattr(response, field), *refused]})

    return msgspec.structs.replace(request, resources=for_groups), beside
