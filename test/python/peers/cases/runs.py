"""Runs: stream modes, waiting, joining, cancelling, and what a run's configuration brings to the graph."""

import asyncio

from langgraph_sdk.client import LangGraphClient

from peers.ask import events, new_thread, outcome, say


async def stream_values_updates_and_custom(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    given = {"input": {"text": "x"}, "stream_mode": ["values", "updates", "custom"]}
    return {
        "together": await events(client.runs.stream(thread, "steps", **given)),
        "again": await events(client.runs.stream(thread, "steps", **given)),
        "stateless": await events(client.runs.stream(None, "steps", **given)),
        "default": await events(client.runs.stream(thread, "steps", input={"text": "x"})),
    }


async def stream_tasks_checkpoints_and_debug(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    return {
        mode: await events(client.runs.stream(thread, "steps", input={"text": "x"}, stream_mode=mode))
        for mode in ("tasks", "checkpoints", "debug")
    }


async def stream_messages(client: LangGraphClient) -> dict:
    modes = ["messages-tuple", "messages"]
    answers = {
        mode: await events(client.runs.stream(None, "model", input=say("hi"), stream_mode=mode)) for mode in modes
    }
    stream = client.runs.stream(None, "model", input=say("hi"), stream_mode="messages-tuple", stream_subgraphs=True)
    return {**answers, "with_subgraphs": await events(stream)}


async def stream_subgraphs(client: LangGraphClient) -> dict:
    given = {"input": {"text": "x"}, "stream_mode": ["updates", "values"]}
    return {
        "with": await events(client.runs.stream(None, "nested", **given, stream_subgraphs=True)),
        "without": await events(client.runs.stream(None, "nested", **given)),
    }


async def stream_of_a_run_that_fails(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    stream = await events(client.runs.stream(thread, "boom", input={"text": "x"}, stream_mode=["updates", "values"]))
    found = await client.threads.get(thread)
    return {"stream": stream, "status": found["status"], "state": await client.threads.get_state(thread)}


async def wait_for_runs(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    return {
        "answer": await outcome(client.runs.wait(thread, "echo", input=say("hi"))),
        "stateless": await outcome(client.runs.wait(None, "echo", input=say("hi"))),
        "fails": await outcome(client.runs.wait(None, "boom", input={"text": "x"})),
        "fails_quietly": await outcome(client.runs.wait(None, "boom", input={"text": "x"}, raise_error=False)),
        "asks": await outcome(client.runs.wait(None, "ask", input={"text": "x"})),
    }


async def join_runs(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    run = (await client.runs.create(thread, "slow", input={"text": "10"}, stream_mode=["updates"]))["run_id"]
    answers = {
        "updates": await events(client.runs.join_stream(thread, run, stream_mode="updates")),
        "join": await outcome(client.runs.join(thread, run)),
        "run": await outcome(client.runs.get(thread, run)),
        "list": await outcome(client.runs.list(thread)),
    }
    return answers


async def reject_and_cancel_runs(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    run = (await client.runs.create(thread, "slow", input={"text": "100"}))["run_id"]
    await _until_it_runs(client, thread, run)
    rejected = client.runs.create(thread, "slow", input={"text": "1"}, multitask_strategy="reject")
    return {
        "rejected": await outcome(rejected),
        "cancelled": await outcome(client.runs.cancel(thread, run, wait=True)),
        "again": await outcome(client.runs.cancel(thread, run)),
        "run": (await client.runs.get(thread, run))["status"],
        "thread": (await client.threads.get(thread))["status"],
    }


async def _until_it_runs(client: LangGraphClient, thread: str, run: str) -> None:
    while (await client.runs.get(thread, run))["status"] != "running":
        await asyncio.sleep(0.05)


async def configuration_reaches_the_graph(client: LangGraphClient) -> dict:
    thread = await new_thread(client, metadata={"of_thread": "t"})

    async def look(**given) -> dict:
        answer = await outcome(client.runs.wait(thread, "seen", input={"log": []}, **given))
        # The log grows with each run.
        return answer["log"][-1] if "log" in answer else answer

    config = {"tags": ["one"], "metadata": {"of_config": "c"}, "max_concurrency": 3, "recursion_limit": 7}
    return {
        "config": await look(config=config),
        "metadata": await look(metadata={"of_run": "r"}),
        "configurable": await look(config={"configurable": {"flavour": "salt"}}),
        "context": await look(context={"tone": "low"}),
        "both": await look(config={"configurable": {"flavour": "salt"}}, context={"tone": "low"}),
        "run": await outcome(client.runs.create(thread, "seen", input={}, metadata={"of_run": "r"}, after_seconds=600)),
    }
