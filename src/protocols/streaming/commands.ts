/** Commands that start a run. */
import { createHash } from "node:crypto";
import type * as v from "valibot";
import { defaultGraphId } from "../../agents/assistants/defaults.ts";
import { toProblem } from "../../lib/problem.ts";
import { parse } from "../../http/validate.ts";
import { runRequest } from "../../threads/api/request.ts";
import type { Json } from "../../lib/json.ts";
import type { Standing } from "../../threads/types.ts";
import { RunCreate } from "../../threads/api/schema.ts";
import type { Answer, Commander } from "../../streaming/commander.ts";
import { CommandError } from "../../streaming/errors.ts";
import { ANY_ASSISTANT } from "./schema.ts";
import type * as schema from "./schema.ts";

type Given<S extends v.GenericSchema> = v.InferOutput<S>;

/** What a reader of the classic streams gets of these runs when it does not say. */
const STREAM_MODE = ["values", "updates", "messages-tuple", "custom"];

/** `run.start`: a run with this input; on a thread that waits for an answer, the answer. */
export async function runStart(
  by: Commander,
  { assistant_id, input, multitask_strategy, multitaskStrategy, ...options }: Given<typeof schema.RunStart>,
  command: schema.Command,
): Promise<Answer> {
  const standing = await by.thread.standing();
  const answers = resumes(standing, input, options.config) ? (standing?.interrupts ?? []) : [];
  // The protocol: what is given to a thread that waits for an answer is the answer.
  const given =
    answers.length > 0 ? { command: { resume: Object.fromEntries(answers.map((id) => [id, input])) } } : { input };
  const strategy = multitask_strategy ?? multitaskStrategy;
  const body = {
    ...options,
    ...given,
    assistant_id: assistantFor(assistant_id, standing),
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
): Promise<Answer> {
  const standing = await requireBegun(by);
  const given = responses ?? [{ interrupt_id: String(interrupt_id), response }];
  const resume = Object.fromEntries(given.map((one) => [one.interrupt_id, one.response ?? null]));
  const body = { ...options, command: { resume, update, goto }, assistant_id: assistantFor(ANY_ASSISTANT, standing) };
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
): Promise<Answer> {
  const standing = await requireBegun(by);
  const body = { ...options, input: input ?? null, checkpoint_id, assistant_id: assistantFor(ANY_ASSISTANT, standing) };
  const { run_id } = await start(by, body, command);
  return { result: { run_id, thread_id: by.threadId } };
}

/** A message for an agent at work is taken up as soon as its run has ended. */
export async function inject(
  by: Commander,
  { namespace, message: { role, content, name } }: Given<typeof schema.Inject>,
  command: schema.Command,
): Promise<Answer> {
  const standing = await requireBegun(by);
  if (namespace && namespace.length > 0) throw new CommandError("not_supported", "Messages go to the root agent only.");
  const message = { role, content, ...(name && { name }) };
  const body = { input: { messages: [message] }, assistant_id: assistantFor(ANY_ASSISTANT, standing) };
  return { result: {}, meta: (await start(by, body, command)).meta };
}

/** The thread's state; an error when the thread has no run. */
async function requireBegun(by: Commander): Promise<Standing> {
  const standing = await by.thread.standing();
  if (!standing?.graphId) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  return standing;
}

function resumes(standing: Standing | undefined, input: unknown, config: Json | null | undefined): boolean {
  return input != null && standing?.busy === false && readCheckpointId(config) === undefined;
}

function assistantFor(given: string, standing: Standing | undefined): string {
  if (given !== ANY_ASSISTANT) return given;
  return standing?.assistantId ?? standing?.graphId ?? defaultGraphId();
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
  await checkCheckpoint(by, body.checkpoint_id ?? readCheckpointId(body.config));
  const request = await runRequest(by, by.threadId, body);
  const fingerprint = createHash("sha256").update(JSON.stringify(command)).digest("base64url");
  const { run, seq } = await by.thread.launch({
    ...request,
    fingerprint,
    ...(answers.length > 0 && { answers }),
  });
  return { run_id: run.run_id, meta: { thread_id: by.threadId, applied_through_seq: seq } };
}

async function checkCheckpoint({ thread }: Commander, checkpoint_id: unknown): Promise<void> {
  if (checkpoint_id === undefined) return;
  const missing = new CommandError("no_such_checkpoint", "This thread has no such checkpoint.");
  if (typeof checkpoint_id !== "string") throw missing;
  try {
    if (!(await thread.state({ checkpoint: { checkpoint_id } }))) throw missing;
  } catch (error) {
    throw toProblem(error).status === 404 ? missing : error;
  }
}
