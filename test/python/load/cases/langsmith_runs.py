"""Runs that the langsmith client sends in the background, with no wait between calls."""

import asyncio
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

from langsmith import Client, traceable, tracing_context, uuid7

from load.target import Demands, Target, new_name, runs_of, settled

# The largest id of a database, and the first integer that has no exact float.
INTEGERS = {"id": 2**63 - 1, "odd": 2**53 + 1, "nested": [{"id": 1234567890123456789}]}


def new_run(number: int, **more: Any) -> dict:
    """A root run as `create_run` takes it, which the client sends in a batch."""
    id = uuid7()
    start = datetime.now(timezone.utc)
    return {
        "id": id,
        "trace_id": id,
        "dotted_order": f"{start.strftime('%Y%m%dT%H%M%S%fZ')}{id}",
        "name": f"run {number}",
        "run_type": "chain",
        "inputs": {"number": number},
        "start_time": start,
        **more,
    }


def patch_of(run: dict) -> dict:
    """The end of a run as the client's own patches have it: without the project."""
    kept = {key: run[key] for key in ("trace_id", "dotted_order")}
    return {**kept, "outputs": run["inputs"], "end_time": datetime.now(timezone.utc)}


async def functions_in_many_threads(target: Target, demand: Demands) -> None:
    """Traced functions, three deep, in eight threads at once: 600 runs."""
    client, project = target.client(), new_name("functions")

    @traceable(client=client)
    def leaf(number: int) -> int:
        return number + 1

    @traceable(client=client)
    def middle(number: int) -> int:
        return leaf(number) * 2

    @traceable(client=client)
    def root(number: int) -> dict:
        return {"answer": middle(number)}

    def call(number: int) -> None:
        with tracing_context(enabled=True, project_name=project):
            root(number)

    with ThreadPoolExecutor(8) as pool:
        await asyncio.to_thread(lambda: list(pool.map(call, range(200))))
    await asyncio.to_thread(client.flush)
    runs = await settled(
        lambda: runs_of(client, project), lambda runs: len(runs) == 600 and all(run.end_time for run in runs)
    )
    demand.equal("runs", len(runs), 600)
    demand.equal("pending", sum(run.end_time is None for run in runs), 0)
    roots = {run.id: run for run in runs if run.parent_run_id is None}
    demand.equal("answers", sorted(run.outputs["answer"] for run in roots.values() if run.outputs), _answers())
    parents = {run.id: run for run in runs}
    orphans = [run.name for run in runs if run.parent_run_id and run.parent_run_id not in parents]
    demand.equal("orphans", orphans, [])
    children = [(parents[run.parent_run_id].name, run.name) for run in runs if run.parent_run_id in parents]
    demand.equal(
        "pairs", {pair: children.count(pair) for pair in children}, {("root", "middle"): 200, ("middle", "leaf"): 200}
    )
    inside = [
        run.dotted_order.startswith(parents[run.parent_run_id].dotted_order)
        for run in runs
        if run.parent_run_id in parents
    ]
    demand.equal("order", all(inside), True)


def _answers() -> list[int]:
    return [(number + 1) * 2 for number in range(200)]


async def patches_without_a_project(target: Target, demand: Demands) -> None:
    """Runs of up to 0.3 s in eight threads, whose patches name no project: 200 runs."""
    client, project = target.client(), new_name("patches")
    runs = [new_run(number, project_name=project) for number in range(200)]

    def send(run: dict) -> None:
        client.create_run(**run)
        # Some patches are in the batch of their post, others in a later one.
        time.sleep(run["inputs"]["number"] % 7 * 0.05)
        client.update_run(run["id"], **patch_of(run))

    with ThreadPoolExecutor(8) as pool:
        await asyncio.to_thread(lambda: list(pool.map(send, runs)))
    await asyncio.to_thread(client.flush)
    await _demand_ended(client, project, [run["id"] for run in runs], demand)


async def patches_before_posts(target: Target, demand: Demands) -> None:
    """The patches are in a request of their own that comes first, once with and once without the project."""
    client = target.client()
    for name, names_project in (("with_project", True), ("without_project", False)):
        project = new_name("early")
        runs = [new_run(number) for number in range(20)]
        more = {"session_name": project} if names_project else {}
        patches = [{"id": run["id"], **patch_of(run), **more} for run in runs]
        await asyncio.to_thread(client.multipart_ingest, update=patches)
        posts = [{**new, "session_name": project} for new in runs]
        await asyncio.to_thread(client.multipart_ingest, create=posts)
        await _demand_ended(client, project, [run["id"] for run in runs], demand, f"{name}.")


