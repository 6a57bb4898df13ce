/** A request becomes a run: a new one, or the response to its thread's interrupts. */
import { parseBoundedJson } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { threadStub } from "../../threads/remote.ts";
import type { ThreadRpc, RunRequest } from "../../threads/rpc.ts";
import { type RunAgentInput, readForwarded } from "./schema.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { requireAssistant, type ThreadCaller } from "../../threads/api/access.ts";
import { runRequest } from "../../threads/api/request.ts";
import { type Thread, deriveThreadId, threadName } from "../../threads/types.ts";
import type { RunCreate } from "../../threads/api/schema.ts";
import { authorize, containsJson } from "../../access/users/handlers.ts";
import { PROTOCOL, sentBody } from "./begin.ts";
import { BREAKPOINT, buildResume } from "./interrupts.ts";

export interface AguiStart {
  thread: ThreadRpc;
  threadId: string;
  request: RunRequest;
}

/**
 * The run for a request. Its id is derived from the client's `threadId` and `runId` and its credential, so that a retry after a lost
 * answer finds the same run. Its input is made when it begins (begin.ts).
 */
export async function planStart(by: ThreadCaller, assistantId: string, input: RunAgentInput): Promise<AguiStart> {
  const { env, principal } = by;
  const assistant = await requireAssistant(env, principal, assistantId);
  const threadId = deriveThreadId(input.threadId, principal.user?.identity);
  const thread = threadStub(env, principal.workspaceId, threadId);
  await visibleThread(by, threadId, thread, 0);
  const { kind, credentialId } = principal;
  const runId = deriveUuid(`ag-ui run ${JSON.stringify([threadId, input.runId, kind, credentialId])}`);
  const { parentRunId, tools, context, state, forwardedProps } = input;
  const told = {
    parent_run_id: parentRunId ?? null,
    tools,
    context,
    state: state ?? null,
    forwarded_props: forwardedProps ?? null,
  };
  const { answers, isNext, ...given } = readResponse(input);
  const body: RunCreate = {
    assistant_id: assistant.assistant_id,
    ...given,
    if_not_exists: "create",
    on_disconnect: readForwarded(input).on_disconnect ?? "continue",
    metadata: { source: "ag-ui", ag_ui: { thread_id: input.threadId, run_id: input.runId } },
  };
  const configurable = { ...by.configurable, ag_ui: told };
  const request = await runRequest({ ...by, configurable }, threadId, body, runId);
  const sent = isNext ? undefined : { protocol: PROTOCOL, body: sentBody(input) };
  const own = { chosen_id: true as const, ...(answers && { must_resume: answers }) };
  return { thread, threadId, request: { ...request, sent, ...own } };
}

interface AguiResponse extends Pick<RunCreate, "input" | "command"> {
  /** The interrupts that it answers. */
  answers?: string[];
  /** It continues from a breakpoint, which asks for nothing. */
  isNext?: true;
}

/** The response in a request. One without a response has an input, which is made when its run begins. */
export function readResponse(input: RunAgentInput): AguiResponse {
  const { resume } = input;
  const legacy = readForwarded(input).command;
  if (resume && resume.length > 0) {
    if (resume.some(({ interruptId }) => interruptId === BREAKPOINT.id)) return { input: null, isNext: true };
    return { command: { resume: buildResume(resume) }, answers: resume.map(({ interruptId }) => interruptId) };
  }
  return legacy && "resume" in legacy ? { command: { resume: parseAnswer(legacy.resume) } } : { input: {} };
}

/** An answer that is JSON as a text is what it says: CopilotKit's components answer with texts only. */
const parseAnswer = (answer: unknown): unknown =>
  typeof answer === "string" ? (parseBoundedJson(answer) ?? answer) : answer;

/** The thread, if there is one, with `values` null when they are longer. 404 when it is not one that the user sees. */
export async function visibleThread(
  { principal }: ThreadCaller,
  threadId: string,
  thread: ThreadRpc,
  mostValues?: number,
): Promise<Thread | undefined> {
  const filter = await authorize(principal, "threads", "read", { thread_id: threadId });
  const found = await thread.get(mostValues);
  if (found && filter && !containsJson(found.metadata, filter))
    throw new Problem(404, `${threadName(threadId)} not found.`);
  return found;
}
