"""Calls of the client whose outcome is compared, also where it is an error."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient


async def outcome(call: Awaitable[Any]) -> Any:
    """The answer, or the class and the status of the error. Its text is for people, and is not compared."""
    try:
        return await call
    except httpx.HTTPStatusError as error:
        return {"raises": f"{type(error).__name__} {error.response.status_code}"}
    except Exception as error:
        return {"raises": f"{type(error).__name__}: {error}"}


async def events(stream: AsyncIterator[Any]) -> Any:
    """All events of a stream, or the error that ends it."""

    async def read() -> list[dict]:
        return [{"event": part.event, "data": part.data} async for part in stream]

    return await outcome(read())


async def new_thread(client: LangGraphClient, **more: Any) -> str:
    return (await client.threads.create(**more))["thread_id"]


def say(text: str) -> dict:
    # The message has an id: otherwise each server gives one.
    return {"messages": [{"role": "user", "content": text, "id": text}]}
