"""Every method of the LangSmith Python SDK, unmodified, against a server: `langsmith_checks.py <address> <key>`.

Prints one JSON object for each method: its name, `served` or `refused`, and what went wrong.
"""

import asyncio
import inspect
import json
import os
import re
import sys
import time
import warnings
from datetime import datetime, timezone
from uuid import uuid4

import httpx
import httpx2
import pandas
import requests
from langsmith import AsyncClient, Client, __version__
from langsmith.schemas import ExampleCreate, ExampleUpdate
from langsmith.utils import LangSmithConflictError

warnings.filterwarnings("ignore")

# Methods and properties that ask the server nothing, or that are parts of the client with calls of their own below.
LOCAL = set(
    """aclose api_key api_url cleanup close compressed_traces flush_compressed_traces get_run_url headers otel_exporter
    request_with_retries retry_config session timeout_ms tracing_mode tracing_queue tracing_sample_rate workspace_id""".split()
)
# The SDK refuses these itself.
GONE = {f"{verb}_feedback_formula" for verb in ["create", "update", "delete"]}
GONE |= {"get_feedback_formula_by_id", "list_feedback_formulas"}
# They need a model, what the refused calls would give, or a route that `/info` does not announce. ../load has `evaluate` and its results.
WITHOUT = set("""upsert_examples_multipart generate_insights poll_insights
    aevaluate aevaluate_run evaluate evaluate_run get_test_results aread_project""".split())

ID = "00000000-0000-4000-8000-000000000000"
CATEGORIES = {"type": "categorical", "categories": [{"value": 0, "label": "bad"}, {"value": 1, "label": "good"}]}


def now():
    return datetime.now(timezone.utc)


class State:
    """What earlier calls have made."""

    def __init__(self):
        self.run = str(uuid4())
        self.name = f"p-{self.run}"
        self.dotted = f"{now().strftime('%Y%m%dT%H%M%S%fZ')}{self.run}"


async def first(items):
    items = await items if inspect.isawaitable(items) else items
    if hasattr(items, "__aiter__"):
        return await anext(aiter(items), None)
    return next(iter(items), None)


async def done(answer):
    return await answer if inspect.isawaitable(answer) else answer


async def seen(ask, is_there, seconds=10):
    """Asks again until something is there: traces are sent in the background."""
    until = time.time() + seconds
    while True:
        try:
            answer = await ask()
            if is_there(answer):
                return answer
        except Exception:
            if time.time() > until:
                raise
        assert time.time() < until, "it did not come"
        await asyncio.sleep(0.1)


async def create_project(c, s):
    s.project = str((await done(c.create_project(s.name))).id)


async def create_run(c, s):
    await done(
        c.create_run(
            "r",
            {"q": 1},
            "chain",
            project_name=s.name,
            id=s.run,
            trace_id=s.run,
            dotted_order=s.dotted,
            start_time=now(),
        )
    )
    await flushed(c)
    await seen(lambda: done(c.read_run(s.run)), lambda run: run.inputs == {"q": 1})


async def flushed(c):
    if hasattr(c, "flush"):
        await asyncio.to_thread(c.flush)


async def update_run(c, s):
    await done(c.update_run(s.run, outputs={"a": 2}, end_time=now(), trace_id=s.run, dotted_order=s.dotted))
    await flushed(c)
    await seen(lambda: done(c.read_run(s.run)), lambda run: run.outputs == {"a": 2})


def patch(s, **more):
    return [{"id": s.run, "trace_id": s.run, "dotted_order": s.dotted, **more}]


async def multipart_ingest(c, s):
    c.multipart_ingest(update=patch(s, tags=["m"]))
    await seen(lambda: done(c.read_run(s.run)), lambda run: run.tags == ["m"])


async def create_dataset(c, s):
    s.dataset = str((await done(c.create_dataset(f"d-{uuid4()}"))).id)
    s.dataset_name = (await done(c.read_dataset(dataset_id=s.dataset))).name


async def create_example(c, s):
    s.example = str((await done(c.create_example(inputs={"a": 1}, outputs={"b": 2}, dataset_id=s.dataset))).id)


async def create_comparative_experiment(c, s):
    made = [c.create_project(f"e{n}-{uuid4()}", reference_dataset_id=s.dataset).id for n in range(2)]
    s.experiment = str(made[0])
    c.create_comparative_experiment(f"c-{s.run}", made)


