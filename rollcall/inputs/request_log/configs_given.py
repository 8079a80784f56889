"""A user's settings of single groups: `groups.orders.consumer.session.timeout.ms=8000` among the broker's settings.

Knows how such a setting is spelt; must not know a broker's own settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, SESSION_TIMEOUT, UnfitConfig, value_of
from rollcall.programs.errors import ConfigError

PREFIX = "groups."
GroupConfigs = dict[str, dict[str, str]]
"""By group id, what is set only for it, by Kafka's keys."""


def sessions_given(given: Mapping[str, str]) -> dict[str, int]:
    """By group id, how long members of consumer groups may be silent, ms. Raises ConfigError, as split_given."""
    _, of_groups = split_given(given)
    return {group: int(configs[SESSION_TIMEOUT]) for group, configs in of_groups.items() if SESSION_TIMEOUT in configs}


def split_given(given: Mapping[str, str]) -> tuple[dict[str, str], GroupConfigs]:
    """The broker's settings, and what is set for single groups. A group's id may have dots in it.

    Raises ConfigError: a setting of a group that ends with no key, or whose value does not fit.
    """
    broker: dict[str, str] = {}
    of_groups: GroupConfigs = {}
    for name, value in given.items():
        if not name.startswith(PREFIX):
            broker[name] = value
            continue
        rest = name.removeprefix(PREFIX)
        key = next((each for each in GROUP_KEYS if rest.endswith(f".{each}") and rest != f".{each}"), "")
        if not key:
            example = f"{PREFIX}orders.{SESSION_TIMEOUT}"
            raise ConfigError(f"is not of the form groups.GROUP.KEY, as {example}", name, value)
        try:
            of_groups.setdefault(rest.removesuffix(f".{key}"), {})[key] = value_of(key, value)
        except UnfitConfig as unfit:
            raise ConfigError(str(unfit), name, value) from None
    return broker, of_groups
