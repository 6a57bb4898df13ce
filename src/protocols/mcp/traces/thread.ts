/** `rerun_from_checkpoint`: a thread again from one of its checkpoints, with what a fix changes. */
import * as v from "valibot";
import { type ServerApi, cutValue, formatPart, joinLines, oneLine, formatFigures } from "./api.ts";
import { between, describe, part, Text, Uuid, defineTool } from "./tool.ts";
import { Problem } from "../../../lib/problem.ts";

// `read_thread`: the state of a thread, and its checkpoints.

export interface ThreadValues {
  values: Record<string, unknown> | null;
  next: string[];
  checkpoint: { checkpoint_id?: string | null } | null;
  created_at: string | null;
  metadata: { step?: number; source?: string } | null;
  tasks: { name: string; error: string | null; interrupts: unknown[] }[];
}

interface ReadThread {
  status: string;
  metadata: object;
  interrupts: Record<string, unknown[]>;
  error?: { error: string; message: string };
}

const LISTED = ["checkpoint", "created_at", "next", "metadata", "tasks"];
/** The most characters of each member of a state. */
const MEMBER = 1_500;

export const readThread = defineTool({
  name: "read_thread",
  title: "Read a thread",
  description:
    "Reads a thread: its status, the members of its latest state (or of the state at checkpoint_id), each cut, and its checkpoints, newest first, from which rerun_from_checkpoint can fork. With key it reads one member of the state as JSON, part by part.",
  cost: "one call of the thread's object for each of record, state and history. No model is called.",
  permissions: ["threads.read"],
  input: v.object({
    thread_id: describe(Uuid, "The id of the thread."),
    checkpoint_id: v.optional(describe(Uuid, "The state to read; the latest if left out.")),
    key: v.optional(describe(Text, "One member of the state, such as messages.")),
    ...part,
    checkpoints: v.optional(describe(between(0, 50), "How many checkpoints to list."), 10),
    before: v.optional(describe(Uuid, "Lists checkpoints before this one.")),
  }),
  async run(api, { thread_id, checkpoint_id, key, offset, length, checkpoints, before }) {
    const path = `/threads/${thread_id}`;
    const at = checkpoint_id === undefined ? `${path}/state` : `${path}/state/${checkpoint_id}`;
    if (key !== undefined) {
      const { values } = await api.get<Pick<ThreadValues, "values">>(at, { select: JSON.stringify([`values.${key}`]) });
      const text = JSON.stringify(values && Object.hasOwn(values, key) ? values[key] : null);
      return formatPart(text.slice(offset, offset + length), offset, text.length);
    }
    const [thread, state] = [await readRecord(api, thread_id), await api.get<ThreadValues>(at)];
    const history = checkpoints > 0 ? await readHistory(api, path, checkpoints, before) : [];
    const waits = Object.values(thread.interrupts).flat();
    const lines = [
      `thread ${thread_id}: ${thread.status}`,
      `metadata: ${cutValue(thread.metadata, MEMBER)}`,
      thread.error ? `error: ${cutValue(`${thread.error.error}: ${thread.error.message}`, MEMBER)}` : "",
      waits.length > 0 ? `waits for an answer to: ${cutValue(waits, MEMBER)}` : "",
      `state at checkpoint ${state.checkpoint?.checkpoint_id ?? "none"}, next: ${state.next.join(", ") || "end"}`,
      ...formatValues(state.values),
      history.length > 0 ? "checkpoints:" : "",
      ...history.map(formatCheckpoint),
    ];
    return joinLines(lines.filter(Boolean), "Use key, or fewer checkpoints.");
  },
});

/** The thread without its state, which is read at a checkpoint. */
async function readRecord(api: ServerApi, threadId: string): Promise<ReadThread> {
  const select = ["status", "metadata", "interrupts", "error"];
  const [found] = await api.query<ReadThread[]>("/threads/search", { ids: [threadId], limit: 1, select });
  // A thread that the search has not found yet, and the refusal of one that does not exist.
  return found ?? api.get<ReadThread>(`/threads/${threadId}`);
}

