/** Entries of the audit trail about a request: who requested what, and from where. */
import type { Context } from "hono";
import type { Principal } from "../../http/principal.ts";
import { callerAddress, toNetwork, type App } from "../../http/context.ts";
import { database } from "../../db/client.ts";
import { type AuditAction, insertAudit } from "./store.ts";
import { logError } from "../../lib/log.ts";

export interface AuditEntry {
  action: AuditAction;
  targetId: string;
  /** Names and hosts that help a reader. Never a secret. */
  detail?: Record<string, unknown>;
  /** Left out: the request's own principal. */
  actor?: Pick<Principal, "credentialId"> & { kind: string };
  /** Left out: the workspace of the request's principal. Null when the entry belongs to the deployment. */
  workspaceId?: string | null;
}

/** The most characters of a User-Agent that are kept. */
const AGENT = 300;

/**
 * Appends an entry to the audit trail (`GET /api/v1/audit-log`), with the request's address and user agent. A deletion and
 * a new link are recorded before they happen: a Worker that stops in between leaves an entry too many and never one too few.
 */
export async function audit(
  c: Context<App>,
  {
    action,
    targetId,
    detail = {},
    actor = c.get("principal"),
    workspaceId = c.get("principal").workspaceId,
  }: AuditEntry,
): Promise<void> {
  await insertAudit(database(c.env.DB), {
    id: crypto.randomUUID(),
    workspaceId,
    at: Date.now(),
    actorKind: actor.kind,
    actorId: actor.credentialId,
    action,
    targetId,
    detail,
    address: callerAddress(c) ?? null,
    userAgent: c.req.header("user-agent")?.slice(0, AGENT) ?? null,
  });
}

/**
 * The most failures of one kind that an isolate writes per minute: for one network, and for all. Anyone can cause
 * failures.
 */
const FAILURES = { network: 10, all: 120 };
const MINUTE_MS = 60_000;
const failures = { minute: 0, counts: new Map<string, number>() };

/** The same for a failure of a caller without a credential. It is left out when there are too many of them. */
export async function auditFailure(c: Context<App>, entry: Omit<AuditEntry, "actor">): Promise<void> {
  const minute = Math.floor(Date.now() / MINUTE_MS);
  // There may be very many networks.
  if (failures.minute !== minute || failures.counts.size > 10_000)
    Object.assign(failures, { minute, counts: new Map() });
  // The network first, so that a network with many failures does not use the limit of the others.
  const network = `${entry.action} ${toNetwork(callerAddress(c) ?? "unknown")}`;
  if (!countFailure(network, FAILURES.network) || !countFailure(entry.action, FAILURES.all)) return;
  await audit(c, { workspaceId: null, ...entry, actor: { kind: "anonymous", credentialId: "" } });
}

function countFailure(key: string, most: number): boolean {
  const count = (failures.counts.get(key) ?? 0) + 1;
  failures.counts.set(key, count);
  return count <= most;
}

// Entries of the audit trail about credentials as they are used. A request does not wait for them.

const MAX_KEPT = 1_000;
/** When the use of the admin key was last noted, by workspace and network. */
const noted = new Map<string, number>();

/** Records a use of the admin key: one entry per minute for each workspace, network and isolate. */
export function noteAdminKey(c: Context<App>, workspaceId: string | null): void {
  const key = `${workspaceId} ${toNetwork(callerAddress(c) ?? "")}`;
  const now = Date.now();
  if (now - (noted.get(key) ?? 0) < MINUTE_MS) return;
  if (noted.size >= MAX_KEPT) noted.clear();
  noted.set(key, now);
  const actor = { kind: "admin", credentialId: "admin" };
  runInBackground(
    c,
    audit(c, { workspaceId, actor, action: "admin_key.used", targetId: "admin", detail: describeRequest(c) }),
  );
}

/** Records an unknown key or token, or a key (`of`) that does not work from the caller's address. */
export function noteRefusal(c: Context<App>, of?: { workspaceId: string; credentialId: string }): void {
  const { workspaceId = null, credentialId = "" } = of ?? {};
  runInBackground(
    c,
    auditFailure(c, { workspaceId, action: "credential.refused", targetId: credentialId, detail: describeRequest(c) }),
  );
}

function describeRequest(c: Context<App>) {
  return { method: c.req.method, path: c.req.path.slice(0, 200) };
}

function runInBackground(c: Context<App>, work: Promise<void>): void {
  c.executionCtx.waitUntil(work.catch((error: unknown) => logError(error, { while: "writing the audit trail" })));
}
