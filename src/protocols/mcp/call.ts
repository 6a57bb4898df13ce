/** A tool call: a run of the assistant, waited for. */
import { nextEvent } from "../a2a/follow.ts";
import { isObject, type Json } from "../../lib/json.ts";
import type { Caller } from "../../threads/api/access.ts";
import { threadStub } from "../../threads/remote.ts";
import { follow, type Result, type ToolRun, waitsFor } from "./follow.ts";
import { type Shows, encodeState, waitingOn, answersIn } from "./interrupts.ts";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Assistant } from "../../agents/assistants/store.ts";
import { isUuid } from "../../lib/uuid.ts";
import { describeFirst } from "../../threads/interrupts/responses.ts";
import { describeActor, runRequest } from "../../threads/api/request.ts";
import type { RunRequest } from "../../threads/rpc.ts";

// A question that the client has shown as an address (URL-mode elicitation). That the person accepts says only that the page was
// opened; the answer comes by the link, and begins a run that is not of this call.

/** How long a call waits for the person, milliseconds. The SDK's clients give up after 60 seconds. */
const PATIENCE_MS = 45_000;

/** The keys of the questions whose address was opened, and the responses to the others. */
export function splitOpened(
  responses: Record<string, unknown>,
  shows: Shows,
): { opened: string[]; others: Record<string, unknown> } {
  const isOpened = ([, one]: [string, unknown]) =>
    isObject(one) && one.action === "accept" && one.content === undefined;
  const entries = Object.entries(responses);
  const opened = shows.forms || !shows.urls ? [] : entries.filter(isOpened).map(([key]) => key);
  return { opened, others: Object.fromEntries(entries.filter(([key]) => !opened.includes(key))) };
}

/** The result of the run that an answer by link has begun. Undefined when no one has answered in time. */
export async function followAnswer(
  by: Caller,
  threadId: string,
  { state, opened }: { state: string; opened: string[] },
  run: ToolRun,
): Promise<Result | undefined> {
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = await thread.lastSeq();
    if (state !== encodeState(threadId, waitingOn(await thread.get(0)))) break;
    if (Date.now() >= end || run.signal.aborted) return undefined;
    await nextEvent({ thread }, seen);
  }
  const answers = Object.values(await thread.answersTaken(opened)).sort((a, b) => b.at - a.at);
  const id = answers[0]?.run_id;
  if (id === undefined) return undefined;
  // The run is the person's: it goes on when the client leaves.
  const signal = new AbortController().signal;
  return follow(by, threadId, (await thread.firstSeq(id)) ?? 1, { ...run, id, signal });
}

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
  const { opened, others } = splitOpened(responses, run.shows);
  const isOpened = opened.length > 0 && Object.keys(others).length === 0;
  const result = isOpened ? await followAnswer(by, threadId, { state, opened }, run) : undefined;
  if (result) return result;
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const questions = waitingOn(await thread.get(0));
  if (questions.length === 0 || state !== encodeState(threadId, questions)) {
    const [first] = Object.values(await thread.answersTaken(Object.keys(responses)));
    if (first) throw invalid(`The question accepts one answer. ${describeFirst(first)}`);
    const asks = questions.length > 0 ? "waits for answers to other questions" : "does not wait for an answer";
    throw invalid(`The thread ${asks}.`);
  }
  const resume = answersIn(questions, others);
  if (!resume) return waitsFor(by, threadId, { questions, state: {} }, run);
  return wait(
    by,
    threadId,
    { ...request, command: { resume }, answers: Object.keys(resume), actor: describeActor(by) },
    run,
  );
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
    { ...request, command: { resume: { [id]: answer } }, answers: [id], actor: describeActor(by) },
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

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const unknownThread = (): ProtocolError => invalid("There is no such thread that waits for an answer.");
