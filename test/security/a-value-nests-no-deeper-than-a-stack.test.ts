/** A value in a text within a body, or in a query, nests as deep as its sender likes: the answer is never a fault of the server. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";

/** JSON of so many levels, each of two characters and more. */
const nestObjects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const brief = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

async function expectHandled(response: Response): Promise<void> {
  const text = await response.text();
  expect(response.status).toBeLessThan(500);
  expect(text).not.toContain("RangeError");
}

const agui = (messages: object[], more: object = {}) => ({
  threadId: crypto.randomUUID(),
  runId: crypto.randomUUID(),
  state: {},
  tools: [],
  context: [],
  forwardedProps: {},
  messages,
  ...more,
});
const call = (args: string) => ({ id: "c", type: "function", function: { name: "f", arguments: args } });

describe.each([1_000, 8_000, 100_000])("%i levels", (levels) => {
  it("in the arguments of a tool call over AG-UI", async () => {
    const messages = [
      { id: "1", role: "user", content: "hello" },
      { id: "2", role: "assistant", content: "", toolCalls: [call(nestObjects(levels))] },
      { id: "3", role: "tool", content: "done", toolCallId: "c" },
    ];
    const response = await caller.fetch("/agui/echo", { body: agui(messages) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("RUN_FINISHED");
  });

  it("in an answer over AG-UI", async () => {
    const forwardedProps = { command: { resume: nestObjects(levels) } };
    await expectHandled(await caller.fetch("/agui/echo", { body: agui([], { forwardedProps }) }));
  });

  it("in an attribute of a span", async () => {
    const attributes = [
      "input.value",
      "llm.invocation_parameters",
      "metadata",
      "gen_ai.prompt",
      "llm.input_messages",
    ].map((key) => ({ key, value: { stringValue: nestObjects(levels) } }));
    const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", name: "x", attributes };
    const times = { startTimeUnixNano: "1763640000000000000", endTimeUnixNano: "1763640001000000000" };
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, ...times }] }] }] };
    await expectHandled(await caller.fetch("/otel/v1/traces", { body }));
  });

  it("in the metadata of a client", async () => {
    const body = `{"redirect_uris":["https://a.example/x"],"client_name":"x","other":${nestObjects(levels)}}`;
    await expectHandled(await caller.fetch("/oauth/register", { method: "POST", body }));
  });

  it("in a cell of a file of examples", async () => {
    const form = new FormData();
    form.set("file", new Blob([`q\n"${brief(levels)}"\n`], { type: "text/csv" }), "a.csv");
    form.append("input_keys", "q");
    form.set("data_type", "chat");
    form.set("name", `deep ${levels} ${crypto.randomUUID()}`);
    await expectHandled(await caller.fetch("/datasets/upload", { method: "POST", body: form }));
  });
});

it.each(["/datasets?metadata=", "/sessions?metadata=", "/examples?metadata="])("in a query: %s", async (path) => {
  for (const levels of [100, 3_000])
    await expectHandled(await caller.fetch(path + encodeURIComponent(`{"a":${brief(levels)}}`)));
});