async def create_feedback(c, s):
    s.feedback = str((await done(c.create_feedback(s.run, "k", score=1, trace_id=s.run))).id)
    await flushed(c)
    await seen(lambda: done(c.read_feedback(s.feedback)), lambda feedback: feedback.score == 1)


async def create_presigned_feedback_token(c, s):
    s.token = (await done(c.create_presigned_feedback_token(s.run, "k"))).url


async def share_run(c, s):
    s.share = (await done(c.share_run(s.run))).split("/public/")[1].split("/")[0]


async def share_dataset(c, s):
    s.public_dataset = c.share_dataset(dataset_id=s.dataset)["share_token"]


async def upload_csv(c, s):
    made = c.upload_csv(("x.csv", b"a,b\n1,2"), ["a"], ["b"], name=f"csv-{uuid4()}")
    [example] = c.list_examples(dataset_id=made.id)
    assert (example.inputs, example.outputs) == ({"a": "1"}, {"b": "2"}), example


async def upload_dataframe(c, s):
    made = c.upload_dataframe(pandas.DataFrame({"a": [1, 2], "b": [3, 4]}), f"df-{uuid4()}", ["a"], ["b"])
    assert len(list(c.list_examples(dataset_id=made.id))) == 2


async def get_experiment_results(c, s):
    results = c.get_experiment_results(project_id=s.experiment)
    rows = list(results["examples_with_runs"])
    assert rows and str(rows[0].dataset_id) == s.dataset and rows[0].runs == [], rows


async def experiment_runs(c, s):
    if not hasattr(s, "experiment"):
        s.experiment = str((await done(c.create_project(f"e-{uuid4()}", reference_dataset_id=s.dataset))).id)
    row = await first(c.datasets.experiment_runs.query(s.dataset, experiment_ids=[s.experiment]))
    assert row, row


async def create_annotation_queue(c, s):
    made = await done(
        c.create_annotation_queue(name=f"q-{uuid4()}", rubric_instructions="read", rubric_items=[{"feedback_key": "k"}])
    )
    s.queue = str(made.id)
    assert (await done(c.read_annotation_queue(s.queue))).name == made.name


async def add_runs_to_annotation_queue(c, s):
    await done(c.add_runs_to_annotation_queue(s.queue, run_ids=[s.run]))


async def get_run_from_annotation_queue(c, s):
    run = await done(c.get_run_from_annotation_queue(s.queue, index=0))
    assert str(run.id) == s.run and run.added_at, run


async def list_runs_from_annotation_queue(c, s):
    run = await first(c.list_runs_from_annotation_queue(s.queue, status="needs_my_review"))
    assert str(run.id) == s.run, run


async def annotation_queues(c, s):
    assert await done(c.annotation_queues.retrieve(s.queue))


def manifest(text):
    kwargs = {"template": text, "input_variables": [], "template_format": "f-string"}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "prompts", "prompt", "PromptTemplate"],
        "kwargs": kwargs,
    }


async def create_prompt(c, s):
    made = await done(c.create_prompt(f"py-{s.run}", description="d", readme="r", tags=["t"]))
    assert made.repo_handle == f"py-{s.run}" and made.num_commits == 0 and made.tags == ["t"], made


async def create_commit(c, s):
    url = await done(c.create_commit(f"py-{s.run}", manifest("one"), tags=["prod", "v1"], description="first"))
    assert f"/prompts/py-{s.run}/" in url, url


async def push_prompt(c, s):
    await done(c.push_prompt(f"py-{s.run}", object=manifest("two"), commit_tags="v2"))
    try:
        await done(c.push_prompt(f"py-{s.run}", object=manifest("two")))
    except LangSmithConflictError:
        return
    raise AssertionError("a commit without a change")


async def pull_prompt_commit(c, s):
    for word, text in [("", "two"), (":prod", "one"), (":v2", "two")]:
        pulled = await done(c.pull_prompt_commit(f"py-{s.run}{word}"))
        assert pulled.manifest == manifest(text) and pulled.examples == [], pulled


async def pull_prompt(c, s):
    prompt = await done(c.pull_prompt(f"py-{s.run}:prod"))
    assert prompt.template == "one", prompt


async def list_prompt_commits(c, s):
    found = c.list_prompt_commits(f"py-{s.run}")
    commits = [one async for one in found] if hasattr(found, "__aiter__") else list(found)
    assert [one.description for one in commits] == [None, "first"], commits
    assert commits[0].parent_commit_hash == commits[1].commit_hash, commits


async def get_prompt(c, s):
    assert (await done(c.get_prompt(f"py-{s.run}"))).num_commits == 2
    assert await done(c.get_prompt(f"none-{s.run}")) is None


