"""Checks of the Python SDK, unmodified, against a server: `langgraph_sdk_checks.py <address> <key>`. Prints one JSON object a check.

A check is a function of a client. It fails by an exception, and by taking longer than TIMEOUT.
"""

import asyncio
import json
import sys
import threading
import time
import traceback

from langgraph_sdk import __version__, get_client, get_sync_client

from methods import call_every_method

TIMEOUT = 30


def say(text):
    return {"messages": [{"role": "user", "content": text}]}


MAIL = say("Send an email to ada@example.com saying hello")
APPROVE = {"decisions": [{"type": "approve"}]}
MODES = ["values", "updates", "messages-tuple", "messages", "custom", "tasks", "checkpoints", "debug", "events"]


# Custom events come from graphs that write them.
EVENTS = {"metadata", "messages/partial"} | set(MODES) - {"custom", "messages-tuple"}


async def assistants_threads_and_store(client):
    assistant = await client.assistants.create("echo", name="py")
    found = await client.assistants.search(graph_id="echo")
    assert assistant["assistant_id"] in [one["assistant_id"] for one in found]
    await client.assistants.get_graph("echo", xray=True)
    await client.assistants.get_schemas("echo")
    await client.assistants.delete(assistant["assistant_id"])
    thread = await client.threads.create(metadata={"from": "python"})
    assert (await client.threads.get(thread["thread_id"]))["metadata"]["from"] == "python"
    assert await client.threads.search(metadata={"from": "python"})
    await client.threads.update(thread["thread_id"], metadata={"more": 1})
    await client.threads.delete(thread["thread_id"])
    await client.store.put_item(["py", "notes"], "k", {"n": 1})
    assert (await client.store.get_item(["py"], "none")) is None
    assert (await client.store.search_items(["py"]))["items"]
    assert (await client.store.list_namespaces(prefix=["py"]))["namespaces"]
    await client.store.delete_item(["py", "notes"], "k")


async def runs_in_every_mode(client):
    thread = (await client.threads.create())["thread_id"]
    parts = client.runs.stream(thread, "agent", input=say("What is 2 * 3?"), stream_mode=MODES)
    seen = {part.event.split("|")[0] async for part in parts}
    assert EVENTS <= seen, EVENTS - seen
    assert (await client.threads.get_state(thread))["next"] == []
    assert await client.threads.get_history(thread)
    assert (await client.runs.wait(thread, "echo", input=say("again")))["messages"][-1]["content"] == "You said: again"


async def join_stream_with_default_arguments(client):
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "echo", input=say("hi"), stream_mode=["updates"])
    events = [part.event async for part in client.runs.join_stream(thread, run["run_id"])]
    assert "updates" in events, events
    assert (await client.runs.join(thread, run["run_id"]))["messages"]
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "success"


async def values_of_fast_runs(client):
    for turn in range(20):
        async with client.threads.stream(assistant_id="echo") as thread:
            await thread.run.start(input=say(f"turn {turn}"))
            snapshots = [one async for one in thread.values]
            assert snapshots[-1]["messages"][-1]["content"] == f"You said: turn {turn}"
            assert (await thread.output)["messages"]


async def pauses_of_fast_runs(client):
    for _ in range(10):
        async with client.threads.stream(assistant_id="moody") as thread:
            await thread.run.start(input=say("hello"))
            while not thread.interrupted:
                await asyncio.sleep(0.05)
            assert [one async for one in thread.values]


async def iterators_of_runs_that_pause_at_once(client):
    for _ in range(15):
        async with client.threads.stream(assistant_id="approval") as thread:
            await thread.run.start(input=MAIL)
            assert [one async for one in thread.messages], "no messages"
            assert thread.interrupted
    for _ in range(15):
        async with client.threads.stream(assistant_id="counting") as thread:
            await thread.run.start(input=say("ask"))
            assert [one["payload"] async for one in thread.extensions["progress"]] == [{"said": "ask"}]
            assert thread.interrupted


async def messages(client):
    async with client.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=say("What is 17 * 24?"))
        streams = [one async for one in thread.messages]
        texts = ["".join([part async for part in one.text]) for one in streams]
        assert "408" in texts[-1], texts


async def tool_calls(client):
    async with client.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=say("What is 17 * 24?"))
        [call] = [one async for one in thread.tool_calls]
        assert call.name == "calculator"
        assert (await call.output)["content"] == "408"


async def nodes_are_no_subgraphs(client):
    async with client.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=say("What is 17 * 24?"))
        assert [one.path async for one in thread.subgraphs] == []


async def subgraphs(client):
    async with client.threads.stream(assistant_id="research") as thread:
        await thread.run.start(input=say("Research rivers and lakes"))
        handles = [one async for one in thread.subgraphs]
        assert handles
        assert {one.status for one in handles} == {"completed"}, [one.status for one in handles]


async def extensions(client):
    async with client.threads.stream(assistant_id="progress") as thread:
        await thread.run.start(input=say("go"))
        assert [one["step"] async for one in thread.extensions["flat"]] == [1, 2]


async def extensions_of_stream_transformers(client):
    async with client.threads.stream(assistant_id="counting") as thread:
        await thread.run.start(input=say("hi"))
        activity = [one["payload"] async for one in thread.extensions["activity"]]
        assert activity == [{"tool": "double"}, {"message": True}], activity
    async with client.threads.stream(assistant_id="counting") as thread:
        await thread.run.start(input=say("hi"))
        assert [one["payload"] async for one in thread.extensions["toolCalls"]] == [1]


