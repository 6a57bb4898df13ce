/** A tool call: a run of the assistant, waited for. */
import { nextEvent } from "../a2a/follow.ts";
import { isObject, type Json } from "../../lib/json.ts";
import type { ThreadCaller } from "../../threads/api/access.ts";
import { threadStub } from "../../threads/remote.ts";
import { follow, type McpResult, type ToolRun, waitsFor } from "./follow.ts";
import { type ClientDisplay, encodeState, waitingOn, responsesIn } from "./interrupts.ts";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Assistant } from "../../agents/assistants/store.ts";
import { isUuid } from "../../lib/uuid.ts";
import { describeResponse } from "../../threads/interrupts/responses.ts";
import { responsesById } from "../../threads/interrupts/waiting.ts";
import { describeActor, runRequest } from "../../threads/api/request.ts";
import type { RunRequest } from "../../threads/rpc.ts";

// A question that the client has shown as an address (URL-mode elicitation). That the person accepts says only that the page was
// opened; the answer comes by the link, and begins a run that is not of this call.

/** How long a call waits for the person, milliseconds. The SDK's clients give up after 60 seconds. */
const PATIENCE_MS = 45_000;

/** The keys of the questions whose address was opened, and the responses to the others. */
export function splitOpened(
  responses: Record<string, unknown>,
  shows: ClientDisplay,
): { opened: string[]; others: Record<string, unknown> } {
  const isOpened = ([, one]: [string, unknown]) =>
    isObject(one) && one.action === "accept" && one.content === undefined;
  const entries = Object.entries(responses);
  const opened = shows.forms || !shows.urls ? [] : entries.filter(isOpened).map(([key]) => key);
  return { opened, others: Object.fromEntries(entries.filter(([key]) => !opened.includes(key))) };
}

/** The result of the run that an answer by link has begun. Undefined when no one has answered in time. */
export async function followResponse(
  by: ThreadCaller,
  threadId: string,
  { state, opened }: { state: string; opened: string[] },
  run: ToolRun,
): Promise<McpResult | undefined> {
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = await thread.lastSeq();
    if (state !== encodeState(threadId, waitingOn(await thread.get(0)))) break;
    if (Date.now() >= end || run.signal.aborted) return undefined;
    await nextEvent({ thread }, seen);
  }
  const answers = Object.values(await thread.acceptedResponses(opened)).sort((a, b) => b.at - a.at);
  const id = answers[0]?.run_id;
  if (id === undefined) return undefined;
  // The run is the person's: it goes on when the client leaves.
  const signal = new AbortController().signal;
  return follow(by, threadId, (await thread.firstSeq(id)) ?? 1, { ...run, id, signal });
}

/** A run on a thread of its own, which is kept only when the run waits for an answer. */
export async function callAssistant(
  by: ThreadCaller,
  assistant: Assistant,
  input: Json,
  run: ToolRun,
): Promise<McpResult> {
  const { assistant_id } = assistant;
  const request = await runRequest(by, run.id, { assistant_id, input, if_not_exists: "create" }, run.id);
  const kept = { temporary: true, keep_until: run.keepUntil, keep_interrupts: true };
  return wait(by, run.id, { ...request, ...kept }, run);
}

/** The same call again, with what a person answered to the questions that `state` names. */
export async function continueCall(
  by: ThreadCaller,
  { assistant_id }: Assistant,
  state: string,
  responses: Record<string, unknown>,
  run: ToolRun,
): Promise<McpResult> {
  const threadId = state.split(".")[0] ?? "";
  const request = isUuid(threadId) && (await runRequest(by, threadId, { assistant_id }, run.id));
  const standing = request && (await threadStub(by.env, by.principal.workspaceId, threadId).summary());
  if (!standing) throw unknownThread();
  const earlier = await findResult(by, threadId, run);
  if (earlier) return earlier;
  const [raisedBy = standing.assistantId] = Object.values(standing.raisedBy);
  if (raisedBy !== assistant_id) throw unknownThread();
  const { opened, others } = splitOpened(responses, run.shows);
  const isOpened = opened.length > 0 && Object.keys(others).length === 0;
  const result = isOpened ? await followResponse(by, threadId, { state, opened }, run) : undefined;
  if (result) return result;
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const interrupts = waitingOn(await thread.get(0));
  if (interrupts.length === 0 || state !== encodeState(threadId, interrupts)) {
    const [first] = Object.values(await thread.acceptedResponses(Object.keys(responses)));
    if (first) throw invalid(`The question accepts one answer. ${describeResponse(first)}`);
    const asks = interrupts.length > 0 ? "waits for answers to other questions" : "does not wait for an answer";
    throw invalid(`The thread ${asks}.`);
  }
  const resume = responsesIn(interrupts, others);
  if (!resume) return waitsFor(by, threadId, { questions: interrupts, state: {} }, run);
  return wait(
    by,
    threadId,
    { ...request, command: { resume }, must_resume: Object.keys(resume), actor: describeActor(by) },
    run,
  );
}

/** Answers an interrupt of a thread, whichever call it came from. */
export async function respondToInterrupt(
  by: ThreadCaller,
  { threadId, interruptId, answer }: { threadId: string; interruptId?: string; answer: unknown },
  run: ToolRun,
): Promise<McpResult> {
  const standing = isUuid(threadId) && (await threadStub(by.env, by.principal.workspaceId, threadId).summary());
  if (!standing) throw unknownThread();
  const id = interruptId ?? standing.interrupts[0];
  const assistant_id = standing.raisedBy[id ?? ""] ?? standing.assistantId;
  if (assistant_id === undefined) throw unknownThread();
  const request = await runRequest(by, threadId, { assistant_id }, run.id);
  const earlier = await findResult(by, threadId, run);
  if (earlier) return earlier;
  if (standing.interrupts.length === 0 && interruptId === undefined)
    throw invalid("The thread does not wait for an answer.");
  const resume = interruptId === undefined ? responsesById(answer, standing.interrupts) : { [interruptId]: answer };
  return wait(
    by,
    threadId,
    { ...request, command: { resume }, must_resume: Object.keys(resume), actor: describeActor(by) },
    run,
  );
}

/**
 * The result of the run that an earlier request under the same Idempotency-Key began: the questions that it answered wait no longer.
 * Undefined when there is no such run. Read the questions before, so that the run cannot begin in between.
 */
async function findResult(by: ThreadCaller, threadId: string, run: ToolRun): Promise<McpResult | undefined> {
  const seq = await threadStub(by.env, by.principal.workspaceId, threadId).firstSeq(run.id);
  return seq === undefined ? undefined : follow(by, threadId, seq, run);
}

async function wait(by: ThreadCaller, threadId: string, request: RunRequest, run: ToolRun): Promise<McpResult> {
  const { seq } = await threadStub(by.env, by.principal.workspaceId, threadId).launch(request);
  return follow(by, threadId, seq, run);
}

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const unknownThread = (): ProtocolError => invalid("There is no such thread that waits for an answer.");