async function readHistory(
  api: ServerApi,
  path: string,
  limit: number,
  before: string | undefined,
): Promise<ThreadValues[]> {
  return api.query<ThreadValues[]>(`${path}/history`, {
    limit,
    select: LISTED,
    ...(before !== undefined && { before }),
  });
}

/** The members of a state, each in one line. */
export function formatValues(values: Record<string, unknown> | null): string[] {
  return Object.entries(values ?? {}).map(([name, value]) => `  ${oneLine(name, 100)}: ${cutValue(value, MEMBER)}`);
}

function formatCheckpoint({ checkpoint, created_at, next, metadata, tasks }: ThreadValues): string {
  const faults = tasks.flatMap(({ name, error }) => (error ? [`error in ${name}: ${oneLine(error, 120)}`] : []));
  const step = `step ${metadata?.step ?? "?"} (${metadata?.source ?? "?"}), next: ${next.join(", ") || "end"}`;
  return ["", checkpoint?.checkpoint_id ?? "none", created_at ?? "", step, ...faults].join("  ").trimEnd();
}

interface Thread {
  thread_id: string;
  metadata: { assistant_id?: unknown; graph_id?: unknown };
}

interface Run {
  run_id: string;
  status: string;
}

interface Trace {
  trace_id: string;
  status: string;
  latency_seconds: number | null;
  total_tokens: number;
  total_cost: number | null;
  error_preview: string | null;
}

const STATE = ["values", "next", "checkpoint", "tasks"];
const POLL_MS = 500;
/** A trace is stored after the end of its run. */
const TRACE_MS = 5_000;

const Input = v.object({
  thread_id: v.optional(describe(Uuid, "The thread to fork. Left out, the run is on a new thread.")),
  checkpoint_id: v.optional(describe(Uuid, "The checkpoint to continue from; the latest if left out.")),
  input: v.optional(
    describe(
      v.unknown(),
      "The changed input of the graph. Left out, the graph continues with its next step, which repeats one that failed.",
    ),
  ),
  state: v.optional(
    describe(
      v.object({ values: v.record(v.string(), v.unknown()), as_node: v.optional(Text) }),
      "A change of the state at the checkpoint, as a node would write it, before the graph continues.",
    ),
  ),
  resume: v.optional(describe(v.unknown(), "The answer to a question on which the thread waits.")),
  assistant_id: v.optional(describe(Text, "The assistant or graph; that of the thread if left out.")),
  in_place: v.optional(
    describe(v.boolean(), "Runs on the thread itself, which changes the conversation. Otherwise on a copy of it."),
    false,
  ),
  wait_seconds: v.optional(describe(between(0, 50), "How long to wait for the end of the run."), 30),
});
type Input = v.InferOutput<typeof Input>;

export const rerunFromCheckpoint = defineTool({
  name: "rerun_from_checkpoint",
  title: "Fork a checkpoint and run again",
  description:
    "Runs a graph again from a checkpoint of a thread with a changed input, state or answer, on a copy of the thread unless in_place is true. Returns the run, the state it ended with and its trace, for compare_runs.",
  cost: "runs the graph: its model calls are billed, count for budgets, and its tools act on other systems as in any run. The copy is kept until it is deleted.",
  permissions: ["threads.read", "threads.write", "runs.create"],
  writes: { destructive: true },
  input: Input,
  async run(api, given, signal) {
    if (given.input !== undefined && (given.state ?? given.resume) !== undefined)
      throw new Problem(422, "Invalid arguments: give one of input, state and resume.");
    const { target, assistant } = await prepare(api, given);
    const run = await start(api, target, assistant, given);
    const ended = await waitForEnd(api, target, run, given.wait_seconds, signal);
    const head = `run ${run.run_id} of ${assistant} on thread ${target}: ${ended.status}`;
    if (isOpen(ended)) return `${head}. It has not ended. Read the thread later with read_thread.`;
    const trace = await waitForTrace(api, run.run_id);
    const state = await api.get<ThreadValues>(`/threads/${target}/state`, { select: JSON.stringify(STATE) });
    const waits = state.tasks.flatMap(({ interrupts }) => interrupts);
    const lines = [
      head,
      trace
        ? `trace ${trace.trace_id} (${formatFigures(trace)})${trace.error_preview ? ` error: ${oneLine(trace.error_preview, 200)}` : ""}`
        : "Its trace is not stored yet, or traces are off.",
      waits.length > 0 ? `waits for an answer to: ${cutValue(waits, 1_500)}` : "",
      `state, next: ${state.next.join(", ") || "end"}`,
      ...formatValues(state.values),
    ];
    return joinLines(lines.filter(Boolean), "Use read_thread with key.");
  },
});

