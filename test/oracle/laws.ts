/** What holds of every thread at rest, whatever happened to it: docs/semantics.md. Each check throws a Mismatch. */
import { runInDurableObject } from "cloudflare:test";
import { toTaskId } from "../../src/protocols/a2a/call.ts";
import { sseEvents } from "../support/sse.ts";
import type { Connection } from "./connection.ts";
import { pause } from "./patience.ts";
import { compareText, difference } from "./views.ts";
import { Mismatch } from "./world.ts";

type Json = Record<string, unknown>;
/** What a reader of a thread learns: its values, the texts of its messages, what it asks. */
interface Reading {
  values?: unknown;
  texts?: unknown;
  asks?: unknown;
}
interface State {
  values: Json | null;
  next: string[];
  tasks: { result?: unknown; interrupts: { id: string; value: unknown }[] }[];
  checkpoint: { checkpoint_id: string } | null;
  parent_checkpoint: { checkpoint_id: string } | null;
  metadata: Json | null;
}

const LOOKS = 100;
const TASK_NOT_FOUND = -32001;

export function expectSame(what: string, real: unknown, wanted: unknown): void {
  const found = difference(real, wanted);
  if (found) throw new Mismatch(`${what}: ${found}`);
}

async function read<T>(thread: Connection, path: string, body?: unknown): Promise<T> {
  const got = await thread.json<T>(path, { body });
  if (typeof got === "number") throw new Mismatch(`${path.replace(thread.threadId, "…")} answers ${got}`);
  return got;
}

const toTexts = (values: unknown): unknown[] =>
  ((values as { messages?: { content: unknown }[] } | null)?.messages ?? []).map(({ content }) => content);

/** A question that two tasks ask together, as a budget does, is one. */
function toAsks(interrupts: readonly { id?: string; value: unknown }[]): string[] {
  const byId = new Map(interrupts.map(({ id, value }) => [id, JSON.stringify(value)]));
  if (byId.size < interrupts.length) throw new Mismatch(`an interrupt is listed twice: ${JSON.stringify(interrupts)}`);
  return [...byId.values()].sort(compareText);
}

const ofState = ({ values, tasks }: State): Reading => ({
  values: values ?? {},
  texts: toTexts(values),
  asks: toAsks(tasks.flatMap(({ interrupts }) => interrupts)),
});

const ofThread = (thread: { values: Json | null; interrupts: Record<string, { id: string; value: unknown }[]> }) => ({
  values: thread.values ?? {},
  asks: toAsks(Object.values(thread.interrupts).flat()),
});

async function readAgui(thread: Connection): Promise<Reading> {
  const body = { threadId: thread.threadId, runId: "look", messages: [], tools: [], context: [], state: {} };
  const response = await thread.call(`/agui/${thread.graphId}/connect`, { body });
  if (!response.ok) throw new Mismatch(`AG-UI connect answers ${response.status} ${await response.text()}`);
  const reading: Reading = { texts: [] };
  for await (const { data } of sseEvents(response)) {
    const { type, messages, snapshot, outcome } = data as Json & {
      outcome?: { interrupts?: { id: string; metadata?: { langgraph?: { raw?: unknown } } }[] };
    };
    if (type === "MESSAGES_SNAPSHOT") reading.texts = toTexts({ messages });
    if (type === "STATE_SNAPSHOT") reading.values = snapshot;
    if (type === "RUN_FINISHED") {
      const asked = (outcome?.interrupts ?? []).filter(({ id }) => id !== "breakpoint");
      reading.asks = toAsks(asked.map(({ id, metadata }) => ({ id, value: metadata?.langgraph?.raw })));
    }
  }
  return reading;
}

async function readMcp(thread: Connection): Promise<Reading> {
  const params = { uri: `weir://threads/${thread.threadId}` };
  const response = await thread.call("/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "resources/read", params },
    headers: { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" },
  });
  const text = (await response.text()).replace(/^(?:event: .*\n)?data: /, "");
  const { result, error } = JSON.parse(text) as { result?: { contents: { text: string }[] }; error?: unknown };
  if (!result) throw new Mismatch(`MCP answers ${JSON.stringify(error)}`);
  return ofThread(JSON.parse(result.contents[0]?.text ?? "") as Parameters<typeof ofThread>[0]);
}

