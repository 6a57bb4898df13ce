"""The server under load, and how its answers are read."""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from langsmith import Client
from langsmith.schemas import Run

from known import Finding

# Seconds until everything that was sent must be there.
WAIT = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    url: str
    key: str

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    @property
    def headers(self) -> dict[str, str]:
        return {"x-api-key": self.key}

    def client(self) -> Client:
        """A tracing client that sends in the background, in compressed batches."""
        client = Client(api_url=self.api, api_key=self.key, tracing_error_callback=print_error)
        # It compresses once it has read /info.
        until = time.monotonic() + WAIT
        while client.compressed_traces is None and time.monotonic() < until:
            time.sleep(0.01)
        return client


def print_error(error: Exception) -> None:
    """The client drops what is refused, and only its log says so."""
    print(f"The client dropped a batch: {str(error)[:500]}", file=sys.stderr)


def new_name(prefix: str) -> str:
    return f"{prefix}-{uuid4().hex[:8]}"


def runs_of(client: Client, project: str, **more: Any) -> list[Run]:
    if not client.has_project(project):
        return []
    return list(client.list_runs(project_name=project, **more))


async def settled(ask: Callable[[], T], done: Callable[[T], bool]) -> T:
    """Asks until the answer is complete, or until WAIT is over. Gives the last answer."""
    until = time.monotonic() + WAIT
    while True:
        answer = await asyncio.to_thread(ask)
        if done(answer) or time.monotonic() > until:
            return answer
        await asyncio.sleep(0.3)


class Demands:
    """The demands of a case. Those that are not met become findings."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.findings: list[Finding] = []

    def equal(self, name: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            self.findings.append(Finding(f"{self.case}.{name}", f"{_short(found)}, not {_short(wanted)}"))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
