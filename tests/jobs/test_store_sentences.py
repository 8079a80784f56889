"""What a user reads when an object store refuses."""

from __future__ import annotations

import pytest

from rollcall.jobs.spark.store_folder import sentence_of

HOME = "s3a://bucket/rollcall"


@pytest.mark.parametrize(
    ("names", "words", "sentence"),
    [
        (
            ["UnknownStoreException", "NoSuchBucketException"],
            "The specified bucket does not exist (Service: S3, Status Code: 404)",
            f"{HOME}: there is no such bucket: The specified bucket does not exist (Service: S3, Status Code: 404)",
        ),
        (
            ["AccessDeniedException", "S3Exception"],
            "Access Denied (Service: S3, Status Code: 403)\nand more",
            f"{HOME}: no right to read and write there: Access Denied (Service: S3, Status Code: 403)",
        ),
        (
            ["RuntimeException", "ClassNotFoundException"],
            "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            f"{HOME}: the connector for s3a is missing (Class org.apache.hadoop.fs.s3a.S3AFileSystem not found): "
            "add --packages org.apache.hadoop:hadoop-aws:3.5.0.",
        ),
        (["IOException"], "", f"{HOME}: the store refuses: no reason given"),
    ],
)
def test_an_error_of_a_store_is_one_sentence(names: list[str], words: str, sentence: str) -> None:
    assert sentence_of(HOME, names, words) == sentence
