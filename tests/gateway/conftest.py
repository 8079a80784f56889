"""What tests of the gateway share."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.serve.listeners.credentials import write_user


@pytest.fixture(scope="session")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    write_user(path, "alice", "wonderland")
    write_user(path, "b=o,b", "pässword")
    return path