/** The thread to run on, and the assistant. */
async function prepare(api: ServerApi, given: Input): Promise<{ target: string; assistant: string }> {
  const { thread_id, checkpoint_id, state, resume, in_place, assistant_id } = given;
  if (thread_id === undefined) {
    if ((checkpoint_id ?? state ?? resume) !== undefined)
      throw new Problem(422, "Invalid arguments: checkpoint_id, state and resume need thread_id.");
    if (assistant_id === undefined) throw new Problem(422, "Invalid arguments: without thread_id, give assistant_id.");
    const { thread_id: target } = await api.change<Thread>("/threads", { metadata: { made_by: "mcp/traces" } });
    return { target, assistant: assistant_id };
  }
  const select = ["thread_id", "metadata"];
  const [found] = await api.query<Thread[]>("/threads/search", { ids: [thread_id], limit: 1, select });
  const thread = found ?? (await api.get<Thread>(`/threads/${thread_id}`));
  const { assistant_id: own, graph_id } = thread.metadata;
  const assistant = assistant_id ?? [own, graph_id].find((id) => typeof id === "string");
  if (assistant === undefined)
    throw new Problem(422, "Invalid arguments: the thread has no run yet. Give assistant_id.");
  const target = in_place ? thread_id : (await api.change<Thread>(`/threads/${thread_id}/copy`, {})).thread_id;
  return { target, assistant };
}

async function start(api: ServerApi, target: string, assistant: string, given: Input): Promise<Run> {
  const { thread_id, input, state, resume } = given;
  let checkpoint = given.checkpoint_id === undefined ? undefined : { checkpoint_id: given.checkpoint_id };
  if (state) {
    const update = { values: state.values, as_node: state.as_node, checkpoint };
    const updated = await api.change<{ checkpoint: { checkpoint_id: string } }>(`/threads/${target}/state`, update);
    checkpoint = { checkpoint_id: updated.checkpoint.checkpoint_id };
  }
  const origin = {
    ...(thread_id !== undefined && { forked_from_thread: thread_id }),
    ...(given.checkpoint_id !== undefined && { forked_from_checkpoint: given.checkpoint_id }),
  };
  return api.change<Run>(`/threads/${target}/runs`, {
    assistant_id: assistant,
    ...(input !== undefined && { input }),
    ...(resume !== undefined && { command: { resume } }),
    ...(checkpoint && { checkpoint }),
    metadata: origin,
  });
}

const isOpen = ({ status }: Run): boolean => status === "pending" || status === "running";

/** The run at its end, or as it is when the time is over or the client has left. */
async function waitForEnd(
  api: ServerApi,
  threadId: string,
  run: Run,
  seconds: number,
  signal: AbortSignal,
): Promise<Run> {
  const end = Date.now() + seconds * 1_000;
  let current = run;
  while (isOpen(current) && Date.now() < end && !signal.aborted) {
    await pause();
    current = await api.get<Run>(`/threads/${threadId}/runs/${run.run_id}`);
  }
  return current;
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));

async function waitForTrace(api: ServerApi, runId: string): Promise<Trace | undefined> {
  const body = {
    ids: [runId],
    page_size: 1,
    selects: ["trace_id", "status", "latency_seconds", "total_tokens", "total_cost", "error_preview"],
  };
  for (const end = Date.now() + TRACE_MS; Date.now() < end; await pause()) {
    const { items } = await api.query<{ items: Trace[] }>("/api/v2/runs/query", body);
    if (items[0]) return items[0];
  }
  return undefined;
}
