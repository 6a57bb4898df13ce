/** Which answer a question has taken: one row a question, written in the transaction that begins the run with the answer. */
import { insertAudit } from "../../access/audit/store.ts";
import { database } from "../../db/client.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import type { ThreadContext } from "../context.ts";
import type { RunRecord } from "../run.ts";
import type { Actor, AcceptedResponse, ResponseChannel } from "../types.ts";

const CHANNEL_WORDS: Record<ResponseChannel, string> = {
  api: "over the API",
  console: "in the console",
  link: "by link",
  webhook: "by the webhook's receiver",
  mcp: "over MCP",
  a2a: "over A2A",
  agui: "over AG-UI",
  cron: "by a cron",
  run: "by another run",
};

/** The answer that a run gives. */
export function acceptedResponseOfRun({ id, created, request }: RunRecord): AcceptedResponse {
  const { via = "api", name } = request.actor ?? {};
  return { via, ...(name !== undefined && { name }), at: created, run_id: id };
}

/** "Answered by link for Ana, 26 Nov 2026, 10:04 UTC." */
export function describeResponse({ via, name, at }: Pick<AcceptedResponse, "via" | "name" | "at">): string {
  return `Answered ${CHANNEL_WORDS[via]}${name === undefined ? "" : ` for ${name}`}, ${formatTime(at)}.`;
}

/** A time as people read it, in UTC: the server does not know where its reader is. */
export function formatTime(at: number): string {
  const parts = { day: "numeric", month: "short", year: "numeric" } as const;
  const day = new Intl.DateTimeFormat("en-GB", { ...parts, timeZone: "UTC" }).format(at);
  return `${day}, ${new Date(at).toISOString().slice(11, 16)} UTC`;
}

/** The answer that the question with this id has taken: the one of this turn, else the last one. */
export function findAcceptedResponse(
  { tables }: ThreadContext,
  interruptId: string,
  turn?: number,
): AcceptedResponse | undefined {
  const text = tables.responses.taken(interruptId, turn ?? tables.responses.turn(interruptId) - 1);
  return text === undefined ? undefined : (JSON.parse(text) as AcceptedResponse);
}

/** Who was first to answer one of these questions. */
export function describeAccepted(context: ThreadContext, interruptIds: string[]): string | undefined {
  const first = interruptIds.map((id) => findAcceptedResponse(context, id)).find((one) => one !== undefined);
  return first && describeResponse(first);
}

/** Keeps what the run answers, and queues its entries of the audit log. Called inside the transaction that begins the run. */
export function recordResponses(context: ThreadContext, run: RunRecord): void {
  const { tables } = context;
  for (const id of run.outcome.answered ?? []) {
    // An attempt that stopped before its events were written begins again.
    if (findAcceptedResponse(context, id)?.run_id === run.id) continue;
    tables.responses.take(id, JSON.stringify(acceptedResponseOfRun(run)));
    tables.outbox.add("answered", JSON.stringify({ interrupt_id: id, run_id: run.id, actor: run.request.actor }));
  }
}

/** Those of these questions that the run was the last to answer wait again: their ids. Called inside a transaction. */
export function undoResponses(context: ThreadContext, runId: string, interruptIds: string[]): string[] {
  const undone = interruptIds.filter((id) => findAcceptedResponse(context, id)?.run_id === runId);
  for (const id of undone) context.tables.responses.undo(id);
  return undone;
}

/** Writes the entry of the audit log. It is the same at every attempt. */
export async function auditResponse({ env, workspaceId, threadId }: ThreadContext, body: string): Promise<void> {
  const { interrupt_id, run_id, actor } = JSON.parse(body) as { interrupt_id: string; run_id: string; actor?: Actor };
  const { kind = "run", credentialId = run_id, via = "api", user, name, address = null, agent = null } = actor ?? {};
  await insertAudit(database(env.DB), {
    id: deriveUuid(`audit of answer ${interrupt_id} ${run_id}`),
    workspaceId,
    at: Date.now(),
    actorKind: kind,
    actorId: credentialId,
    action: "interrupt.answered",
    targetId: interrupt_id,
    detail: { thread_id: threadId, run_id, via, ...(user && { user }), ...(name !== undefined && { name }) },
    address,
    userAgent: agent,
  });
}
