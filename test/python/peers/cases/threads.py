"""Threads: their state, history, search and copies."""

from langgraph_sdk.client import LangGraphClient

from peers.ask import new_thread, outcome, say


async def state_and_history(client: LangGraphClient) -> dict:
    thread = await new_thread(client, metadata={"of_thread": "t"})
    await client.runs.wait(thread, "steps", input={"text": "x"})
    history = await client.threads.get_history(thread)
    first = history[-1]["checkpoint"]["checkpoint_id"]
    return {
        "thread": await outcome(client.threads.get(thread)),
        "state": await outcome(client.threads.get_state(thread)),
        "history": history,
        "at_first": await outcome(client.threads.get_state(thread, checkpoint_id=first)),
        "of_graph": len(await client.threads.get_history(thread, metadata={"graph_id": "steps"})),
    }


async def update_state(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    await client.runs.wait(thread, "steps", input={"text": "x"})
    return {
        "unknown_node": await outcome(client.threads.update_state(thread, {"text": "y"}, as_node="zzz")),
        "updated": await outcome(client.threads.update_state(thread, {"log": ["by hand"]}, as_node="a")),
        "state": await outcome(client.threads.get_state(thread)),
        "continued": await outcome(client.runs.wait(thread, "steps")),
    }


async def two_graphs_use_one_thread(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    await client.runs.wait(thread, "echo", input=say("one"))
    await client.runs.wait(thread, "steps", input={"text": "x"})
    answer = await outcome(client.runs.wait(thread, "echo", input=say("two")))
    return {"messages": [message["content"] for message in answer["messages"]]}


async def copy_search_and_delete_threads(client: LangGraphClient) -> dict:
    # The search is by this thread's own id, for other cases have threads, too.
    thread = await new_thread(client, metadata={"of_thread": "t"})
    await client.runs.wait(thread, "echo", input=say("hi"))
    copy = (await client.threads.copy(thread))["thread_id"]
    answers = {
        "copy": await outcome(client.threads.get_state(copy)),
        "search": await outcome(client.threads.search(ids=[thread], select=["thread_id", "status", "values"])),
        "count": await outcome(client.threads.count(metadata={"none": "such"})),
        "deleted": await outcome(client.threads.delete(copy)),
        "gone": await outcome(client.threads.get(copy)),
        "exists": await outcome(client.threads.create(thread_id=thread)),
        "do_nothing": await outcome(client.threads.create(thread_id=thread, if_exists="do_nothing")),
    }
    return answers
