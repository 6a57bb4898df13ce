/** A tool call: a run of the assistant, waited for. */
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type { Assistant } from "../assistants/store.ts";
import { isUuid } from "../http/uuid.ts";
import type { Json } from "../json.ts";
import { type LogEvent, readEvents } from "../threads/log/events.ts";
import type { Caller } from "../threads/requests/access.ts";
import { actorOf, runRequest } from "../threads/requests/runs/request.ts";
import type { RunRequest } from "../threads/rpc.ts";
import { readJson, threadStub } from "../threads/stub.ts";
import { METHODS } from "./progress.ts";
import { answersIn, canShow, questionsIn, request, stateOf, waits, withIds } from "./questions.ts";
import { type OutputSchema, toResult } from "./result.ts";

/** The run of a tool call. */
export interface ToolRun {
  id: string;
  /** How long the run is kept at least, milliseconds since 1970. */
  keepUntil?: number;
  signal: AbortSignal;
  /** Gets the run's events of `METHODS` while it runs. */
  report?: (event: LogEvent) => Promise<void>;
  /** Whether the client takes requests for input, and whether it shows forms to a person. */
  takesRequests: boolean;
  showsForms: boolean;
  schema: OutputSchema | undefined;
}

type Result = CallToolResult | InputRequiredResult;

/** A run on a thread of its own, which is kept only when the run waits for an answer. */
export async function callAssistant(by: Caller, assistant: Assistant, input: Json, run: ToolRun): Promise<Result> {
  const { assistant_id } = assistant;
  const request = await runRequest(by, run.id, { assistant_id, input, if_not_exists: "create" }, run.id);
  const kept = { temporary: true, keep_until: run.keepUntil, keep_questions: true };
  return wait(by, run.id, { ...request, ...kept }, run);
}

/** The same call again, with what a person answered to the questions that `state` names. */
export async function continueCall(
  by: Caller,
  { assistant_id }: Assistant,
  state: string,
  responses: Record<string, unknown>,
  run: ToolRun,
): Promise<Result> {
  const threadId = state.split(".")[0] ?? "";
  const request = isUuid(threadId) && (await runRequest(by, threadId, { assistant_id }, run.id));
  const standing = request && (await threadStub(by.env, by.principal.workspaceId, threadId).standing());
  if (!standing || standing.assistantId !== assistant_id) throw unknownThread();
  const earlier = await findResult(by, threadId, run);
  if (earlier) return earlier;
  const thread = await threadStub(by.env, by.principal.workspaceId, threadId).get(0);
  const questions = withIds(Object.values(thread?.interrupts ?? {}).flat());
  if (questions.length === 0) throw invalid("The thread does not wait for an answer.");
  if (state !== stateOf(threadId, questions)) throw invalid("The thread waits for answers to other questions.");
  const resume = answersIn(questions, responses);
  if (!resume) return waits({}, threadId, run.schema);
  return wait(by, threadId, { ...request, command: { resume }, answers: Object.keys(resume), actor: actorOf(by) }, run);
}

/** Answers an interrupt of a thread, whichever call it came from. */
export async function answerInterrupt(
  by: Caller,
  { threadId, interruptId, answer }: { threadId: string; interruptId?: string; answer: unknown },
  run: ToolRun,
): Promise<Result> {
  const standing = isUuid(threadId) && (await threadStub(by.env, by.principal.workspaceId, threadId).standing());
  if (!standing || standing.assistantId === undefined) throw unknownThread();
  const request = await runRequest(by, threadId, { assistant_id: standing.assistantId }, run.id);
  const earlier = await findResult(by, threadId, run);
  if (earlier) return earlier;
  const id = interruptId ?? standing.interrupts[0];
  if (id === undefined) throw invalid("The thread does not wait for an answer.");
  if (interruptId === undefined && standing.interrupts.length > 1)
    throw invalid(`The thread waits for several answers. Give interrupt_id, one of ${standing.interrupts.join(", ")}.`);
  return wait(
    by,
    threadId,
    { ...request, command: { resume: { [id]: answer } }, answers: [id], actor: actorOf(by) },
    run,
  );
}

/**
 * The result of the run that an earlier request under the same Idempotency-Key began: the questions that it answered wait no longer.
 * Undefined when there is no such run. Read the questions before, so that the run cannot begin in between.
 */
async function findResult(by: Caller, threadId: string, run: ToolRun): Promise<Result | undefined> {
  const seq = await threadStub(by.env, by.principal.workspaceId, threadId).firstSeq(run.id);
  return seq === undefined ? undefined : follow(by, threadId, seq, run);
}

async function wait(by: Caller, threadId: string, request: RunRequest, run: ToolRun): Promise<Result> {
  const { seq } = await threadStub(by.env, by.principal.workspaceId, threadId).launch(request);
  return follow(by, threadId, seq, run);
}

/** Reports the run's events from `seq` on, and gives its result. */
async function follow(
  by: Caller,
  threadId: string,
  seq: number,
  { id: runId, signal, report, takesRequests, showsForms, schema }: ToolRun,
): Promise<Result> {
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const cancel = () => void thread.cancelMany({ runIds: [runId] }, "interrupt").catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (report) {
      const events = await thread.follow({ after: seq - 1, runId, methods: METHODS });
      for await (const event of readEvents(events)) await report(event);
    }
    const state = await readJson(await thread.join(runId));
    if (!("__interrupt__" in state)) return toResult(state, schema);
    const questions = questionsIn(state);
    const asks = takesRequests && questions.some((one) => canShow(one, showsForms));
    return asks ? request(questions, showsForms, threadId) : waits(state, threadId, schema);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const unknownThread = (): ProtocolError => invalid("There is no such thread that waits for an answer.");
