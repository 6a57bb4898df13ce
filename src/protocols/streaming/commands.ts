/** Commands that start a run. */
import type { ThreadCaller } from "../../threads/api/access.ts";
import type { Json } from "../../lib/json.ts";
import type { ThreadRpc } from "../../threads/rpc.ts";
import { createHash } from "node:crypto";
import * as v from "valibot";
import { defaultGraphId } from "../../agents/assistants/defaults.ts";
import { toProblem } from "../../lib/problem.ts";
import { parse } from "../../http/validate.ts";
import { runRequest } from "../../threads/api/request.ts";
import type { ThreadSummary, Run, ThreadState } from "../../threads/types.ts";
import { RunCreate } from "../../threads/api/schema.ts";
import * as schema from "./schema.ts";
import { ANY_ASSISTANT, type Command } from "./schema.ts";
import { selectFields, AnyObject } from "../../http/shapes.ts";
import { readEvents } from "../../threads/log/events.ts";
import { responsesById } from "../../threads/interrupts/waiting.ts";
import { readStates } from "../../threads/remote.ts";

// The input of a command, and its result.

export interface Commander extends ThreadCaller {
  threadId: string;
  thread: ThreadRpc;
}

export interface CommandResult {
  result: Json;
  meta?: Json;
}

/** The protocol's own errors: they travel in the answer of a command, with HTTP status 200. */
export const ERROR_CODES = [
  "invalid_argument",
  "unknown_command",
  "unknown_error",
  "no_such_run",
  "no_such_subscription",
  "no_such_namespace",
  "no_such_interrupt",
  "no_such_checkpoint",
  "permission_denied",
  "not_supported",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The error of a command. Its code and message are in the answer. */
export class CommandError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "CommandError";
  }
}

type Given<S extends v.GenericSchema> = v.InferOutput<S>;

/** What a reader of the classic streams gets of these runs when it does not say. */
const STREAM_MODE = ["values", "updates", "messages-tuple", "custom"];

/** `run.start`: a run with this input; on a thread that waits for an answer, the answer. */
export async function runStart(
  by: Commander,
  { assistant_id, input, multitask_strategy, multitaskStrategy, ...options }: Given<typeof schema.RunStart>,
  command: schema.Command,
): Promise<CommandResult> {
  const summary = await by.thread.summary();
  const waiting = resumes(summary, input, options.config) ? (summary?.interrupts ?? []) : [];
  // The protocol: what is given to a thread that waits for an answer is the answer.
  const resume = waiting.length > 0 ? responsesById(input, waiting) : undefined;
  const given = resume ? { command: { resume } } : { input };
  const answers = Object.keys(resume ?? {});
  const strategy = multitask_strategy ?? multitaskStrategy;
  const body = {
    ...options,
    ...given,
    assistant_id: assistantFor(assistant_id, summary, answers[0]),
    multitask_strategy: strategy,
  };
  const { run_id, meta } = await start(by, body, command, answers);
  return { result: { run_id }, meta };
}

/** `input.respond`: the answers to one or several interrupts. */
export async function respond(
  by: Commander,
  { interrupt_id, response, responses, update, goto, ...options }: Given<typeof schema.Respond>,
  command: schema.Command,
): Promise<CommandResult> {
  const summary = await requireBegun(by);
  const given = responses ?? [{ interrupt_id: String(interrupt_id), response }];
  const resume = Object.fromEntries(given.map((one) => [one.interrupt_id, one.response ?? null]));
  const body = {
    ...options,
    command: { resume, update, goto },
    assistant_id: assistantFor(ANY_ASSISTANT, summary, given[0]?.interrupt_id),
  };
  try {
    // At a checkpoint of the past, what waits there decides.
    const answers = readCheckpointId(options.config) === undefined ? Object.keys(resume) : [];
    return { result: {}, meta: (await start(by, body, command, answers)).meta };
  } catch (error) {
    const { status, detail } = toProblem(error);
    throw status === 409 ? new CommandError("no_such_interrupt", detail) : error;
  }
}

/** `state.fork`: a run from a checkpoint of the past. */
export async function fork(
  by: Commander,
  { checkpoint_id, input, ...options }: Given<typeof schema.Fork>,
  command: schema.Command,
): Promise<CommandResult> {
  const summary = await requireBegun(by);
  // The state there is of the assistant that wrote it.
  const writer = (await requireCheckpoint(by, checkpoint_id))?.metadata?.assistant_id;
  const assistant_id = typeof writer === "string" ? writer : assistantFor(ANY_ASSISTANT, summary);
  const { run_id } = await start(by, { ...options, input: input ?? null, checkpoint_id, assistant_id }, command);
  return { result: { run_id, thread_id: by.threadId } };
}

