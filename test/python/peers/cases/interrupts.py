"""Interrupts, and what resumes them."""

from langgraph_sdk.client import LangGraphClient

from peers.ask import events, new_thread, outcome


async def interrupt_and_resume(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    asked = await events(client.runs.stream(thread, "ask", input={"text": "x"}, stream_mode=["values", "updates"]))
    waiting = await client.threads.get(thread)
    state = await client.threads.get_state(thread)
    resumed = await events(
        client.runs.stream(thread, "ask", command={"resume": "yes"}, stream_mode=["values", "updates"])
    )
    return {
        "asked": asked,
        "waiting": {key: waiting[key] for key in ("status", "values", "interrupts")},
        "state": state,
        "resumed": resumed,
        "history": await client.threads.get_history(thread),
    }


async def resume_with_none(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    await client.runs.wait(thread, "ask", input={"text": "x"})
    return {
        "resumed": await outcome(client.runs.wait(thread, "ask", command={"resume": None})),
        "status": (await client.threads.get(thread))["status"],
    }


async def one_resume_for_two_interrupts(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    asked = await client.runs.wait(thread, "both", input={"text": "x"})
    ids = {one["value"]["question"]: one["id"] for one in asked["__interrupt__"]}
    one = await outcome(client.runs.wait(thread, "both", command={"resume": "yes"}))
    status = (await client.threads.get(thread))["status"]
    resume = {ids["left"]: "l", ids["right"]: "r"}
    return {
        "questions": sorted(ids),
        "one": one,
        "status": status,
        "each": await outcome(client.runs.wait(thread, "both", command={"resume": resume})),
    }


async def interrupt_before_a_node(client: LangGraphClient) -> dict:
    thread = await new_thread(client)
    given = {"input": {"text": "x"}, "interrupt_before": ["b"]}
    return {
        "stopped": await events(client.runs.stream(thread, "steps", **given, stream_mode=["values", "updates"])),
        "thread": (await client.threads.get(thread))["status"],
        "next": (await client.threads.get_state(thread))["next"],
        "continued": await outcome(client.runs.wait(thread, "steps")),
        "text": await outcome(client.runs.wait(None, "steps", input={"text": "x"}, interrupt_before="b")),
        "typo": await outcome(client.runs.wait(None, "steps", input={"text": "x"}, interrupt_before=["zzz"])),
    }


async def interrupt_in_the_streaming_protocol(client: LangGraphClient) -> dict:
    answers = {}
    for transport in ("sse", "websocket"):
        async with client.threads.stream(assistant_id="ask", transport=transport) as thread:
            await thread.run.start(input={"text": "x"})
            # How many values come, and whether the last one is the state, depends on when the subscription begins.
            async for _ in thread.values:
                pass
            answers[transport] = {"interrupted": thread.interrupted, "count": len(thread.interrupts)}
    return answers
