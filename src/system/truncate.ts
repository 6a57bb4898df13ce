/** `POST /internal/truncate`: empties the caller's workspace of what is named. For tests on one's own machine only. */
import * as v from "valibot";
import { deleteAllAssistants } from "../assistants/store.ts";
import { deleteAllCrons } from "../crons/store.ts";
import { database } from "../db/client.ts";
import { deleteAllItems } from "../memory/store.ts";
import { deleteThreads } from "../threads/clear.ts";

const flag = v.optional(v.boolean(), false);
export const Truncate = v.object({ runs: flag, threads: flag, assistants: flag, checkpointer: flag, store: flag });

/** Runs and checkpoints live in their threads: naming them empties the threads too. */
export async function truncate(env: Env, workspaceId: string, what: v.InferOutput<typeof Truncate>): Promise<void> {
  const db = database(env.DB);
  if (what.threads || what.runs || what.checkpointer) await deleteThreads(env, workspaceId);
  if (what.threads || what.runs || what.assistants) await deleteAllCrons(db, workspaceId);
  if (what.assistants) await deleteAllAssistants(db, workspaceId);
  if (what.store) await deleteAllItems(db, workspaceId);
}
