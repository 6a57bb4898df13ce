/**
 * Requests of a protocol whose input depends on the thread's state: the protocol reads what was sent when the run begins, in the
 * thread's object, because runs before it change the state.
 */
import { errorBody } from "../../runtime/wire.ts";
import type { Json } from "../../lib/json.ts";
import type { ThreadContext } from "../context.ts";
import { eventsFrom } from "../log/emit.ts";
import type { ValueRefs } from "../log/values.ts";
import { pendingInterrupts } from "../record.ts";
import type { RunRequest, SentRequest } from "../rpc.ts";
import { type RunRecord, toRunRecord } from "../run.ts";
import type { ThreadState } from "../types.ts";
import { streamHistory } from "../state/state.ts";

/** A state, read by the names of its keys. */
export type ReadKey = (name: string) => unknown;

/** What a client may have seen of the thread when its request comes. */
export interface SeenByClient {
  /** The newest state: of the run at work, else of the thread. */
  latest: ReadKey;
  /** The thread's state, then those that its last run has shown, the run at work included. */
  states(): Iterable<ReadKey>;
  /** A run is at work. */
  busy: boolean;
}

/** The thread as a run begins on it. */
export interface ThreadAtBegin {
  env: Env;
  request: RunRequest;
  values: Json;
  /** How the last run has left it: `waits` for an answer or at a breakpoint, `stopped` between two steps, or at an end. */
  left: "done" | "failed" | "stopped" | "waits";
  /** The states from the newest one back to the first, each the parent of the one before. */
  past(): AsyncIterable<{ checkpointId: string; values: unknown }>;
}

/** What the run is given; undefined when nothing is asked of the thread as it is. */
export type ReadRequest = Pick<RunRequest, "input" | "command" | "checkpoint"> | undefined;

/** A protocol's part. Both are called in the thread's object; `begin` again when the object restarts before the run has begun. */
export interface SentReader {
  /** What is kept of the request when it comes. */
  accept(body: Json, seen: SeenByClient): Omit<SentRequest, "protocol">;
  /** Throws what the run fails with. */
  begin(body: Json, thread: ThreadAtBegin): Promise<ReadRequest>;
}

/** By the names that requests give. */
export type SentReaders = Readonly<Record<string, SentReader>>;

/** The request with what is kept of it. `working`: the newest values of the run at work; undefined when none is. */
export function acceptSent(
  context: ThreadContext,
  readers: SentReaders,
  request: RunRequest,
  working: { values?: ValueRefs } | undefined,
): RunRequest {
  const { sent } = request;
  if (!sent?.body) return request;
  const { record } = context;
  const latest = reader(context, working?.values ?? record?.values);
  const states = () => seenStates(context);
  const accepted = readerOf(readers, sent).accept(sent.body, { latest, states, busy: working !== undefined });
  return { ...request, sent: { protocol: sent.protocol, ...accepted } };
}

function* seenStates(context: ThreadContext): Generator<ReadKey, void, void> {
  yield reader(context, context.record?.values);
  const run = lastBegun(context);
  const { first_seq } = run?.outcome ?? {};
  if (!run || first_seq === undefined) return;
  context.eventLog.flush();
  for (const { run: id, method, ns, data } of eventsFrom(context.tables, first_seq))
    if (id === run.id && method === "values" && ns.length === 0 && data?.$v)
      yield reader(context, data.$v as ValueRefs);
}

const reader =
  ({ values }: ThreadContext, refs: ValueRefs | null = null): ReadKey =>
  (name) => {
    const ref = refs && Object.hasOwn(refs, name) ? refs[name] : undefined;
    return ref && (JSON.parse(values.flat(ref)) as unknown);
  };

/** The run as it begins: with what the client's request amounts to on the thread as it is. Never throws. */
export async function readSent(
  context: ThreadContext,
  readers: SentReaders,
  { request, outcome }: RunRecord,
): Promise<Pick<RunRecord, "request" | "outcome">> {
  const { body, ...sent } = request.sent as SentRequest;
  try {
    const { env, record, values } = context;
    const whole = record?.values ? (JSON.parse(values.flatAll(record.values)) as Json) : {};
    const thread = { env, request, values: whole, left: leftBy(context), past: () => past(context) };
    const read = await readerOf(readers, sent).begin(body as Json, thread);
    return { request: { ...request, ...read, sent }, outcome: read ? outcome : { ...outcome, idle: {} } };
  } catch (error) {
    return { request: { ...request, sent }, outcome: { ...outcome, idle: { error: errorBody(error) } } };
  }
}

function readerOf(readers: SentReaders, { protocol }: SentRequest): SentReader {
  const found = readers[protocol];
  if (!found) throw new Error(`The protocol "${protocol}" is not served here.`);
  return found;
}

function leftBy(context: ThreadContext): ThreadAtBegin["left"] {
  const { record } = context;
  if (record?.rest === "error") return "failed";
  if (pendingInterrupts(record).length > 0) return "waits";
  if (record?.rest !== "interrupted") return "done";
  return lastBegun(context)?.outcome.stopped ? "stopped" : "waits";
}

/** The newest run that has executed. */
function lastBegun({ tables }: ThreadContext): RunRecord | undefined {
  for (const row of tables.runs.list(Infinity, 0)) {
    const run = toRunRecord(row);
    if (run.outcome.attempt > 0 && !run.outcome.refusal && !run.outcome.idle) return run;
  }
  return undefined;
}

async function* past(context: ThreadContext): AsyncGenerator<{ checkpointId: string; values: unknown }, void, void> {
  let next: unknown;
  for await (const text of await streamHistory(context, { limit: Infinity })) {
    const state = JSON.parse(text) as ThreadState;
    const checkpointId = state.checkpoint?.checkpoint_id;
    // Checkpoints of other branches are in the history, too.
    if (typeof checkpointId !== "string" || (next !== undefined && checkpointId !== next)) continue;
    yield { checkpointId, values: state.values };
    next = state.parent_checkpoint?.checkpoint_id ?? null;
  }
}
