"""`--set "session.timeout.ms=30000 static=true"`: what is changed in the recorded world, under Kafka's keys.

    key=value               in every setting that is tried
    key=6000..60000/8       a sweep: eight values from 6000 to 60000
    key=6000,10000,45000    a sweep over these
    assignor=range+sticky   several assignors in one list
    group.protocol=consumer every group under the newer protocol, classic: under the older one
    groups.orders.consumer.session.timeout.ms=8000  what is set for that group alone

One key may be swept. Beside Kafka's keys of the broker's groups and of consumers: `assignor` is
partition.assignment.strategy, `max.size` is group.max.size, and `static=true` gives every consumer an instance id, as
`static=false` takes it away.

Knows which keys change what; knows no schedules and no coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.simulation.plan import GroupProtocol
from rollcall.coordinator_udfs.protocol.config import ASSIGNORS as REMOTE_ASSIGNORS
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.broker_settings import PREFIX, GroupConfigs, split_given
from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.settings import from_texts, split_pair

ALIASES = {"assignor": "partition.assignment.strategy", "max.size": "group.max.size"}
STATIC = "static"
ASSIGNOR = "partition.assignment.strategy"
BROKER = frozenset(
    {
        "group.consumer.assignment.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.max.size",
        "group.consumer.session.timeout.ms",
        "group.initial.rebalance.delay.ms",
        "group.max.size",
        "group.max.session.timeout.ms",
        "group.min.session.timeout.ms",
        "kafka.version",
    }
)
PROTOCOL, REMOTE_ASSIGNOR = "group.protocol", "group.remote.assignor"
OF_CLASSIC_CLIENTS = (ASSIGNOR, "heartbeat.interval.ms", "session.timeout.ms")
"""Keys that a client of the newer protocol refuses, since the coordinator decides them."""
CLIENT = frozenset(
    {
        ASSIGNOR,
        PROTOCOL,
        REMOTE_ASSIGNOR,
        "auto.commit.interval.ms",
        "enable.auto.commit",
        "heartbeat.interval.ms",
        "internal.leave.group.on.close",
        "max.poll.interval.ms",
        "rebalance.timeout.ms",
        "session.timeout.ms",
    }
)
MOST_VALUES = 200


class SettingError(UserError):
    """A setting that cannot be tried; the text names the key and the value."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One changed world. Without a change it is the baseline."""

    broker: Mapping[str, str] = field(default_factory=dict)
    """The broker's settings that are changed, by Kafka's keys."""
    client: Mapping[str, str] = field(default_factory=dict)
    """The consumers' settings that are changed, by Kafka's keys."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """What is changed only for single groups, as `groups.GROUP.KEY`."""
    is_static: bool | None = None
    """Whether every consumer has an instance id, or none has; None: as recorded."""
    value: str = ""
    """The value of the swept key; empty without a sweep."""

    @property
    def protocol(self) -> GroupProtocol | None:
        """Which group protocol every consumer is to speak; None: as recorded."""
        name = self.client.get(PROTOCOL)
        return None if name is None else GroupProtocol(name)

    @property
    def of_groups(self) -> GroupConfigs:
        """What is changed only for single groups, by group."""
        return split_given(self.groups)[1]

    @property
    def text(self) -> str:
        """The text for SET."""
        pairs = {**self.client, **self.broker, **self.groups}
        texts = [f"{key}={text}" for key, text in pairs.items()]
        if self.is_static is not None:
            texts.append(f"{STATIC}={str(self.is_static).lower()}")
        return " ".join(texts)


BASELINE = Setting()


@dataclass(frozen=True, slots=True)
class Trial:
    """What is asked for."""

    settings: tuple[Setting, ...]
    """The settings to try."""
    swept: str = ""
    """The key that is swept; empty without a sweep."""


def trial_of(texts: Iterable[str]) -> Trial:
    """From `key=value` texts, several in one text too. SettingError: no setting, an unknown key, an unfit value."""
    chosen: dict[str, list[str]] = {}
    for pair_text in (piece for text in texts for piece in text.split()):
        pair = split_pair(pair_text)
        if pair is None:
            raise SettingError(f"--set {pair_text}: is not of the form key=value")
        key, text = pair
        name = ALIASES.get(key, key)
        if name not in BROKER | CLIENT | {STATIC} and not name.startswith(PREFIX):
            known = ", ".join(sorted(BROKER | CLIENT | set(ALIASES) | {STATIC}))
            raise SettingError(f"{key}={text}: is not a setting that can be tried; known are {known}")
        if name in chosen:
            raise SettingError(f"{key}={text}: is given twice")
        chosen[name] = _values(key, text)
    if not chosen:
        raise SettingError('--set names nothing to try, such as --set "session.timeout.ms=30000"')
    swept = [name for name, values in chosen.items() if len(values) > 1]
    if len(swept) > 1:
        raise SettingError(f"{swept[1]}={','.join(chosen[swept[1]])}: {swept[0]} is swept already, one key may be")
    values = chosen[swept[0]] if swept else [""]
    settings = [_setting({name: found[0] for name, found in chosen.items()}, swept, value) for value in values]
    return Trial(tuple(settings), swept[0] if swept else "")


def _values(key: str, text: str) -> list[str]:
    first, dots, rest = text.partition("..")
    if not dots:
        values = [value for value in text.split(",") if value]
        if not values:
            raise SettingError(f"{key}={text}: names no value")
        return list(dict.fromkeys(values))
    last, slash, steps = rest.partition("/")
    if not (first.isdecimal() and last.isdecimal() and steps.isdecimal() and slash):
        raise SettingError(f"{key}={text}: a range is of the form 6000..60000/8, eight values from 6000 to 60000")
    low, high, count = int(first), int(last), int(steps)
    if low >= high or not 2 <= count <= MOST_VALUES:
        raise SettingError(f"{key}={text}: must rise, in 2 to {MOST_VALUES} values")
    return list(dict.fromkeys(str(low + round((high - low) * i / (count - 1))) for i in range(count)))


def _setting(chosen: Mapping[str, str], swept: list[str], value: str) -> Setting:
    texts = {**chosen, **{name: value for name in swept}}
    static = texts.get(STATIC)
    if static not in (None, "true", "false"):
        raise SettingError(f"{STATIC}={static}: is neither true nor false")
    setting = Setting(
        broker={key: text for key, text in texts.items() if key in BROKER},
        client={key: text for key, text in texts.items() if key in CLIENT},
        groups={key: text for key, text in texts.items() if key.startswith(PREFIX)},
        is_static=None if static is None else static == "true",
        value=value,
    )
    _refuse_unfit(setting)
    return setting


def _refuse_unfit(setting: Setting) -> None:
    """Refuses what no recording can be played with."""
    try:
        broker = from_texts(GroupConfig, setting.broker)
        consumer_changes(setting)
        of_groups = setting.of_groups
    except ConfigError as error:
        raise SettingError(str(error)) from None
    for group_id, configs in of_groups.items():
        for key, text in configs.items():
            if not key.startswith("consumer."):
                raise SettingError(f"{PREFIX}{group_id}.{key}={text}: is of no group that can be played")
    for name in assignors_of(setting):
        if name not in ASSIGNORS:
            known = ", ".join(sorted(ASSIGNORS))
            raise SettingError(f"assignor={name}: is not an assignor that can be played; known are {known}")
    _refuse_of_other_protocol(setting.client)
    session = setting.client.get("session.timeout.ms")
    low, high = broker.group_min_session_timeout_ms, broker.group_max_session_timeout_ms
    if session is not None and not low <= int(session) <= high:
        raise SettingError(
            f"session.timeout.ms={session}: a broker takes {low} to {high} "
            "(group.min.session.timeout.ms, group.max.session.timeout.ms)"
        )


def _refuse_of_other_protocol(client: Mapping[str, str]) -> None:
    name, assignor = client.get(PROTOCOL), client.get(REMOTE_ASSIGNOR)
    if name is not None and name not in tuple(GroupProtocol):
        raise SettingError(f"{PROTOCOL}={name}: is neither {' nor '.join(GroupProtocol)}")
    if assignor is not None and assignor not in REMOTE_ASSIGNORS:
        known = ", ".join(REMOTE_ASSIGNORS)
        raise SettingError(f"{REMOTE_ASSIGNOR}={assignor}: is not an assignor of a coordinator; known are {known}")
    refused = OF_CLASSIC_CLIENTS if name == GroupProtocol.CONSUMER else ()
    for key in refused:
        if key in client:
            raise SettingError(
                f"{key}={client[key]}: cannot be set with {PROTOCOL}={name}, where the broker decides it"
            )
    if assignor is not None and name == GroupProtocol.CLASSIC:
        raise SettingError(f"{REMOTE_ASSIGNOR}={assignor}: cannot be set with {PROTOCOL}={name}")


def assignors_of(setting: Setting) -> tuple[str, ...]:
    """The assignors that every consumer is to list; none: as recorded."""
    return tuple(name for name in setting.client.get(ASSIGNOR, "").split("+") if name)


def consumer_changes(setting: Setting) -> ConsumerConfig:
    """The client's part as settings of a consumer, read and checked; other settings have their defaults."""
    pairs = {key: text for key, text in setting.client.items() if key not in (ASSIGNOR, PROTOCOL)}
    if "session.timeout.ms" in pairs and "heartbeat.interval.ms" not in pairs:
        pairs["heartbeat.interval.ms"] = "1"
    return from_texts(ConsumerConfig, pairs)
