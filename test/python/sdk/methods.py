"""Every method of the SDK's clients, of the asynchronous one and of the synchronous one."""

import inspect
from datetime import datetime, timedelta, timezone
from uuid import uuid4

PARTS = ["assistants", "threads", "runs", "crons", "store"]
# langgraph_sdk_checks.py has checks of its own for it.
ELSEWHERE = {"threads.stream"}


def say(text):
    return {"messages": [{"role": "user", "content": text}]}


class Noted:
    """A part of a client that notes which of its methods are called."""

    def __init__(self, name, part, called):
        self._name, self._part, self._called = name, part, called

    def __getattr__(self, method):
        self._called.add(f"{self._name}.{method}")
        return getattr(self._part, method)


def methods_of(client):
    for name in PARTS:
        part = getattr(client, name)
        yield from (
            f"{name}.{one}" for one, _ in inspect.getmembers(part, inspect.isroutine) if not one.startswith("_")
        )


async def done(answer):
    return await answer if inspect.isawaitable(answer) else answer


async def items(stream):
    stream = await done(stream)
    return [one async for one in stream] if hasattr(stream, "__aiter__") else list(stream)


async def call_every_method(client):
    called = set()
    parts = [Noted(name, getattr(client, name), called) for name in PARTS]
    for check, part in zip([assistants, threads, runs, crons, store], parts):
        await check(part, parts[1])
    assert set(methods_of(client)) - ELSEWHERE - called == set()


async def assistants(client, _threads):
    made = await done(client.create("echo", name="py", metadata={"n": 1}, context={"a": 1}, description="d"))
    one = made["assistant_id"]
    assert (await done(client.get(one)))["name"] == "py"
    assert (await done(client.update(one, name="py 2", metadata={"n": 2})))["version"] == 2
    assert [each["version"] for each in await done(client.get_versions(one))] == [2, 1]
    assert (await done(client.set_latest(one, 1)))["name"] == "py"
    found = await done(client.search(graph_id="echo", metadata={"n": 1}, response_format="object"))
    assert one in [each["assistant_id"] for each in found["assistants"]]
    assert await done(client.count(graph_id="echo")) >= 2
    assert (await done(client.get_graph("research", xray=True)))["nodes"]
    assert (await done(client.get_schemas("echo")))["graph_id"] == "echo"
    assert await done(client.get_subgraphs("research", recurse=True)) == {}
    await done(client.delete(one))


async def threads(client, _threads):
    mark = str(uuid4())
    made = (await done(client.create(metadata={"from": mark}, graph_id="echo", ttl=60)))["thread_id"]
    assert (await done(client.create(thread_id=made, if_exists="do_nothing")))["thread_id"] == made
    values = {"messages": [{"type": "human", "content": "one", "id": "m1"}]}
    update = await done(client.update_state(made, values, as_node="echo"))
    state = await done(client.get_state(made))
    assert state["values"]["messages"][0]["content"] == "one"
    at = update["checkpoint"]["checkpoint_id"]
    assert (await done(client.get_state(made, checkpoint_id=at)))["checkpoint"]["checkpoint_id"] == at
    assert len(await done(client.get_history(made, limit=5))) == 1
    assert (await done(client.update(made, metadata={"more": 1})))["metadata"] == {
        "from": mark,
        "more": 1,
        "graph_id": "echo",
    }
    assert await done(client.update(made, metadata={"more": 2}, return_minimal=True)) is None
    assert (await done(client.get(made, include=["ttl"])))["metadata"]["more"] == 2
    copied = await done(client.copy(made))
    assert copied["thread_id"] != made
    found = await done(
        client.search(ids=[made], select=["thread_id", "values"], extract={"first": "values.messages[0].content"})
    )
    assert [(one["thread_id"], one["extracted"]) for one in found] == [(made, {"first": "one"})], found
    # The copy is the other one.
    assert await done(client.count(metadata={"from": mark})) == 2
    pruned = await done(client.prune([copied["thread_id"]], strategy="delete"))
    assert pruned["pruned_count"] == 1, pruned
    await done(client.delete(made))
    assert await done(client.search(ids=[made])) == []


async def runs(client, threads):
    thread = (await done(threads.create()))["thread_id"]
    named = []
    run = await done(client.create(thread, "echo", input=say("hi"), metadata={"a": 1}, on_run_created=named.append))
    assert named[0]["run_id"] == run["run_id"]
    assert (await done(client.join(thread, run["run_id"])))["messages"][-1]["content"] == "You said: hi"
    assert (await done(client.get(thread, run["run_id"])))["status"] == "success"
    assert [part.event for part in await items(client.join_stream(thread, run["run_id"]))]
    assert [one["run_id"] for one in await done(client.list(thread, status="success", select=["run_id"]))] == [
        run["run_id"]
    ]
    assert (await items(client.stream(thread, "echo", input=say("hi"))))[0].event == "metadata"
    second = await items(
        client.stream(thread, "echo", input=say("hi"), stream_mode=["updates", "values"], version="v2")
    )
    assert "values" in [part["type"] for part in second], second
    assert (await done(client.wait(None, "echo", input=say("stateless"))))["messages"]
    batch = await done(
        client.create_batch([{"assistant_id": "echo", "input": say("a")}, {"assistant_id": "echo", "input": say("b")}])
    )
    assert len(batch) == 2
    slow = (await done(client.create(thread, "actor", input=say("forever"))))["run_id"]
    await done(client.cancel(thread, slow, wait=True))
    assert (await done(client.get(thread, slow)))["status"] == "interrupted"
    later = (await done(client.create(thread, "echo", input=say("later"), after_seconds=60)))["run_id"]
    await done(client.cancel_many(thread_id=thread, run_ids=[later]))
    await done(client.delete(thread, slow))
    await done(client.create(thread, "echo", input=say("joined"), after_seconds=1))
    assert await first(threads.join_stream(thread))


async def first(stream):
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        async for one in stream:
            return one
    return next(iter(stream))


async def crons(client, threads):
    thread = (await done(threads.create()))["thread_id"]
    mark = str(uuid4())
    end = datetime.now(timezone.utc) + timedelta(days=1)
    made = await done(
        client.create(
            "echo", schedule="0 0 1 1 *", input=say("x"), metadata={"py": mark}, end_time=end, timezone="Europe/Oslo"
        )
    )
    own = await done(client.create_for_thread(thread, "echo", schedule="0 0 1 1 *", input=say("x")))
    found = await done(client.search(thread_id=thread))
    assert [one["cron_id"] for one in found] == [own["cron_id"]]
    assert await done(client.count(metadata={"py": mark})) == 1
    changed = await done(client.update(made["cron_id"], schedule="0 1 1 1 *", enabled=False, end_time=None))
    assert (changed["schedule"], changed["enabled"], changed["end_time"]) == ("0 1 1 1 *", False, None), changed
    for one in (made, own):
        await done(client.delete(one["cron_id"]))
    assert await done(client.count(metadata={"py": mark})) == 0


async def store(client, _threads):
    await done(client.put_item(["py", "methods"], key="k", value={"n": 1}, ttl=5))
    assert (await done(client.get_item(["py", "methods"], key="k", refresh_ttl=True)))["value"] == {"n": 1}
    assert (await done(client.get_item(["py", "methods"], key="none"))) is None
    assert [one["key"] for one in (await done(client.search_items(["py", "methods"], filter={"n": 1})))["items"]] == [
        "k"
    ]
    assert ["py", "methods"] in (await done(client.list_namespaces(prefix=["py"], max_depth=2)))["namespaces"]
    await done(client.delete_item(["py", "methods"], key="k"))
