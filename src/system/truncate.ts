/**
 * `POST /internal/truncate`: deletes the named kinds of data from the caller's workspace. For tests on localhost only.
 */
import * as v from "valibot";
import { deleteAllAssistants } from "../agents/assistants/store.ts";
import { deleteAllCrons } from "../automation/crons/store.ts";
import { database } from "../db/client.ts";
import { deleteAllItems } from "../agents/memory/store.ts";
import { deleteThreads } from "../threads/api/delete.ts";

const flag = v.optional(v.boolean(), false);
export const Truncate = v.object({ runs: flag, threads: flag, assistants: flag, checkpointer: flag, store: flag });

/** Runs and checkpoints are stored in their threads: naming them deletes the threads' content too. */
export async function truncate(env: Env, workspaceId: string, what: v.InferOutput<typeof Truncate>): Promise<void> {
  const db = database(env.DB);
  if (what.threads || what.runs || what.checkpointer) await deleteThreads(env, workspaceId);
  if (what.threads || what.runs || what.assistants) await deleteAllCrons(db, workspaceId);
  if (what.assistants) await deleteAllAssistants(db, workspaceId);
  if (what.store) await deleteAllItems(db, workspaceId);
}
