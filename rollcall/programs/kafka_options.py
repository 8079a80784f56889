"""The job's settings `kafka.*`, as Java's clients spell them, for the clients of confluent-kafka.

Knows the keys of either. Must not know a client, nor what is asked of Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rollcall.programs.errors import ConfigError

KAFKA_PREFIX = "kafka."
_SAME = ("bootstrap.servers", "security.protocol", "sasl.mechanism", "ssl.key.password")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_HOSTS = "ssl.endpoint.identification.algorithm"
_PEM_FILES = {
    "ssl.truststore": ("ssl.ca.location",),
    "ssl.keystore": ("ssl.certificate.location", "ssl.key.location"),
}
_PEM_TEXTS = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_TO_PEM = {
    "JKS": "`keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12` and then "
    "`openssl pkcs12 -in STORE.p12 -out STORE.pem -nodes` make",
    "PKCS12": "`openssl pkcs12 -in STORE -out STORE.pem -nodes` makes",
}
"""What makes a PEM file of a store of Java's."""
_LOGIN = {"username": "sasl.username", "password": "sasl.password"}
_SECURITY = ("ssl.", "sasl.", "security.")


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The job's options `kafka.*` about servers and security as confluent-kafka's clients spell them.

    The other options are the job's own. Certificate stores are PEM, as files or texts; logins are user name and
    password of PLAIN and SCRAM. Raises ConfigError: one about security has no such form.
    """
    own = {key.removeprefix(KAFKA_PREFIX): text for key, text in options.items()}
    found = {key: own.pop(key) for key in _SAME if key in own}
    found |= {name: own.pop(key) for key, name in _PEM_TEXTS.items() if key in own}
    for store, names in _PEM_FILES.items():
        location, kind = own.pop(f"{store}.location", ""), own.pop(f"{store}.type", "JKS")
        if location and kind != "PEM":
            how = f", which {_TO_PEM[kind]} of it" if kind in _TO_PEM else ""
            raise ConfigError(f"confluent-kafka only reads PEM{how}", f"kafka.{store}.type", kind)
        own.pop(f"{store}.password", None)
        found |= dict.fromkeys(names, location) if location else {}
    if (mechanism := found.get("sasl.mechanism", _MECHANISMS[0])) not in _MECHANISMS:
        why = f"confluent-kafka logs in here by {', '.join(_MECHANISMS)}"
        raise ConfigError(why, "kafka.sasl.mechanism", mechanism)
    login = own.pop("sasl.jaas.config", "")
    for name, key in _LOGIN.items() if login else ():
        value = re.search(rf'{name}\s*=\s*"((?:[^"\\]|\\.)*)"', login)
        if value is None:
            raise ConfigError(f"names no {name}", "kafka.sasl.jaas.config")
        found[key] = re.sub(r"\\(.)", r"\1", value[1])
    if _HOSTS in own:
        found[_HOSTS] = own.pop(_HOSTS) or "none"
    for key in own:
        if key.startswith(_SECURITY):
            raise ConfigError("Java's client knows it, confluent-kafka does not", f"kafka.{key}")
    return found
