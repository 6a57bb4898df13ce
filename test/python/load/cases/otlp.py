"""Spans of the stock OpenTelemetry SDK, which sends them over OTLP in batches."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from load.target import Demands, Target, new_name, runs_of, settled

# It has no exact float.
LARGE = 1234567890123456789


def provider_for(target: Target, project: str) -> TracerProvider:
    provider = TracerProvider(resource=Resource.create({"service.name": "load"}))
    headers = {**target.headers, "Langsmith-Project": project}
    exporter = OTLPSpanExporter(endpoint=f"{target.api}/otel/v1/traces", headers=headers)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=10_000, schedule_delay_millis=50))
    return provider


async def spans_of_many_threads(target: Target, demand: Demands) -> None:
    """200 traces of four spans from eight threads: 800 spans."""
    project = new_name("spans")
    provider = provider_for(target, project)
    tracer = provider.get_tracer("load")

    def trace(number: int) -> None:
        with tracer.start_as_current_span("root", attributes={"number": number}):
            with tracer.start_as_current_span("middle"):
                for name in ("left", "right"):
                    tracer.start_span(name).end()

    with ThreadPoolExecutor(8) as pool:
        await asyncio.to_thread(lambda: list(pool.map(trace, range(200))))
    await asyncio.to_thread(provider.shutdown)
    client = target.client()
    runs = await settled(lambda: runs_of(client, project), lambda runs: len(runs) == 800)
    demand.equal("runs", len(runs), 800)
    names = {run.id: run.name for run in runs}
    pairs = [(names.get(run.parent_run_id), run.name) for run in runs]
    wanted = {(None, "root"): 200, ("root", "middle"): 200, ("middle", "left"): 200, ("middle", "right"): 200}
    demand.equal("pairs", {pair: pairs.count(pair) for pair in pairs}, wanted)
    numbers = sorted(run.metadata.get("number", -1) for run in runs if run.name == "root")
    demand.equal("attributes", numbers, list(range(200)))


async def texts_and_integers_of_spans(target: Target, demand: Demands) -> None:
    """Nothing of a model's span is lost or changed: texts of events, integers in attributes and in JSON."""
    project = new_name("values")
    provider = provider_for(target, project)
    with provider.get_tracer("load").start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("large", LARGE)
        span.add_event("gen_ai.user.message", {"content": "the question"})
        span.add_event("gen_ai.choice", {"message": "the answer", "finish_reason": "stop"})
    with provider.get_tracer("load").start_as_current_span("tool") as span:
        span.set_attribute("input.value", json.dumps({"id": LARGE}))
        span.set_attribute("input.mime_type", "application/json")
    await asyncio.to_thread(provider.shutdown)
    client = target.client()
    runs = await settled(lambda: runs_of(client, project), lambda runs: len(runs) == 2)
    demand.equal("runs", sorted(run.name for run in runs), ["chat", "tool"])
    by_name = {run.name: run for run in runs}
    chat, tool = by_name["chat"], by_name["tool"]
    demand.equal("question", "the question" in json.dumps(chat.inputs), True)
    demand.equal("answer", "the answer" in json.dumps(chat.outputs), True)
    demand.equal("attribute", chat.metadata.get("large"), LARGE)
    demand.equal("input", tool.inputs, {"id": LARGE})
