"""Clients of agents that call at once: A2A and MCP."""

import asyncio

import httpx
import httpx2
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.helpers import get_message_text, get_text_parts, new_text_message
from a2a.types.a2a_pb2 import ListTasksRequest, Role, SendMessageRequest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from load.target import Demands, Target

AT_ONCE = 20


async def a2a_messages_at_once(target: Target, demand: Demands) -> None:
    """20 messages at a time, streamed and not: each gets the answer to its own text, and each task is in the list."""
    async with httpx.AsyncClient(headers=target.headers, timeout=60) as http:
        card = await A2ACardResolver(http, f"{target.url}/a2a/echo").get_agent_card()
        for name, streaming in (("streamed", True), ("waited", False)):
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)

            async def send(number: int) -> tuple[str, str]:
                message = new_text_message(f"{name} {number}", role=Role.ROLE_USER)
                task, texts = "", []
                async for answer in client.send_message(SendMessageRequest(message=message)):
                    kind = answer.WhichOneof("payload")
                    task = answer.task.id or answer.status_update.task_id or answer.artifact_update.task_id or task
                    texts += _texts(answer, kind)
                return task, texts[-1] if texts else ""

            answers = await asyncio.gather(*[send(number) for number in range(AT_ONCE)])
            texts = [text for _, text in answers]
            demand.equal(f"{name}.answers", texts, [f"You said: {name} {number}" for number in range(AT_ONCE)])
            listed = await client.list_tasks(ListTasksRequest(page_size=100))
            ids = {task.id for task in listed.tasks}
            demand.equal(f"{name}.tasks", [id for id, _ in answers if id not in ids], [])


def _texts(answer, kind: str) -> list[str]:
    if kind == "task":
        return [get_text_parts(artifact.parts)[-1] for artifact in answer.task.artifacts]
    if kind == "status_update" and answer.status_update.status.HasField("message"):
        return [get_message_text(answer.status_update.status.message)]
    if kind == "message":
        return [get_message_text(answer.message)]
    if kind == "artifact_update":
        return get_text_parts(answer.artifact_update.artifact.parts)
    return []


async def mcp_calls_at_once(target: Target, demand: Demands) -> None:
    """20 tool calls at a time in one session, with `mcp` and with `fastmcp`."""
    http = httpx2.AsyncClient(headers=target.headers, timeout=60)
    transport = streamable_http_client(f"{target.url}/mcp", http_client=http)
    async with http, Client(transport) as client:
        await _call("mcp", client, demand, (await client.list_tools()).tools)
    async with FastClient(StreamableHttpTransport(f"{target.url}/mcp", headers=target.headers)) as client:
        await _call("fastmcp", client, demand, await client.list_tools())


async def _call(name: str, client, demand: Demands, tools: list) -> None:
    demand.equal(f"{name}.tools", "echo" in [tool.name for tool in tools], True)

    async def call(number: int) -> str:
        message = {"role": "user", "content": f"{name} {number}"}
        return str((await client.call_tool("echo", {"messages": [message]})).content)

    answers = await asyncio.gather(*[call(number) for number in range(AT_ONCE)])
    own = [f"You said: {name} {number}" in answer for number, answer in enumerate(answers)]
    demand.equal(f"{name}.answers", own.count(True), AT_ONCE)
