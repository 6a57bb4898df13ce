/** A tool call that its client repeats under one Idempotency-Key: one run, and its result again. */
import "../../support/graphs.ts";
import { beforeEach, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, say } from "../../threads/client.ts";

const STREAM = { accept: "text/event-stream" };
const createKeyHeaders = () => ({ "idempotency-key": crypto.randomUUID() });

interface Result {
  content: { text: string }[];
  inputRequests: Record<string, unknown>;
  requestState: string;
  _meta: { thread_id: string; interrupts: { id: string }[] };
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

type Params = Record<string, unknown> & { name: string };
type Send = (
  params: Params,
  headers?: Record<string, string>,
) => Promise<{ result?: Result; error?: { code: number } }>;

/** The last message of an answer as a stream, or the answer as JSON. */
const call: Send = async (params, headers = {}) => {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const text = await (await caller.fetch("/mcp", { body, headers })).text();
  const messages = text.startsWith("{") ? [text] : [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data);
  return JSON.parse(messages.at(-1) ?? "") as Awaited<ReturnType<Send>>;
};

/** A call of 2026-07-28. */
const callAs =
  (clientCapabilities: object): Send =>
  async (params, headers) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
    };
    const named = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": params.name };
    return call({ ...params, _meta }, { ...named, ...headers });
  };
const listRuns = (thread: string) => get<unknown[]>(caller, `/threads/${thread}/runs`);

/** Without the addresses: each is sealed anew, and a question that no longer waits has none. */
function toPlain({ result, ...answer }: Awaited<ReturnType<Send>>) {
  const { answer_links: _, ..._meta } = { answer_links: [], ...result?._meta };
  const content = result?.content.map(({ text }) => ({ text: text.replaceAll(/\nA person can answer it at .*/g, "") }));
  return { ...answer, result: { ...result, content, _meta } };
}

it("continues a call once", async () => {
  const send = callAs({ elicitation: { form: {} } });
  const { result } = await send({ name: "actor", arguments: say("ask") });
  const { requestState = "", inputRequests = {} } = result ?? {};
  const accepted = { action: "accept", content: { answer: "blue" } };
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, accepted]));
  const given = { name: "actor", arguments: {}, requestState, inputResponses };
  const headers = { ...STREAM, ...createKeyHeaders() };
  const first = await send(given, headers);
  expect(first).toMatchObject({ result: { content: [{ text: 'You chose "blue".' }] } });
  expect(await send(given, headers)).toEqual(first);
  expect(await listRuns(requestState.split(".")[0] ?? "")).toHaveLength(2);
  expect(await send(given, STREAM)).toMatchObject({ error: { code: -32602 } });
});

it.each([
  ["2025-11-25", call],
  ["2026-07-28", callAs({})],
])("answers an interrupt once: %s", async (_, send) => {
  const { result } = await send({ name: "asker", arguments: {} });
  const { thread_id = "", interrupts = [] } = result?._meta ?? {};
  const answer = (interrupt_id?: string) => ({
    name: "answer_interrupt",
    arguments: { thread_id, interrupt_id, answer: "x" },
  });
  const headers = { ...STREAM, ...createKeyHeaders() };
  const first = await send(answer(interrupts[0]?.id), headers);
  expect(first).toMatchObject({ result: { _meta: { interrupts: [interrupts[1]] } } });
  expect(toPlain(await send(answer(interrupts[0]?.id), headers))).toEqual(toPlain(first));
  const lastHeaders = { ...STREAM, ...createKeyHeaders() };
  const last = await send(answer(), lastHeaders);
  expect(last).toMatchObject({ result: { content: [{ text: expect.stringContaining('"x"') }] } });
  expect(await send(answer(), lastHeaders)).toEqual(last);
  // An earlier answer, too, gets what its own run gave.
  expect(toPlain(await send(answer(interrupts[0]?.id), headers))).toEqual(toPlain(first));
  expect(await listRuns(thread_id)).toHaveLength(3);
  expect(await send(answer(), STREAM)).toMatchObject({ error: { code: -32602 } });
});

it("does not run again when its thread was deleted", async () => {
  const given = { name: "actor", arguments: say("ask") };
  const headers = { ...STREAM, ...createKeyHeaders() };
  const { result } = await call(given, headers);
  const thread = `/threads/${result?._meta.thread_id}`;
  expect((await caller.fetch(thread, { method: "DELETE" })).status).toBe(204);
  expect(await call(given, headers)).toMatchObject({ error: { message: expect.stringContaining("deleted") } });
  expect((await caller.fetch(thread)).status).toBe(404);
});