/** A message for an agent at work is taken up as soon as its run has ended. */
export async function inject(
  by: Commander,
  { namespace, message: { role, content, name } }: Given<typeof schema.Inject>,
  command: schema.Command,
): Promise<CommandResult> {
  const summary = await requireBegun(by);
  if (namespace && namespace.length > 0) throw new CommandError("not_supported", "Messages go to the root agent only.");
  const message = { role, content, ...(name && { name }) };
  const body = { input: { messages: [message] }, assistant_id: assistantFor(ANY_ASSISTANT, summary) };
  return { result: {}, meta: (await start(by, body, command)).meta };
}

/** The thread's state; an error when the thread has no run. */
async function requireBegun(by: Commander): Promise<ThreadSummary> {
  const summary = await by.thread.summary();
  if (!summary?.graphId) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  return summary;
}

function resumes(summary: ThreadSummary | undefined, input: unknown, config: Json | null | undefined): boolean {
  return input != null && summary?.busy === false && readCheckpointId(config) === undefined;
}

/** The assistant that a command means which names none: the one whose run has raised the interrupt, else that of the thread. */
function assistantFor(given: string, summary: ThreadSummary | undefined, interruptId = ""): string {
  if (given !== ANY_ASSISTANT) return given;
  return summary?.raisedBy[interruptId] ?? summary?.assistantId ?? summary?.graphId ?? defaultGraphId();
}

function readCheckpointId(config: { configurable?: unknown } | null | undefined): unknown {
  return (config?.configurable as Json | null | undefined)?.checkpoint_id ?? undefined;
}

async function start(
  by: Commander,
  given: Json,
  command: schema.Command,
  answers: string[] = [],
): Promise<{ run_id: string; meta: Json }> {
  const body = parse(
    RunCreate,
    { ...given, if_not_exists: "create", stream_mode: STREAM_MODE, stream_subgraphs: true },
    "params",
  );
  await requireCheckpoint(by, body.checkpoint_id ?? readCheckpointId(body.config));
  const request = await runRequest(by, by.threadId, body);
  // Two callers who say the same say two things.
  const { kind, credentialId } = by.principal;
  const sent = JSON.stringify([kind, credentialId, command]);
  const fingerprint = createHash("sha256").update(sent).digest("base64url");
  const { run, seq } = await by.thread.launch({
    ...request,
    fingerprint,
    ...(answers.length > 0 && { must_resume: answers }),
  });
  return { run_id: run.run_id, meta: { thread_id: by.threadId, applied_through_seq: seq } };
}

/** The state at the checkpoint; undefined when none is named. */
async function requireCheckpoint({ thread }: Commander, checkpoint_id: unknown): Promise<ThreadState | undefined> {
  if (checkpoint_id === undefined) return undefined;
  const missing = new CommandError("no_such_checkpoint", "This thread has no such checkpoint.");
  if (typeof checkpoint_id !== "string") throw missing;
  try {
    const state = await thread.state({ checkpoint: { checkpoint_id } });
    if (!state) throw missing;
    return state;
  } catch (error) {
    throw toProblem(error).status === 404 ? missing : error;
  }
}

// Commands that read.

/** `state.get`: the newest values of the thread or of one of its namespaces. */
export async function getState(
  { thread }: Commander,
  { namespace, keys }: v.InferOutput<typeof schema.StateGet>,
): Promise<CommandResult> {
  const ns = namespace?.join("|") ?? "";
  const state = await thread.state({ checkpoint: ns ? { checkpoint_ns: ns } : undefined }).catch(notFound);
  if (!state) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  if (ns && !state.checkpoint?.checkpoint_id) throw new CommandError("no_such_namespace", "Nothing ran there.");
  const values = (state.values ?? {}) as Json;
  const shown = selectFields(values, keys ?? undefined);
  return {
    result: { values: shown, ...(state.checkpoint && { checkpoint: { id: state.checkpoint.checkpoint_id, ns } }) },
  };
}

/** `state.listCheckpoints`: newest first. */
export async function listCheckpoints(
  { thread }: Commander,
  { namespace, limit, before }: v.InferOutput<typeof schema.ListCheckpoints>,
): Promise<CommandResult> {
  const ns = namespace?.join("|");
  const checkpoint = ns ? { checkpoint_ns: ns } : undefined;
  const states = await thread.history({ limit: limit ?? 20, before: before ?? undefined, checkpoint }).catch(notFound);
  if (!states) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  const checkpoints: Json[] = [];
  for await (const state of readStates(states)) checkpoints.push(toWireCheckpoint(state));
  return { result: { checkpoints } };
}