async def update_prompt(c, s):
    changed = await done(c.update_prompt(f"py-{s.run}", description="changed"))
    assert changed["repo"]["description"] == "changed", changed


async def like_prompt(c, s):
    assert await done(c.like_prompt(f"py-{s.run}")) == {"likes": 1}


async def unlike_prompt(c, s):
    assert await done(c.unlike_prompt(f"py-{s.run}")) == {"likes": 0}


async def list_prompts(c, s):
    found = await done(c.list_prompts(query=f"py-{s.run}"))
    assert [one.repo_handle for one in found.repos] == [f"py-{s.run}"] and found.total == 1, found


async def delete_prompt(c, s):
    await done(c.delete_prompt(f"py-{s.run}"))
    assert await done(c.get_prompt(f"py-{s.run}")) is None


async def agent_exists(c, s):
    assert await done(c.agent_exists("-/a")) is False


async def skill_exists(c, s):
    assert await done(c.skill_exists("-/s")) is False


# In an order in which each finds what it needs.
SERVED = {
    "info": lambda c, s: c.info() if isinstance(c, AsyncClient) else c.info,
    "create_project": create_project,
    "create_run": create_run,
    "flush": lambda c, s: c.flush(),
    "update_run": update_run,
    "batch_ingest_runs": lambda c, s: c.batch_ingest_runs(update=patch(s, tags=["b"])),
    "multipart_ingest": multipart_ingest,
    "read_run": lambda c, s: c.read_run(s.run),
    "list_runs": lambda c, s: first(c.list_runs(project_name=s.name)),
    "runs": lambda c, s: first(c.runs.query(project_ids=[s.project])),
    "threads": lambda c, s: first(c.threads.query(project_id=s.project)),
    "traces": lambda c, s: first(c.traces.query(project_id=s.project, trace_ids=[s.run], selects=["ID"])),
    "list_threads": lambda c, s: c.list_threads(project_name=s.name),
    "read_thread": lambda c, s: first(c.read_thread(thread_id="t", project_name=s.name)),
    "get_run_stats": lambda c, s: c.get_run_stats(project_names=[s.name]),
    "share_run": share_run,
    "run_is_shared": lambda c, s: c.run_is_shared(s.run),
    "read_run_shared_link": lambda c, s: c.read_run_shared_link(s.run),
    "read_shared_run": lambda c, s: c.read_shared_run(s.share, s.run),
    "list_shared_runs": lambda c, s: first(c.list_shared_runs(s.share)),
    "public": lambda c, s: first(c.public.runs.query(s.share)),
    "unshare_run": lambda c, s: c.unshare_run(s.run),
    "has_project": lambda c, s: c.has_project(s.name),
    "read_project": lambda c, s: c.read_project(project_name=s.name),
    "update_project": lambda c, s: c.update_project(s.project, description="d"),
    "list_projects": lambda c, s: first(c.list_projects(name=s.name)),
    "sessions": lambda c, s: c.sessions.retrieve(s.project),
    "create_dataset": create_dataset,
    "read_dataset": lambda c, s: c.read_dataset(dataset_id=s.dataset),
    "has_dataset": lambda c, s: c.has_dataset(dataset_id=s.dataset),
    "list_datasets": lambda c, s: first(c.list_datasets()),
    "create_example": create_example,
    "create_examples": lambda c, s: c.create_examples(dataset_id=s.dataset, examples=[{"inputs": {"a": 2}}]),
    "create_llm_example": lambda c, s: c.create_llm_example("in", "out", dataset_id=s.dataset),
    "create_chat_example": lambda c, s: c.create_chat_example(
        [{"type": "human", "data": {"content": "hi"}}], dataset_id=s.dataset
    ),
    "create_example_from_run": lambda c, s: c.create_example_from_run(c.read_run(s.run), dataset_id=s.dataset),
    "upload_examples_multipart": lambda c, s: c.upload_examples_multipart(
        dataset_id=s.dataset, uploads=[ExampleCreate(inputs={"a": 5})]
    ),
    "update_examples_multipart": lambda c, s: c.update_examples_multipart(
        dataset_id=s.dataset, updates=[ExampleUpdate(id=s.example, inputs={"a": 6})]
    ),
    "read_example": lambda c, s: c.read_example(s.example),
    "list_examples": lambda c, s: first(c.list_examples(dataset_id=s.dataset)),
    "update_example": lambda c, s: c.update_example(s.example, inputs={"a": 7}, dataset_id=s.dataset),
    "update_examples": lambda c, s: c.update_examples(
        dataset_id=s.dataset, updates=[{"id": s.example, "inputs": {"a": 8}}]
    ),
    "update_dataset_tag": lambda c, s: c.update_dataset_tag(dataset_id=s.dataset, as_of=now(), tag="now"),
    "read_dataset_version": lambda c, s: c.read_dataset_version(dataset_id=s.dataset, tag="now"),
    "list_dataset_versions": lambda c, s: first(c.list_dataset_versions(dataset_id=s.dataset)),
    "diff_dataset_versions": lambda c, s: c.diff_dataset_versions(
        dataset_id=s.dataset, from_version="now", to_version="latest"
    ),
    "update_dataset_splits": lambda c, s: c.update_dataset_splits(
        dataset_id=s.dataset, split_name="s", example_ids=[s.example]
    ),
    "list_dataset_splits": lambda c, s: c.list_dataset_splits(dataset_id=s.dataset),
    "share_dataset": share_dataset,
    "read_dataset_shared_schema": lambda c, s: c.read_dataset_shared_schema(dataset_id=s.dataset),
    "read_shared_dataset": lambda c, s: c.read_shared_dataset(s.public_dataset),
    "list_shared_examples": lambda c, s: first(c.list_shared_examples(s.public_dataset)),
    "clone_public_dataset": lambda c, s: c.clone_public_dataset(
        f"{c.api_url}/public/{s.public_dataset}/d", source_api_url=c.api_url, dataset_name=f"clone-{uuid4()}"
    ),
    "unshare_dataset": lambda c, s: c.unshare_dataset(s.dataset),
    "create_comparative_experiment": create_comparative_experiment,
    "get_experiment_results": get_experiment_results,
    "datasets": experiment_runs,
    "upload_csv": upload_csv,
    "upload_dataframe": upload_dataframe,
    "read_dataset_openai_finetuning": lambda c, s: c.read_dataset_openai_finetuning(dataset_id=s.dataset),
    "create_annotation_queue": create_annotation_queue,
    "read_annotation_queue": lambda c, s: c.read_annotation_queue(s.queue),
    "update_annotation_queue": lambda c, s: c.update_annotation_queue(s.queue, name="r"),
    "list_annotation_queues": lambda c, s: first(c.list_annotation_queues(queue_ids=[s.queue])),
    "add_runs_to_annotation_queue": add_runs_to_annotation_queue,
    "get_run_from_annotation_queue": get_run_from_annotation_queue,
    "list_runs_from_annotation_queue": list_runs_from_annotation_queue,
    "annotation_queues": annotation_queues,
    "delete_run_from_annotation_queue": lambda c, s: c.delete_run_from_annotation_queue(s.queue, run_id=s.run),
    "delete_annotation_queue": lambda c, s: c.delete_annotation_queue(s.queue),
    "create_feedback": create_feedback,
    "read_feedback": lambda c, s: c.read_feedback(s.feedback),
    "update_feedback": lambda c, s: c.update_feedback(s.feedback, score=0),
    "list_feedback": lambda c, s: first(c.list_feedback(run_ids=[s.run])),
    "create_presigned_feedback_token": create_presigned_feedback_token,
    "create_presigned_feedback_tokens": lambda c, s: c.create_presigned_feedback_tokens(s.run, ["k", "l"]),
    "list_presigned_feedback_tokens": lambda c, s: first(c.list_presigned_feedback_tokens(s.run)),
    "create_feedback_from_token": lambda c, s: c.create_feedback_from_token(s.token, score=1),
    "create_feedback_config": lambda c, s: c.create_feedback_config(f"k-{s.run}", feedback_config=CATEGORIES),
    "list_feedback_configs": lambda c, s: first(c.list_feedback_configs()),
    "update_feedback_config": lambda c, s: c.update_feedback_config(f"k-{s.run}", is_lower_score_better=True),
    "add_feedback_categories": lambda c, s: c.add_feedback_categories(f"k-{s.run}", [{"value": 2, "label": "great"}]),
    "remove_feedback_categories": lambda c, s: c.remove_feedback_categories(f"k-{s.run}", [2]),
    "delete_feedback_config": lambda c, s: c.delete_feedback_config(f"k-{s.run}"),
    "delete_feedback": lambda c, s: c.delete_feedback(s.feedback),
    "create_prompt": create_prompt,
    "create_commit": create_commit,
    "push_prompt": push_prompt,
    "pull_prompt_commit": pull_prompt_commit,
    "pull_prompt": pull_prompt,
    "list_prompt_commits": list_prompt_commits,
    "get_prompt": get_prompt,
    "update_prompt": update_prompt,
    "like_prompt": like_prompt,
    "unlike_prompt": unlike_prompt,
    "list_prompts": list_prompts,
    "delete_prompt": delete_prompt,
    "agent_exists": agent_exists,
    "skill_exists": skill_exists,
    "delete_example": lambda c, s: c.delete_example(s.example),
    "delete_examples": lambda c, s: c.delete_examples([next(c.list_examples(dataset_id=s.dataset)).id]),
    "delete_dataset": lambda c, s: c.delete_dataset(dataset_id=s.dataset),
    "delete_project": lambda c, s: c.delete_project(project_id=s.project),
}