/** Each place where a thread at rest can be read. */
const DOORS: Record<string, (thread: Connection) => Promise<Reading>> = {
  "GET /threads/{id}": async (thread) => ofThread(await read(thread, thread.path)),
  "the head of GET /history": async (thread) => {
    const [head] = await read<State[]>(thread, `${thread.path}/history?limit=1`);
    return head ? ofState(head) : {};
  },
  "POST /threads/search": async (thread) => {
    const [found] = await read<Parameters<typeof ofThread>[0][]>(thread, "/threads/search", { ids: [thread.threadId] });
    return found ? ofThread(found) : { values: "not found" };
  },
  "state.get": async (thread) => {
    const body = { id: 1, method: "state.get", params: {} };
    const { result, error } = await read<{ result?: Reading; error?: string }>(thread, `${thread.path}/commands`, body);
    return error === "no_such_run" ? {} : { values: result?.values };
  },
  "AG-UI": readAgui,
  MCP: readMcp,
};

/** A2A: where a task of the thread is `input-required`, it asks what the thread asks. */
async function checkTask(thread: Connection, state: State): Promise<void> {
  const asked = state.tasks.flatMap(({ interrupts }) => interrupts.map(({ id }) => id)).sort(compareText);
  for (const run of await read<{ run_id: string; assistant_id: string }[]>(thread, `${thread.path}/runs?limit=100`)) {
    const params = { id: toTaskId(thread.threadId, run.run_id) };
    const body = { jsonrpc: "2.0", id: 1, method: "GetTask", params };
    const { result, error } = await read<{ result?: { status: Json }; error?: { code: number } }>(
      thread,
      `/a2a/${run.assistant_id}`,
      body,
    );
    // A run that a person's answer began is a part of the first one's task.
    if (error?.code === TASK_NOT_FOUND) continue;
    if (!result) throw new Mismatch(`A2A GetTask answers ${JSON.stringify(error)}`);
    const { state: shown, message } = result.status as {
      state: string;
      message?: { metadata?: { interrupts?: { id: string }[] } };
    };
    if (process.env.LOUD) console.log("task", JSON.stringify(result.status), asked.join());
    if (shown !== "TASK_STATE_INPUT_REQUIRED") continue;
    const listed = (message?.metadata?.interrupts ?? []).map(({ id }) => id);
    expectSame("the interrupts of A2A GetTask", listed.sort(compareText), asked);
  }
}

/** Two readings through any door agree. */
export async function checkDoors(thread: Connection): Promise<void> {
  const state = await read<State>(thread, `${thread.path}/state`);
  const wanted = ofState(state);
  const hasEnded = state.tasks.some(({ result }) => (result ?? null) !== null);
  for (const [door, look] of Object.entries(DOORS)) {
    const agrees = async () => {
      const reading = await look(thread);
      const { messages: _, ...rest } = wanted.values as Json;
      const whole = { ...wanted, ...(door === "AG-UI" && { values: rest }) };
      // A checkpoint of the history is without what ended nodes of its step have written, as in LangGraph.
      if (door.includes("history") && hasEnded) delete reading.values;
      for (const name of Object.keys(reading) as (keyof Reading)[])
        expectSame(`${name} of ${door}`, reading[name], whole[name]);
    };
    // The index of searches is written after the commit.
    await (door.endsWith("search") ? eventually(agrees, () => thread.alarms()) : agrees());
  }
  await checkTask(thread, state);
}

/** Looks until no Mismatch comes, at most so often. */
export async function eventually(look: () => Promise<void>, between: () => Promise<void>): Promise<void> {
  for (let left = LOOKS; ; left -= 1) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof Mismatch) || left === 0) throw error;
      await between();
      await pause(20);
    }
  }
}