async def _demand_ended(client: Client, project: str, ids: list[UUID], demand: Demands, prefix: str = "") -> None:
    """Each run is in its project, once, with its end; and nothing is in the default project."""
    runs = await settled(
        lambda: runs_of(client, project), lambda runs: len(runs) == len(ids) and all(run.outputs for run in runs)
    )
    demand.equal(f"{prefix}runs", len(runs), len(ids))
    demand.equal(f"{prefix}ended", sum(run.outputs == run.inputs for run in runs), len(ids))
    ghosts = await asyncio.to_thread(lambda: [run.id for run in runs_of(client, "default") if run.id in set(ids)])
    demand.equal(f"{prefix}ghosts", len(ghosts), 0)


async def a_large_batch(target: Target, demand: Demands) -> None:
    """1,000 runs of 20 KB each, as fast as the client takes them."""
    client, project = target.client(), new_name("large")
    sent = {}
    for number in range(1_000):
        run = new_run(number, project_name=project)
        # Text that does not compress.
        run["inputs"] = {"text": "".join(hashlib.sha256(f"{number} {n}".encode()).hexdigest() for n in range(312))}
        sent[run["id"]] = run["inputs"]
        client.create_run(**run, outputs={"number": number}, end_time=datetime.now(timezone.utc))
    await asyncio.to_thread(client.flush)
    runs = await settled(lambda: runs_of(client, project), lambda runs: len(runs) == len(sent))
    demand.equal("runs", len(runs), len(sent))
    demand.equal("inputs", sum(run.inputs == sent.get(run.id) for run in runs), len(sent))
    demand.equal("outputs", sorted(run.outputs["number"] for run in runs if run.outputs), list(range(1_000)))


async def steps_that_share_a_tool_result(target: Target, demand: Demands) -> None:
    """50 steps of an agent whose inputs repeat one result of 108 KB."""
    client, project = target.client(), new_name("repetitive")
    result = "\n".join(f"row {n}: {n % 7} of {n % 11} in stock, state ok" for n in range(2_800))
    for number in range(50):
        run = new_run(number, project_name=project)
        run["inputs"] = {"messages": [{"role": "tool", "content": result}]}
        client.create_run(**run, outputs={"number": number}, end_time=datetime.now(timezone.utc))
    await asyncio.to_thread(client.flush)
    runs = await settled(lambda: runs_of(client, project), lambda runs: len(runs) == 50)
    demand.equal("runs", len(runs), 50)


async def integers_past_2_53(target: Target, demand: Demands) -> None:
    client, project = target.client(), new_name("integers")
    run = {**new_run(0, project_name=project), "inputs": INTEGERS, "extra": {"metadata": INTEGERS}}
    client.create_run(**run, outputs=INTEGERS, end_time=datetime.now(timezone.utc))
    await asyncio.to_thread(client.flush)
    [found] = await settled(lambda: runs_of(client, project), lambda runs: len(runs) == 1)
    demand.equal("inputs", found.inputs, INTEGERS)
    demand.equal("outputs", found.outputs, INTEGERS)
    demand.equal("metadata", {key: found.metadata.get(key) for key in INTEGERS}, INTEGERS)


async def costs_of_nested_functions(target: Target, demand: Demands) -> None:
    """40 model calls, each below three functions. Their sum is the project's."""
    client, project = target.client(), new_name("costs")
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 500,
        "total_tokens": 1_500,
        "input_cost": 0.001,
        "output_cost": 0.002,
    }

    @traceable(client=client, run_type="llm", metadata={"ls_provider": "own", "ls_model_name": "own"})
    def model(text: str) -> dict:
        return {"text": text, "usage_metadata": usage}

    @traceable(client=client)
    def outer(depth: int) -> dict:
        return outer(depth - 1) if depth > 1 else model("hi")

    def call(_number: int) -> None:
        with tracing_context(enabled=True, project_name=project):
            outer(3)

    with ThreadPoolExecutor(4) as pool:
        await asyncio.to_thread(lambda: list(pool.map(call, range(40))))
    await asyncio.to_thread(client.flush)
    await settled(lambda: runs_of(client, project), lambda runs: len(runs) == 160 and all(run.end_time for run in runs))
    stats = await asyncio.to_thread(lambda: client.read_project(project_name=project, include_stats=True))
    demand.equal("project.tokens", stats.total_tokens, 40 * 1_500)
    demand.equal("project.cost", round(float(stats.total_cost or 0), 6), 0.12)
    roots = runs_of(client, project, is_root=True)
    demand.equal("roots.tokens", sum(run.total_tokens or 0 for run in roots), 40 * 1_500)
    models = runs_of(client, project, run_type="llm")
    demand.equal("models.tokens", sum(run.total_tokens or 0 for run in models), 40 * 1_500)
    all_runs = await asyncio.to_thread(lambda: client.get_run_stats(project_names=[project]))
    demand.equal("stats.tokens", all_runs["total_tokens"], 40 * 1_500)