REFUSED = {
    "agents": lambda c, s: first(c.agents.list()),
    "evaluators": lambda c, s: first(c.evaluators.list()),
    "sandboxes": lambda c, s: first(c.sandboxes.boxes.list()),
    "list_shared_projects": lambda c, s: first(c.list_shared_projects(dataset_share_token=ID)),
    "get_insights_report": lambda c, s: c.get_insights_report(id=ID, project_id=ID),
    "list_project_issues": lambda c, s: first(c.list_project_issues(s.name)),
    "pull_agent": lambda c, s: c.pull_agent("-/a"),
    "pull_skill": lambda c, s: c.pull_skill("-/s"),
    "push_agent": lambda c, s: c.push_agent("-/a", files={}),
    "push_skill": lambda c, s: c.push_skill("-/s", files={}),
    "delete_agent": lambda c, s: c.delete_agent("-/a"),
    "delete_skill": lambda c, s: c.delete_skill("-/s"),
    "list_agents": lambda c, s: c.list_agents(),
    "list_skills": lambda c, s: c.list_skills(),
}


# Agents and skills are looked for among the prompts first.
LOOKED_UP = re.compile(r"/(?:info|settings|repos/-/\w+)$")


def methods_of(kind):
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def is_refusal(status, text):
    return status == 501 and "docs/experiments.md" in text