function toWireCheckpoint({ checkpoint, created_at, metadata }: ThreadState): Json {
  const { step } = metadata ?? {};
  return { id: checkpoint?.checkpoint_id, timestamp: created_at, step, metadata: metadata ?? {} };
}

interface Tree {
  namespace: string[];
  status: string;
  graph_name: string;
  children?: Tree[];
}

/** The run's graphs, as far as they have begun: the newest run's when none is named. */
export async function getTree(
  { thread }: Commander,
  { run_id }: v.InferOutput<typeof schema.GetTree>,
): Promise<CommandResult> {
  const run: Run | undefined = run_id
    ? await thread.getRun(run_id)
    : (await thread.listRuns({ limit: 1, offset: 0 }).catch(notFound))?.[0];
  const first = run && run.status !== "pending" ? await thread.firstSeq(run.run_id) : undefined;
  if (!run || first === undefined) throw new CommandError("no_such_run", "There is no such run on this thread.");
  const query = { after: first - 1, runId: run.run_id, methods: ["lifecycle" as const], replayOnly: true };
  const nodes = new Map<string, Tree>();
  const root: Tree = { namespace: [], status: "running", graph_name: "" };
  for await (const { ns, data } of readEvents(await thread.follow(query))) {
    const { event, graph_name } = data as { event: string; graph_name?: string };
    const key = ns.join("|");
    const node = ns.length === 0 ? root : (nodes.get(key) ?? { namespace: ns, status: "", graph_name: "" });
    node.status = event === "started" ? "running" : event;
    node.graph_name = graph_name ?? node.graph_name;
    if (ns.length === 0 || nodes.has(key)) continue;
    nodes.set(key, node);
    const parent = nodes.get(ns.slice(0, -1).join("|")) ?? root;
    (parent.children ??= []).push(node);
  }
  return { result: { tree: root } };
}

/** A thread that does not exist has nothing; any other error stays one. */
function notFound(error: unknown): undefined {
  if (toProblem(error).status !== 404) throw error;
  return undefined;
}

// The protocol's commands over HTTP and WebSocket: one table, one shape of answers.

export const CommandResponse = v.variant("type", [
  v.object({ type: v.literal("success"), id: v.number(), result: AnyObject, meta: v.optional(AnyObject) }),
  v.object({
    type: v.literal("error"),
    id: v.nullable(v.number()),
    error: v.picklist(ERROR_CODES),
    message: v.string(),
  }),
]);
export type CommandResponseValue = v.InferOutput<typeof CommandResponse>;

/** `params` are checked by each command's own schema. */
type Handler = (by: Commander, params: Json, command: Command) => Promise<CommandResult>;

const COMMANDS: Record<string, Handler> = {
  "run.start": (by, params, command) => runStart(by, parse(schema.RunStart, params, "params"), command),
  "input.respond": (by, params, command) => respond(by, parse(schema.Respond, params, "params"), command),
  "input.inject": (by, params, command) => inject(by, parse(schema.Inject, params, "params"), command),
  "state.get": (by, params) => getState(by, parse(schema.StateGet, params, "params")),
  "state.listCheckpoints": (by, params) => listCheckpoints(by, parse(schema.ListCheckpoints, params, "params")),
  "state.fork": (by, params, command) => fork(by, parse(schema.Fork, params, "params"), command),
  "agent.getTree": (by, params) => getTree(by, parse(schema.GetTree, params, "params")),
  "subscription.subscribe": unsupported("A subscription needs a WebSocket. Over HTTP, POST its filter to the stream."),
  "subscription.unsubscribe": unsupported("A subscription needs a WebSocket. Over HTTP, close the stream."),
  "subscription.reconnect": unsupported(
    "Subscribe again, with `since` or `since_event_id`: what was missed is replayed.",
  ),
};
export const COMMAND_NAMES = Object.keys(COMMANDS);

/** Runs a command. Never throws: errors are answers. */
export async function runCommand(
  by: Commander,
  command: Command,
  more: Record<string, Handler> = {},
): Promise<CommandResponseValue> {
  const { id, method } = command;
  const handlers = { ...COMMANDS, ...more };
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
  try {
    if (!handler) throw new CommandError("unknown_command", `There is no command "${method}".`);
    return { type: "success", id, ...(await handler(by, command.params ?? {}, command)) };
  } catch (error) {
    return { type: "error", id, ...failure(error) };
  }
}

function unsupported(message: string): Handler {
  return async () => {
    throw new CommandError("not_supported", message);
  };
}

function failure(error: unknown): { error: ErrorCode; message: string } {
  if (error instanceof CommandError) return { error: error.code, message: error.message };
  const { status, detail } = toProblem(error);
  if (status === 403) return { error: "permission_denied", message: detail };
  return { error: status >= 500 ? "unknown_error" : "invalid_argument", message: detail };
}
