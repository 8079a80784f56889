"""An executor's pod as Spark itself makes it for the settings of a driver, without a cluster.

Knows Spark's own classes for Kubernetes, which its packages have. Must not know the chart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from pyspark.java_gateway import launch_gateway


def executor_pod(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the pod with its container. settings: of Spark, `spark.kubernetes.namespace` among them."""
    gateway = launch_gateway()
    try:
        return _made_by(gateway.jvm, settings)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)


def _made_by(jvm: Any, settings: Mapping[str, str]) -> dict[str, Any]:
    spark, kubernetes = jvm.org.apache.spark, jvm.io.fabric8.kubernetes.client
    address = "https://nowhere.invalid"
    conf = spark.SparkConf(False)
    for key, value in {"spark.master": f"k8s://{address}", "spark.driver.port": "7078", **settings}.items():
        conf.set(key, value)
    nothing = _singleton(jvm.scala, "None")
    of_executor = _singleton(spark.deploy.k8s, "KubernetesConf").createExecutorConf(conf, "1", "app", nothing, 0)
    secret_file = _singleton(spark.internal.config, "package").AUTH_SECRET_FILE()
    client = kubernetes.ConfigBuilder().withMasterUrl(address).build()
    made = spark.scheduler.cluster.k8s.KubernetesExecutorBuilder().buildFromFeatures(
        of_executor,
        spark.SecurityManager(conf, nothing, secret_file),
        kubernetes.KubernetesClientBuilder().withConfig(client).build(),
        _singleton(spark.resource, "ResourceProfile").getOrCreateDefaultProfile(conf),
    )
    as_yaml = kubernetes.utils.Serialization.asYaml
    pod: dict[str, Any] = yaml.safe_load(as_yaml(made.pod().pod()))
    pod["spec"]["containers"] = [yaml.safe_load(as_yaml(made.pod().container()))]
    return pod


def _singleton(package: Any, name: str) -> Any:
    return getattr(package, f"{name}$").__getattr__("MODULE$")
