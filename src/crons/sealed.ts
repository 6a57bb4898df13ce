/** The payload of a cron in a workspace that encrypts: what its runs are given. */
import { openJson, openListed, sealJson } from "../access/encryption/ring.ts";
import { loadRing, withRing } from "../access/encryption/keys.ts";
import type { CronRow } from "../automation/crons/store.ts";

const cronPlace = ({ id }: Pick<CronRow, "id">) => ["cron", id];

/** The cron as it is to be stored. */
export async function sealCron<T extends Pick<CronRow, "id" | "workspaceId" | "payload">>(
  env: Env,
  cron: T,
): Promise<T> {
  const ring = await loadRing(env, cron.workspaceId);
  return { ...cron, payload: sealJson(ring, cron.payload, cronPlace(cron)) };
}

/** The cron as it was before. */
export async function openCron(env: Env, row: CronRow): Promise<CronRow> {
  const payload = await withRing(env, row.workspaceId, (ring) => openJson(ring, row.payload, cronPlace(row)));
  return { ...row, payload };
}

/** The crons of a list. One whose key is destroyed has no payload. */
export async function openCrons(env: Env, workspaceId: string, rows: CronRow[]): Promise<CronRow[]> {
  return withRing(env, workspaceId, (ring) =>
    rows.map((row) => ({ ...row, payload: openListed(ring, row.payload, cronPlace(row)) ?? {} })),
  );
}
