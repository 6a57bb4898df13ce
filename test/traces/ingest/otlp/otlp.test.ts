/** What becomes of the spans of each convention: recorded spans over OTLP/HTTP, read back as runs. */
import { describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { AI_SDK } from "./spans/ai-sdk.ts";
import { GEN_AI } from "./spans/gen-ai.ts";
import { OPENINFERENCE } from "./spans/openinference.ts";
import type { Shape } from "./spans/shape.ts";

const SHAPES: Record<string, Shape[]> = {
  "the Vercel AI SDK": AI_SDK,
  "OpenTelemetry for generative AI": GEN_AI,
  OpenInference: OPENINFERENCE,
};

const START = Date.UTC(2026, 10, 20, 12);

interface Run extends Record<string, unknown> {
  name: string;
  extra: { metadata: Record<string, unknown>; invocation_params: Record<string, unknown> };
  events: { name: string }[] | null;
  first_token_time: string | null;
}

/** A value as OTLP's JSON has it. */
function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: (value as unknown[]).map(anyValue) } };
}

function keyValues(attributes: Record<string, unknown> = {}): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** Sends one span and gives its run. */
async function sendSpan(caller: Caller, shape: Shape): Promise<Run> {
  const nanos = (ms: number) => `${START + ms}000000`;
  const hex = crypto.randomUUID().replaceAll("-", "");
  const span = {
    traceId: hex,
    spanId: hex.slice(0, 16),
    name: shape.name,
    startTimeUnixNano: nanos(0),
    endTimeUnixNano: nanos(1_000),
    attributes: keyValues(shape.attributes),
    events: (shape.events ?? []).map(({ name, attributes }) => ({
      name,
      timeUnixNano: nanos(10),
      attributes: keyValues(attributes),
    })),
  };
  const resource = { attributes: keyValues(shape.resource) };
  const sent = await caller.fetch("/otel/v1/traces", {
    headers: { "langsmith-project": "spans" },
    body: { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] },
  });
  expect(await sent.json()).toEqual({ partialSuccess: {} });
  const id = `00000000-0000-0000-${hex.slice(0, 4)}-${hex.slice(4, 16)}`;
  return (await caller.fetch(`/runs/${id}`)).json<Run>();
}

describe.each(Object.entries(SHAPES))("%s", (_convention, shapes) => {
  it.each(shapes.map((shape) => [shape.name, shape] as const))("%s", async (_name, shape) => {
    const { metadata = {}, invocation_params = {}, events = [], first_token = null, ...fields } = shape.run;
    const run = await sendSpan(await newCaller(), shape);
    expect(run).toMatchObject(fields);
    expect(run.extra).toMatchObject({ metadata, invocation_params });
    expect((run.events ?? []).map(({ name }) => name)).toEqual(events);
    const { first_token_time: first } = run;
    expect(first && Date.parse(`${first.replace("Z", "")}Z`) - START).toBe(first_token);
  });
});

it("messages and settings are not repeated in the metadata", async () => {
  for (const shape of Object.values(SHAPES).flat()) {
    const { extra } = await sendSpan(await newCaller(), shape);
    const names = Object.keys(extra.metadata).filter((name) => /^(ai|gen_ai|llm|input|output)\./.test(name));
    expect(names).toEqual([]);
  }
});

describe("the project", () => {
  const resource = { "openinference.project.name": "phoenix", "langsmith.trace.session_name": "named" };
  it("a resource names it, and the header wins over OpenInference's", async () => {
    const caller = await newCaller();
    const readSent = async (shape: object) => {
      const run = await sendSpan(caller, { name: "x", attributes: {}, run: {}, ...shape });
      const session = await caller.fetch(`/sessions/${String(run["session_id"])}`);
      return (await session.json<{ name: string }>()).name;
    };
    expect(await readSent({ resource })).toBe("named");
    expect(await readSent({ resource: { "openinference.project.name": "phoenix" } })).toBe("spans");
  });
});