# Status, address and text of each answer.
ANSWERS = []


def watch():
    """Notes what the SDK's HTTP clients are answered."""

    def watched(of, text):
        def send(self, *args, **more):
            answer = of(self, *args, **more)
            ANSWERS.append((answer.status_code, str(answer.url), text(answer)))
            return answer

        return send

    def watched_async(of):
        async def send(self, *args, **more):
            answer = await of(self, *args, **more)
            ANSWERS.append((answer.status_code, str(answer.url), (await answer.aread()).decode()))
            return answer

        return send

    requests.Session.send = watched(requests.Session.send, lambda answer: answer.text)
    for library in (httpx, httpx2):
        library.Client.send = watched(library.Client.send, lambda answer: answer.read().decode())
        library.AsyncClient.send = watched_async(library.AsyncClient.send)


async def check(kind, address, key):
    known = LOCAL | GONE | WITHOUT | set(SERVED) | set(REFUSED)
    report(kind, "methods", None, sorted(methods_of(kind) - known))

    def client():
        if kind is AsyncClient:
            return AsyncClient(api_url=address, api_key=key, retry_config={"max_retries": 1})
        return Client(api_url=address, api_key=key)

    state, one = State(), client()
    own = methods_of(kind)
    for name, call in SERVED.items():
        if name in own:
            report(kind, name, "served", await failure(call, one, state))
    for name, call in REFUSED.items():
        if name not in own:
            continue
        ANSWERS.clear()
        # A client of its own for each, for clients keep what they were answered.
        error = await failure(call, client(), state)
        asked = [(status, text) for status, url, text in ANSWERS if not LOOKED_UP.search(url)]
        others = [status for status, text in asked if not is_refusal(status, text)]
        refused = any(is_refusal(*answer) for answer in asked)
        report(kind, name, "refused", None if refused and not others else f"{error} {others}")


async def failure(call, client, state):
    try:
        await asyncio.wait_for(done(call(client, state)), 30)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


def report(kind, name, expected, error):
    print(json.dumps({"client": kind.__name__, "method": name, "expected": expected, "error": error}), flush=True)


async def main(address, key):
    watch()
    for kind in (Client, AsyncClient):
        await check(kind, address, key)


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(json.dumps({"version": __version__}))
    else:
        asyncio.run(main(*sys.argv[1:]))
        # Threads of clients may still wait for something.
        os._exit(0)
