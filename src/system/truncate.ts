/** `POST /internal/truncate`: empties the caller's workspace of what is named. For tests on one's own machine only. */
import * as v from "valibot";
import { deleteAllAssistants } from "../assistants/store.ts";
import { deleteAllCrons } from "../crons/store.ts";
import { database } from "../db/client.ts";
import { deleteAllItems } from "../memory/store.ts";
import { threadStub } from "../threads/rpc.ts";
import { searchThreads } from "../threads/store.ts";

const flag = v.optional(v.boolean(), false);
export const Truncate = v.object({ runs: flag, threads: flag, assistants: flag, checkpointer: flag, store: flag });

const PAGE = 100;

/** Runs and checkpoints live in their threads: naming them empties the threads too. */
export async function truncate(env: Env, workspaceId: string, what: v.InferOutput<typeof Truncate>): Promise<void> {
  const db = database(env.DB);
  if (what.threads || what.runs || what.checkpointer) await deleteThreads(env, workspaceId);
  if (what.threads || what.runs || what.assistants) await deleteAllCrons(db, workspaceId);
  if (what.assistants) await deleteAllAssistants(db, workspaceId);
  if (what.store) await deleteAllItems(db, workspaceId);
}

async function deleteThreads(env: Env, workspaceId: string): Promise<void> {
  const page = { limit: PAGE, offset: 0, sortBy: "thread_id", sortOrder: "asc" } as const;
  for (let more = true; more;) {
    const rows = await searchThreads(database(env.DB), workspaceId, page);
    const gone = await Promise.all(rows.map(({ id }) => threadStub(env, workspaceId, id).remove()));
    more = rows.length > PAGE && gone.some(Boolean);
  }
}
