"""How the job's settings `kafka.*` are spelt for confluent-kafka."""

from __future__ import annotations

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import client_settings

BROKERS = {"kafka.bootstrap.servers": "b1:9092,b2:9092"}


def test_kafkas_options_of_security_are_spelt_for_these_clients() -> None:
    found = client_settings(
        {
            **BROKERS,
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.jaas.config": 'o.a.k.ScramLoginModule required username="rollcall" password="s e=c\'r\\"et";',
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": "/ca.pem",
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.location": "/own.pem",
            "kafka.ssl.endpoint.identification.algorithm": "",
            "kafka.fetch.max.bytes": "1000",
        }
    )
    assert found == {
        "bootstrap.servers": "b1:9092,b2:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "rollcall",
        "sasl.password": "s e=c'r\"et",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_certificates_may_be_given_as_texts() -> None:
    texts = {f"kafka.ssl.{name}": name for name in ("truststore.certificates", "keystore.certificate.chain")}
    found = client_settings({**BROKERS, **texts, "kafka.ssl.truststore.type": "PEM", "kafka.ssl.keystore.key": "key"})
    assert found == {
        "bootstrap.servers": "b1:9092,b2:9092",
        "ssl.ca.pem": "truststore.certificates",
        "ssl.certificate.pem": "keystore.certificate.chain",
        "ssl.key.pem": "key",
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"kafka.ssl.truststore.location": "/t.jks"},
            "kafka.ssl.truststore.type=JKS: confluent-kafka only reads PEM, which `keytool .+` and then "
            "`openssl pkcs12 .+` make of it",
        ),
        (
            {"kafka.ssl.keystore.location": "/k.p12", "kafka.ssl.keystore.type": "PKCS12"},
            "kafka.ssl.keystore.type=PKCS12: confluent-kafka only reads PEM, which `openssl pkcs12 .+` makes of it",
        ),
        ({"kafka.ssl.keystore.location": "/k", "kafka.ssl.keystore.type": "BKS"}, "kafka.+ only reads PEM"),
        ({"kafka.sasl.jaas.config": "o.a.k.OAuthModule required;"}, "kafka.sasl.jaas.config: names no username"),
        (
            {"kafka.sasl.mechanism": "GSSAPI"},
            "kafka.sasl.mechanism=GSSAPI: confluent-kafka logs in here by PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        ({"kafka.ssl.provider": "BC"}, "kafka.ssl.provider: Java's client knows it, confluent-kafka does not"),
    ],
)
def test_what_has_no_such_form_is_refused_by_its_name(options: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=f"^{why}$"):
        client_settings({**BROKERS, **options})
