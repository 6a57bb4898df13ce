/** Entries of the audit trail about credentials as they are used. A request does not wait for them. */
import type { Context } from "hono";
import { callerAddress, toNetwork } from "../http/context.ts";
import { logError } from "../lib/log.ts";
import type { App } from "../http/context.ts";
import { audit, auditFailure } from "../access/audit/record.ts";

const MINUTE_MS = 60_000;
const KEPT_MOST = 1_000;
/** When the use of the admin key was last noted, by workspace and network. */
const noted = new Map<string, number>();

/** Records a use of the admin key: one entry per minute for each workspace, network and isolate. */
export function noteAdminKey(c: Context<App>, workspaceId: string | null): void {
  const key = `${workspaceId} ${toNetwork(callerAddress(c) ?? "")}`;
  const now = Date.now();
  if (now - (noted.get(key) ?? 0) < MINUTE_MS) return;
  if (noted.size >= KEPT_MOST) noted.clear();
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
