/** Which time a version has that a request names. */
import type { Database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import { microsFromIso } from "../time.ts";
import { findTag } from "../review/datasets/store.ts";

/** The reserved name of the newest version. */
export const LATEST = "latest";

/**
 * The time that `asOf` means, milliseconds: an ISO 8601 time, or the name of a version. Undefined for the newest version.
 * @throws Problem 404 when no version has this name, 422 when a name is sent without a dataset.
 */
export async function resolveVersion(
  db: Database,
  workspaceId: string,
  datasetId: string | undefined,
  asOf: string | undefined,
): Promise<number | undefined> {
  if (asOf === undefined || asOf === LATEST) return undefined;
  const micros = microsFromIso(asOf);
  if (micros !== undefined) return Math.floor(micros / 1000);
  if (datasetId === undefined) throw new Problem(422, "Invalid query.as_of: give dataset with the name of a version.");
  const time = await findTag(db, workspaceId, datasetId, asOf);
  if (time === undefined) throw new Problem(404, "The dataset has no version of this name.");
  return time;
}
