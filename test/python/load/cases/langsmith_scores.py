"""Feedback that the langsmith client sends in the background, also that of `evaluate()`."""

import asyncio
from collections import Counter

from langsmith import Client

from load.cases.langsmith_runs import new_run
from load.target import Demands, Target, new_name, settled

EXAMPLES, REPETITIONS, KEYS = 30, 3, 12


async def feedback_of_many_runs(target: Target, demand: Demands) -> None:
    """1,000 scores for 40 runs, with no wait."""
    client, project = target.client(), new_name("feedback")
    runs = [new_run(number, project_name=project) for number in range(40)]
    for run in runs:
        client.create_run(**run)
    await asyncio.to_thread(client.flush)
    for key in range(25):
        for number, run in enumerate(runs):
            client.create_feedback(run["id"], f"key {key}", score=number / 40, trace_id=run["id"])
    await asyncio.to_thread(client.flush)
    found = await _scores(client, [run["id"] for run in runs], 1_000)
    demand.equal("count", len(found), 1_000)
    demand.equal("keys", sorted(set(Counter(one.key for one in found).values())), [40])


async def evaluate_at_once(target: Target, demand: Demands) -> None:
    """`evaluate()` with four calls at a time: every score of every key of every run is there, and the mean is right."""
    client = target.client()
    dataset = client.create_dataset(new_name("dataset"))
    client.create_examples(
        dataset_id=dataset.id, examples=[{"inputs": {"n": n}, "outputs": {"n": n}} for n in range(EXAMPLES)]
    )

    def answer(inputs: dict) -> dict:
        return {"n": inputs["n"]}

    def scores(outputs: dict) -> dict:
        return {"results": [{"key": f"key {key}", "score": outputs["n"] % 2} for key in range(KEYS)]}

    results = await asyncio.to_thread(
        lambda: client.evaluate(
            answer, data=dataset.id, evaluators=[scores], num_repetitions=REPETITIONS, max_concurrency=4
        )
    )
    await asyncio.to_thread(client.flush)
    rows = EXAMPLES * REPETITIONS
    runs = await settled(
        lambda: list(client.list_runs(project_name=results.experiment_name, is_root=True)),
        lambda runs: len(runs) == rows,
    )
    demand.equal("runs", len(runs), rows)
    demand.equal(
        "examples", Counter(Counter(run.reference_example_id for run in runs).values()), Counter({3: EXAMPLES})
    )
    table = await asyncio.to_thread(lambda: client.get_test_results(project_name=results.experiment_name))
    # The client joins runs and examples in batches, and may repeat a run.
    demand.equal("table", table["id"].nunique(), rows)
    found = await _scores(client, [run.id for run in runs], rows * KEYS)
    demand.equal("scores", len(found), rows * KEYS)
    project = await asyncio.to_thread(
        lambda: client.read_project(project_name=results.experiment_name, include_stats=True)
    )
    stats = {key: (one["n"], round(one["avg"], 4)) for key, one in (project.feedback_stats or {}).items()}
    demand.equal("means", stats, {f"key {key}": (rows, 0.5) for key in range(KEYS)})


async def _scores(client: Client, ids: list, count: int) -> list:
    return await settled(lambda: list(client.list_feedback(run_ids=ids)), lambda found: len(found) >= count)
