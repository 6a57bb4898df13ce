/** What a trace says of a run that was stopped. */
import { expect, it } from "vitest";
import { type TraceEnd, Tracer } from "../../src/runtime/tracer.ts";
import "../../src/runtime/install.ts";

const end = (status: string, error?: string): TraceEnd => ({
  run: { status, queued_ms: 0, took_ms: 1 },
  root: { id: crypto.randomUUID(), name: "agent", inputs: {}, began: Date.now() },
  error,
  project: "default",
});

/** The errors of a graph and its node whose calls end with the abort, after the run was stopped or before. */
function readErrors(isStopped: boolean, error?: string): unknown[] {
  const stop = new AbortController();
  const tracer = new Tracer({}, stop.signal);
  const [graph, node] = [crypto.randomUUID(), crypto.randomUUID()];
  tracer.handleChainStart({} as never, {}, graph, undefined, [], {}, undefined, "agent");
  tracer.handleChainStart({} as never, {}, node, graph, [], {}, undefined, "model");
  if (isStopped) stop.abort("interrupt");
  for (const id of [node, graph]) tracer.handleChainError("Abort", id);
  return tracer.finish(end("interrupted", error)).map((text) => (JSON.parse(text) as { error?: string }).error);
}

it("calls that a stop cuts off have no error, also where the graph reports its end before the run does", () => {
  expect(readErrors(true)).toEqual([undefined, undefined]);
  expect(readErrors(false)).toEqual(["Abort", "Abort"]);
});

it("calls that a timeout cuts off have the error of the run", () => {
  expect(readErrors(true, "TimeoutError: too long")).toEqual(["TimeoutError: too long", "TimeoutError: too long"]);
});
