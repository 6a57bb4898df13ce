/**
 * A question that the client has shown as an address (URL-mode elicitation). That the person accepts says only that the page was
 * opened; the answer comes by the link, and begins a run that is not of this call.
 */
import { nextEvent } from "../protocols/a2a/follow.ts";
import { isObject } from "../lib/json.ts";
import type { Caller } from "../threads/api/access.ts";
import { threadStub } from "../threads/remote.ts";
import { follow, type Result, type ToolRun } from "../protocols/mcp/follow.ts";
import { type Shows, encodeState, waitingOn } from "../protocols/mcp/interrupts.ts";

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