async def an_interrupt_and_its_answer(client):
    async with client.threads.stream(assistant_id="approval") as thread:
        await thread.run.start(input=MAIL)
        assert [one async for one in thread.values]
        assert thread.interrupted
        assert thread.interrupts[0]["value"]["action_requests"]
        await thread.run.respond(APPROVE)
        assert (await thread.output)["messages"]


async def a_cancelled_run(client):
    async with client.threads.stream(assistant_id="actor") as thread:
        run = await thread.run.start(input=say("forever"))
        cancel = asyncio.create_task(_cancel(client, thread.thread_id, run["run_id"]))
        assert [one async for one in thread.values]
        await cancel
        try:
            await thread.output
        except RuntimeError as error:
            assert "cancelled" in str(error)
        else:
            raise AssertionError("output of a cancelled run")
        assert (await client.threads.get(thread.thread_id))["status"] != "success"


async def _cancel(client, thread_id, run_id):
    await asyncio.sleep(0.3)
    await client.runs.cancel(thread_id, run_id)


async def a_connection_that_breaks(client):
    async with client.threads.stream(assistant_id="actor") as thread:
        await thread.run.start(input=say("slow"))
        async for _ in thread.values:
            await thread._shared_stream.close()
        assert (await thread.output)["messages"]


def sync_values(client):
    for turn in range(10):
        with client.threads.stream(assistant_id="echo") as thread:
            thread.run.start(input=say(f"turn {turn}"))
            snapshots = list(thread.values)
            assert snapshots[-1]["messages"][-1]["content"] == f"You said: turn {turn}"


def sync_messages(client):
    with client.threads.stream(assistant_id="agent") as thread:
        thread.run.start(input=say("What is 17 * 24?"))
        assert "408" in "".join(list(thread.messages)[-1].text)


def sync_every_method(client):
    asyncio.run(call_every_method(client))


def sync_runs_in_every_mode(client):
    thread = client.threads.create()["thread_id"]
    parts = client.runs.stream(thread, "agent", input=say("What is 2 * 3?"), stream_mode=MODES)
    seen = {part.event.split("|")[0] for part in parts}
    assert EVENTS <= seen, EVENTS - seen


def sync_subgraphs(client):
    with client.threads.stream(assistant_id="research") as thread:
        thread.run.start(input=say("Research rivers and lakes"))
        assert {one.status for one in list(thread.subgraphs)} == {"completed"}


def sync_extensions(client):
    with client.threads.stream(assistant_id="counting") as thread:
        thread.run.start(input=say("hi"))
        assert [one["payload"] for one in thread.extensions["activity"]] == [{"tool": "double"}, {"message": True}]


def sync_tool_calls(client):
    with client.threads.stream(assistant_id="agent") as thread:
        thread.run.start(input=say("What is 17 * 24?"))
        [call] = list(thread.tool_calls)
        assert call.output["content"] == "408"


def sync_interrupt(client):
    with client.threads.stream(assistant_id="approval") as thread:
        thread.run.start(input=MAIL)
        assert list(thread.values)
        assert thread.interrupted
        thread.run.respond(APPROVE)
        assert thread.output["messages"]


def sync_cancel(client):
    with client.threads.stream(assistant_id="actor") as thread:
        run = thread.run.start(input=say("forever"))

        def cancel():
            time.sleep(0.3)
            client.runs.cancel(thread.thread_id, run["run_id"])

        canceller = threading.Thread(target=cancel)
        canceller.start()
        assert list(thread.values)
        canceller.join()


def sync_wait_and_join(client):
    thread = client.threads.create()["thread_id"]
    assert client.runs.wait(thread, "echo", input=say("hi"))["messages"]
    run = client.runs.create(thread, "echo", input=say("hi"))
    assert [part.event for part in client.runs.join_stream(thread, run["run_id"])]


ASYNC = [
    assistants_threads_and_store,
    call_every_method,
    runs_in_every_mode,
    join_stream_with_default_arguments,
    values_of_fast_runs,
    pauses_of_fast_runs,
    iterators_of_runs_that_pause_at_once,
    messages,
    tool_calls,
    nodes_are_no_subgraphs,
    subgraphs,
    extensions,
    extensions_of_stream_transformers,
    an_interrupt_and_its_answer,
    a_cancelled_run,
    a_connection_that_breaks,
]
SYNC = [
    sync_every_method,
    sync_runs_in_every_mode,
    sync_values,
    sync_messages,
    sync_tool_calls,
    sync_subgraphs,
    sync_extensions,
    sync_interrupt,
    sync_cancel,
    sync_wait_and_join,
]


def report(check, error=None):
    print(json.dumps({"case": check.__name__, "error": error}), flush=True)


async def run_async(check, url, key):
    client = get_client(url=url, api_key=key)
    try:
        await asyncio.wait_for(check(client), TIMEOUT)
        report(check)
    except asyncio.TimeoutError:
        report(check, f"took longer than {TIMEOUT} s")
    except BaseException:
        report(check, traceback.format_exc(limit=-4))


def run_sync(check, url, key):
    def work():
        try:
            check(get_sync_client(url=url, api_key=key))
            report(check)
        except BaseException:
            report(check, traceback.format_exc(limit=-4))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    if thread.is_alive():
        report(check, f"took longer than {TIMEOUT} s")


if __name__ == "__main__":
    if sys.argv[1] == "--version":
        checks = [check.__name__ for check in ASYNC + SYNC]
        print(json.dumps({"version": __version__, "checks": checks}))
    else:
        for each in ASYNC:
            asyncio.run(run_async(each, *sys.argv[1:3]))
        for each in SYNC:
            run_sync(each, *sys.argv[1:3])
