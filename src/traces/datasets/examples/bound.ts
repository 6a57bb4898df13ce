import type { Database } from "../../../db/client.ts";
import { Problem } from "../../../lib/problem.ts";
import { measureExamples } from "../../review/examples/store.ts";

/** The most bytes of stored examples that one request changes. They are read and written at once. */
const MOST_BYTES = 16 * 1024 * 1024;
/** This many examples are always below it. */
const FEW = 100;

/** @throws Problem 413 when the examples with these ids are too large for one request */
export async function boundExamples(db: Database, workspaceId: string, ids: string[]): Promise<void> {
  if (ids.length <= FEW) return;
  const bytes = await measureExamples(db, workspaceId, { id: ids, limit: ids.length, offset: 0 });
  if (bytes <= MOST_BYTES) return;
  throw new Problem(413, `These examples are larger than ${MOST_BYTES} bytes together. Send fewer at a time.`);
}
