/** What the deployment's own `Auth` is asked about crons. */
import { containsJson } from "../../access/users/handlers.ts";
import { readMetadata, requireMatch, type UserRequest } from "../../access/users/request.ts";
import { database } from "../../db/client.ts";
import type { Json } from "../../lib/json.ts";
import { requireUsable, THREADS, type UserResource } from "../../threads/api/user-rules.ts";
import { threadName } from "../../threads/types.ts";
import { MAX_CRON_IDS } from "./schema.ts";
import { findCronMetadata } from "./store.ts";

export const CRONS: UserResource = {
  name: "crons",
  idField: "cron_id",
  label: () => "Cron",
  metadata: async ({ c, principal }, id) => findCronMetadata(database(c.env.DB), principal.workspaceId, id),
};

/** A cron: its assistant and its thread must be ones that the user may use. */
export async function createsCron(call: UserRequest): Promise<void> {
  const [threadId] = call.ids;
  const value: Json = { ...(await call.body()), thread_id: threadId };
  value.metadata = readMetadata(value);
  await requireUsable(call, value.assistant_id);
  await call.allowed("crons", "create", value);
  if (threadId !== undefined) {
    requireMatch(
      await THREADS.metadata(call, threadId),
      await call.allowed("threads", "read", { thread_id: threadId }),
      threadName(threadId),
    );
  }
  call.pass({ ...value, thread_id: undefined });
}

/** What became of several crons: those of others are left out. */
export async function listsFirings(call: UserRequest): Promise<void> {
  const body = await call.body();
  const ids = Array.isArray(body.cron_ids)
    ? body.cron_ids.slice(0, MAX_CRON_IDS + 1).map((id) => String(id).toLowerCase())
    : [];
  const own = await Promise.all(
    ids.map(async (id) => {
      const metadata = await CRONS.metadata(call, id);
      const filter = metadata && (await call.allowed("crons", "read", { cron_id: id }));
      return metadata && (!filter || containsJson(metadata, filter)) ? [id] : [];
    }),
  );
  // The route refuses a longer list, and a value that is not a list.
  call.pass(ids.length > MAX_CRON_IDS || !Array.isArray(body.cron_ids) ? body : { ...body, cron_ids: own.flat() });
}
