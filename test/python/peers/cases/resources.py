"""The Store, assistants and crons."""

from datetime import datetime, timedelta, timezone
from uuid import uuid4

from langgraph_sdk.client import LangGraphClient

from peers.ask import outcome

# It has no exact float.
LARGE = 1234567890123456789


async def store_items(client: LangGraphClient) -> dict:
    space = ["peers", str(uuid4())]
    put = [
        await outcome(client.store.put_item(space, "a", {"kind": "fruit", "n": 1})),
        await outcome(client.store.put_item(space, "b", {"kind": "tree", "user": LARGE})),
    ]
    return {
        "put": put,
        "get": await outcome(client.store.get_item(space, "a")),
        "large": await outcome(client.store.get_item(space, "b")),
        "missing": await outcome(client.store.get_item(space, "zzz")),
        "filter": await outcome(client.store.search_items(space, filter={"kind": "fruit"})),
        "filter_by_large": await outcome(client.store.search_items(space, filter={"user": LARGE})),
        "namespaces": await outcome(client.store.list_namespaces(prefix=space)),
        "reserved": await outcome(client.store.put_item(["langgraph", "x"], "k", {})),
        "dotted": await outcome(client.store.put_item(["a.b"], "k", {})),
        "delete": await outcome(client.store.delete_item(space, "a")),
        "deleted": await outcome(client.store.get_item(space, "a")),
    }


async def assistants(client: LangGraphClient) -> dict:
    mark = str(uuid4())
    given = {"metadata": {"mark": mark}, "config": {"configurable": {"flavour": "salt"}}}
    made = await client.assistants.create("steps", name="B", **given)
    one = made["assistant_id"]
    for name in ("a", "c"):
        await client.assistants.create("steps", name=name, context={"tone": "low"}, metadata={"mark": mark})
    found = await client.assistants.search(metadata={"mark": mark}, sort_by="name", sort_order="asc")
    return {
        "made": made,
        "names": [each["name"] for each in found],
        "context": [{key: each[key] for key in ("config", "context")} for each in found if each["name"] == "a"],
        "updated": await outcome(client.assistants.update(one, name="D", metadata={"more": 1})),
        "versions": await outcome(client.assistants.get_versions(one)),
        "set_latest": await outcome(client.assistants.set_latest(one, 1)),
        "graph": await outcome(client.assistants.get_graph("steps")),
        "no_such_graph": await outcome(client.assistants.create("zzz")),
        "large": await outcome(client.assistants.create("steps", metadata={"user": LARGE})),
        "deleted": await outcome(client.assistants.delete(one)),
        "gone": await outcome(client.assistants.get(one)),
    }


async def crons(client: LangGraphClient) -> dict:
    past = datetime.now(timezone.utc) - timedelta(days=1)

    async def create(schedule: str, **more) -> dict:
        return await outcome(client.crons.create("echo", schedule=schedule, input={}, **more))

    made = await create("0 0 1 1 *", metadata={"of_cron": "c"})
    disabled = await outcome(client.crons.update(made["cron_id"], enabled=False))
    return {
        "made": made,
        "disabled": disabled,
        "six_fields": await create("0 0 1 1 * 0"),
        "ended": await create("0 0 1 1 *", end_time=past),
        "no_schedule": await create("every day"),
        "no_zone": await create("0 0 1 1 *", timezone="Mars/Olympus"),
        "unknown": await outcome(client.crons.update(str(uuid4()), enabled=False)),
        "deleted": await outcome(client.crons.delete(made["cron_id"])),
        "deleted_again": await outcome(client.crons.delete(made["cron_id"])),
    }


async def unknown_ids(client: LangGraphClient) -> dict:
    none = str(uuid4())
    thread = (await client.threads.create())["thread_id"]
    return {
        "thread": await outcome(client.threads.get(none)),
        "thread_no_id": await outcome(client.threads.get("zzz")),
        "state": await outcome(client.threads.get_state(none)),
        "history": await outcome(client.threads.get_history(none)),
        "copy": await outcome(client.threads.copy(none)),
        "copy_no_id": await outcome(client.threads.copy("zzz")),
        "delete": await outcome(client.threads.delete(none)),
        "run": await outcome(client.runs.get(thread, none)),
        "run_no_id": await outcome(client.runs.get(thread, "zzz")),
        "join": await outcome(client.runs.join(thread, none)),
        "cancel": await outcome(client.runs.cancel(thread, none)),
        "run_of_no_thread": await outcome(client.runs.create(none, "echo", input={})),
        "if_not_exists": await outcome(client.runs.wait(none, "steps", input={"text": "x"}, if_not_exists="create")),
        "run_of_no_assistant": await outcome(client.runs.create(thread, none, input={})),
        "run_of_no_name": await outcome(client.runs.create(thread, "zzz", input={})),
        "assistant": await outcome(client.assistants.get(none)),
        "assistant_no_id": await outcome(client.assistants.get("zzz")),
        "checkpoint": await outcome(client.threads.get_state(thread, checkpoint_id=none)),
        "state_of_new": await outcome(client.threads.get_state(thread)),
    }
