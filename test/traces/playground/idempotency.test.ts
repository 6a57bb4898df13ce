/** Calls of the playground with an Idempotency-Key: the model is called once. */
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { callFrames } from "../../../src/traces/playground/run.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import {
  chunk,
  DONE,
  waitForTrace,
  HELLO,
  OPENAI,
  provider,
  stream,
  listTraced,
  USAGE,
} from "../../support/playground.ts";
import { POLL_MS } from "../../support/thorough.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const BODY = { model: OPENAI, messages: HELLO };
const post = (caller: Caller, key: string, body: object = BODY) =>
  caller.fetch("/api/v1/playground/stream", { body, headers: { "idempotency-key": key } });
const streamAnswer = () =>
  stream(chunk({ content: "He" }), chunk({ content: "llo" }), chunk({}, { finish_reason: "stop" }), USAGE, DONE);
/** The frames of an answer. A model that takes long has comments between them, which a repeated answer has not. */
const readFrames = async (response: Response) => (await response.text()).replaceAll(": waiting\n\n", "");
const refusal = async (response: Response) => {
  const { detail } = await response.json<{ detail: string }>();
  return [response.status, response.headers.get("retry-after"), detail] as const;
};

it("a repeated request gets the frames of the first, and the model is called once", async () => {
  const caller = await newCaller();
  const sent = provider(streamAnswer);
  const first = await readFrames(await post(caller, "k1"));
  expect(first).toContain('"content":"llo"');
  const again = await post(caller, "k1");
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  expect(again.headers.get("content-type")).toBe("text/event-stream");
  expect(await readFrames(again)).toBe(first);
  expect(sent).toHaveLength(1);
  expect(await listTraced(caller)).toHaveLength(1);
  expect((await post(caller, "k1", { ...BODY, settings: { seed: 1 } })).status).toBe(422);
  await (await post(caller, "k2")).text();
  expect(sent).toHaveLength(2);
});

it("a failure is the answer, too", async () => {
  const caller = await newCaller();
  const sent = provider(() => Response.json({ error: { message: "overloaded" } }, { status: 503 }));
  const first = await readFrames(await post(caller, "k"));
  expect(first).toContain('"kind":"provider","message":"The model answered 503: overloaded"');
  expect(await readFrames(await post(caller, "k"))).toBe(first);
  expect(sent).toHaveLength(1);
});

it("while the model answers it is a 409, and a call that its reader has left stays cancelled", async () => {
  const caller = await newCaller();
  const sent = provider(() => new Promise<Response>(() => undefined));
  const reader = (await post(caller, "k")).body!.pipeThrough(new TextDecoderStream()).getReader();
  // What the model says nothing for.
  for (let text = ""; !text.includes(": waiting\n\n");) text += (await reader.read()).value;
  expect(await refusal(await post(caller, "k"))).toEqual([409, "1", expect.stringContaining("still being answered")]);
  await reader.cancel();
  expect(await waitForTrace(caller)).toMatchObject({
    error: "Stopped by the caller.",
    extra: { metadata: { error_kind: "cancelled" } },
  });
  const again = await vi.waitFor(async () => {
    const response = await post(caller, "k");
    expect(response.status).toBe(200);
    return response.text();
  }, POLL_MS);
  expect(again).toMatch(
    /^event: run\n.*\n\nevent: error\ndata: \{"kind":"cancelled","message":"Stopped by the caller\."/,
  );
  expect(sent).toHaveLength(1);
});

it("an answer that is too long to be kept is a 409, and the model is not called again", async () => {
  const caller = await newCaller();
  const long = Array.from({ length: 3 }, () => chunk({ content: "x".repeat(300_000) }));
  const sent = provider(() => stream(...long, chunk({}, { finish_reason: "stop" }), DONE));
  expect((await (await post(caller, "k")).text()).length).toBeGreaterThan(1_000_000);
  expect((await refusal(await post(caller, "k"))).slice(0, 2)).toEqual([409, "1"]);
  const later = "UPDATE idempotency_keys SET epoch = epoch - 400000 WHERE workspace_id = ?";
  await env.DB.prepare(later).bind(caller.workspaceId).run();
  expect(await refusal(await post(caller, "k"))).toEqual([409, null, expect.stringContaining("Use a new key")]);
  expect(sent).toHaveLength(1);
});

it("an answer is kept when its call cannot be counted", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const kept: string[] = [];
  const frames = callFrames(
    {
      env: { ...env, TRACE_PROJECT: "" },
      id: crypto.randomUUID(),
      workspaceId: "w",
      model: { name: "m", provider: "p", url: "https://models.example.com", send: async () => streamAnswer() },
      call: { messages: [], tools: [], settings: {} },
      spending: { priced: () => undefined, count: async () => Promise.reject(new Error("no ledger")) } as never,
      keep: async (text) => void kept.push(text),
    },
    () => undefined,
  );
  let sent = "";
  for (let one = await frames.next(); !one.done; one = await frames.next()) sent += one.value;
  expect(sent).toContain("event: end");
  expect(kept).toEqual([sent]);
});

it("each credential has keys of its own", async () => {
  const [one, other] = [await newCaller(), await newCaller()];
  const sent = provider(streamAnswer);
  await (await post(one, "k")).text();
  await (await post(other, "k")).text();
  expect(sent).toHaveLength(2);
});
