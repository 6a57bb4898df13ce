/** The run of a tool call: its progress, its result, and what a client gets when the run stops at a question. */
import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";
import { giveLinks } from "../../threads/interrupts/links/links.ts";
import type { Json } from "../../lib/json.ts";
import { type LogEvent, readEvents } from "../../threads/log/events.ts";
import type { Caller } from "../../threads/api/access.ts";
import { readJson, threadStub } from "../../threads/remote.ts";
import { METHODS } from "../../mcp/progress.ts";
import { type Asked, canShow, isForPeople, questionsIn, request, type Shows, askInText } from "./interrupts.ts";
import { type OutputSchema, structureState, toResult } from "../../mcp/result.ts";

export interface ToolRun {
  id: string;
  /** How long the run is kept at least, milliseconds since 1970. */
  keepUntil?: number;
  signal: AbortSignal;
  /** Gets the run's events of `METHODS` while it runs. */
  report?: (event: LogEvent) => Promise<void>;
  /** Whether the client takes requests for input, and what it shows to a person. */
  takesRequests: boolean;
  shows: Shows;
  schema: OutputSchema | undefined;
  /** This server's, as the client has it. */
  address: string;
}

export type Result = CallToolResult | InputRequiredResult;

/** Reports the run's events from `seq` on, and gives its result. */
export async function follow(by: Caller, threadId: string, seq: number, run: ToolRun): Promise<Result> {
  const { id: runId, signal, report, schema } = run;
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
    return ask(by, threadId, state, run);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** Requests, where the client can show a question to a person; else a result that says what is asked. */
async function ask(by: Caller, threadId: string, state: Json, run: ToolRun): Promise<Result> {
  const { takesRequests, shows } = run;
  const questions = questionsIn(state);
  const opens = takesRequests && shows.urls && !shows.forms;
  const linked = opens ? await withLinks(by, threadId, questions, run) : questions;
  if (takesRequests && linked.some((one) => canShow(one, shows))) return request(linked, shows, threadId);
  return waitsFor(by, threadId, { questions, state }, run);
}

/** What is asked, in words, with a link to each question and how else to answer it. */
export async function waitsFor(
  by: Caller,
  threadId: string,
  { questions, state }: { questions: Asked[]; state: Json },
  run: ToolRun,
): Promise<CallToolResult> {
  const linked = await withLinks(by, threadId, questions, run);
  return { ...askInText(linked, threadId), ...structureState(state, run.schema) };
}

async function withLinks(
  { env, principal }: Caller,
  threadId: string,
  questions: Asked[],
  { address }: ToolRun,
): Promise<Asked[]> {
  const ids = questions.filter(isForPeople).map(({ id }) => id);
  const place = { env, workspaceId: principal.workspaceId, threadId, address };
  const links = new Map((await giveLinks(place, "mcp", ids)).map((link) => [link.interrupt_id, link]));
  return questions.map((one) => ({ ...one, link: links.get(one.id) }));
}