/** The history has each checkpoint once, newest first, and the parent of each is an older one. */
export async function checkHistory(thread: Connection, isWhole: boolean): Promise<void> {
  const states = await read<State[]>(thread, `${thread.path}/history?limit=1000`);
  const ids = states.map(({ checkpoint }) => checkpoint?.checkpoint_id ?? "");
  if (new Set(ids).size < ids.length) throw new Mismatch("GET /history has a checkpoint twice");
  expectSame("the order of GET /history", ids, ids.toSorted(compareText).toReversed());
  for (const [place, { parent_checkpoint: parent, metadata }] of states.entries()) {
    if (!parent) continue;
    const at = ids.indexOf(parent.checkpoint_id);
    const name = `the parent of ${String(metadata?.source)} ${String(metadata?.step)}`;
    if (at === -1 && isWhole) throw new Mismatch(`${name} is gone`);
    if (at !== -1 && at <= place) throw new Mismatch(`${name} is not older`);
  }
}

/** Rows that may name a run that is gone: what is still to be delivered, and that its id was used. */
const MAY_NAME = new Set(["outbox", "tombstones"]);
/** That a run that is gone began and ended stays in the log, because readers have seen a part of it. So does a trace that is owed. */
const STAYS =
  /"run":"[^"]*","method":"(?:lifecycle|metadata|input)[^"]*","ns":\[\](?:,"data":\{"run_id":"[^"]*")?|"trace":\[.*/g;

/** No row of the object names a run that was deleted or rolled back. Sealed rows cannot be read. */
export async function checkRows(thread: Connection, gone: readonly string[]): Promise<void> {
  if (gone.length === 0) return;
  const rows = await runInDurableObject(thread.stub, (_, { storage }) =>
    storage.sql.exec<Record<string, string | number | null>>("SELECT * FROM thread").toArray(),
  );
  for (const run of gone)
    for (const { kind, ...row } of rows) {
      if (MAY_NAME.has(String(kind))) continue;
      const texts = Object.values(row).map((value) => String(value ?? "").replaceAll(STAYS, ""));
      const text = texts.find((one) => one.includes(run));
      if (text === undefined) continue;
      const at = text.indexOf(run);
      const near = text.slice(Math.max(0, at - 80), at + 100);
      throw new Mismatch(`a row of ${kind || "thread"} names a run that is gone: …${near}…`);
    }
}

/** The texts of messages that a reader adds up from the log are those of the state. */
export async function checkReplay(thread: Connection, texts: ReadonlyMap<string, string>): Promise<void> {
  const { values } = await read<State>(thread, `${thread.path}/state`);
  for (const { id, content } of (values?.messages ?? []) as { id?: string; content: unknown }[]) {
    const replayed = id === undefined ? undefined : texts.get(id);
    if (replayed !== undefined) expectSame("the replayed text of a message", replayed, content);
  }
}

/** All that is visible, without what time changes. */
async function readAll(thread: Connection): Promise<unknown> {
  const { updated_at: _, ...shown } = await read<Json>(thread, thread.path);
  return {
    shown,
    state: await read(thread, `${thread.path}/state`),
    history: await read(thread, `${thread.path}/history?limit=1000`),
    runs: await read(thread, `${thread.path}/runs?limit=100`),
  };
}

/** A restart of the object changes nothing: memory is what the storage holds. */
export async function checkRestart(thread: Connection): Promise<void> {
  const before = await readAll(thread);
  await thread.kill();
  expectSame("the thread after a restart", await readAll(thread), before);
}

/** The thread as a rollback must leave it. */
export async function readRest(thread: Connection): Promise<unknown> {
  const { runs: _, ...rest } = (await readAll(thread)) as Json;
  return rest;
}

/** All laws that need nothing but the thread. `gone`: runs that were deleted; `isWhole`: nothing was pruned. */
export async function checkLaws(thread: Connection, gone: readonly string[] = [], isWhole = true): Promise<void> {
  await checkDoors(thread);
  await checkHistory(thread, isWhole);
  await checkRows(thread, gone);
  await checkRestart(thread);
}
