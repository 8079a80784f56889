"""The rows of APIS say what their shapes have: nobody else lists APIs, so a row that is wrong is wrong everywhere."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec import inspect

from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import groups_named, join, listed_in, split
from rollcall.schemas.messages import (
    API_OF,
    APIS,
    CHANGE_MEMBERS,
    READERS,
    AlterConfigsResource,
    Api,
    Changes,
    ClientRequest,
    GroupRequest,
    OffsetFetchRequestGroup,
    Operation,
    StreamRequest,
)
from rollcall.schemas.refusals import refusal

NAMED = list(APIS.items())
MANY = [(name, api) for name, api in NAMED if api.groups]


def example(api: Api, version: int, **fields: Any) -> Any:
    """A request of an API, with the least that its shape asks for."""
    needed = {
        field.encode_name: least(field.type)
        for field in inspect.type_info(api.request).fields  # type: ignore[attr-defined]
        if field.required
    }
    return api.request(**{**needed, "request_id": "r", "api_version": version, **fields})


def naming(api: Api, groups: list[str]) -> Any:
    """A request that lists these groups, if its API has such a list."""
    if not api.groups:
        return example(api, api.versions.last)
    named: list[Any] = list(groups)
    if api.request.__name__ == "OffsetFetchRequest":
        named = [OffsetFetchRequestGroup(group_id=each) for each in groups]
    elif "Configs" in api.request.__name__:
        named = [AlterConfigsResource(resource_name=each) for each in groups]
    return example(api, api.versions.last, **{api.groups: named})


def least(of: inspect.Type) -> Any:
    match of:
        case inspect.ListType():
            return []
        case inspect.IntType():
            return 0
        case inspect.BytesType():
            return b""
        case _:
            return ""


def test_every_request_has_one_row() -> None:
    assert set(get_args(ClientRequest)) == {api.request for api in APIS.values()}
    assert {*get_args(StreamRequest), *get_args(GroupRequest), *get_args(ClientRequest)} == set(API_OF)
    assert len({api.key for api in APIS.values()}) == len(APIS)


@pytest.mark.parametrize(("name", "api"), NAMED)
def test_a_row_is_called_as_its_shapes_are(name: str, api: Api) -> None:
    assert api.request.__struct_config__.tag == name
    assert (api.request.__name__, api.response.__name__) == (f"{name}Request", f"{name}Response")


@pytest.mark.parametrize(("name", "api"), NAMED)
def test_every_field_that_a_row_names_is_there(name: str, api: Api) -> None:
    for shape, field in ((api.request, api.groups), (api.request, api.generation), (api.response, api.answers)):
        assert not field or field in shape.__struct_fields__, (name, field)
    assert bool(api.groups) == bool(api.answers)
    for path in api.errors:
        end: Any = inspect.type_info(api.response)
        for part in path.split("."):
            found = next(each.type for each in end.fields if each.encode_name == part)
            end = found.item_type if isinstance(found, inspect.ListType) else found
        assert end.cls is Error


@pytest.mark.parametrize(("name", "api"), NAMED)
def test_a_request_that_names_a_generation_says_so_in_its_row(name: str, api: Api) -> None:
    reported = [field for field in api.request.__struct_fields__ if field.startswith("generation_id")]
    assert reported == [api.generation] * bool(api.generation)


@pytest.mark.parametrize(("name", "api"), NAMED)
def test_who_may_only_describe_changes_nothing_and_who_deletes_or_alters_something(name: str, api: Api) -> None:
    changes = {"Heartbeat": False}.get(name, api.operation not in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS))
    assert (api.changes is not Changes.NOTHING) is changes
    assert api.request in (*READERS, *CHANGE_MEMBERS) or api.changes is Changes.DATA


def found_at(message: Any, path: list[str]) -> list[Any]:
    """All that stands in the field that a path ends with, in each element of the lists on its way."""
    if not path:
        return [message]
    value = getattr(message, path[0])
    return [end for one in (value if isinstance(value, list) else [value]) for end in found_at(one, path[1:])]


# What names nothing is refused for nothing.
WITH_AN_ERROR = [(name, api) for name, api in NAMED if name not in ("FindCoordinator", "OffsetCommit")]


@pytest.mark.parametrize(("name", "api"), WITH_AN_ERROR)
def test_a_refusal_is_known_by_its_error_where_the_row_says_that_errors_stand(name: str, api: Api) -> None:
    refused = refusal(naming(api, ["g"] if api.groups else []), Error.GROUP_AUTHORIZATION_FAILED)
    assert isinstance(refused, api.response)
    assert Error.GROUP_AUTHORIZATION_FAILED in [
        end for path in api.errors for end in found_at(refused, path.split("."))
    ]


@pytest.mark.parametrize(("name", "api"), MANY)
@pytest.mark.parametrize("groups", [[], ["a"], ["a", "b"], ["a", "b", "a"]])
def test_what_names_many_groups_is_split_into_one_each_and_joined_again(name: str, api: Api, groups: list[str]) -> None:
    request = naming(api, groups)
    assert listed_in(request) == api.groups
    assert groups_named(request) == groups
    parts = split(request)
    assert [groups_named(part) for part in parts] == [[each] for each in dict.fromkeys(groups)]
    answers = [refusal(part, Error.NONE) for part in parts]
    if answers:
        joined = join(request, answers)
        expected = groups if api.answers_each_mention else list(dict.fromkeys(groups))
        assert [each.group_id for each in getattr(joined, api.answers)] == expected
