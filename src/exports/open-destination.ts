/** An export's destination, ready to be written to. */
import { StoreError } from "./s3/errors.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { Deps } from "./deps.ts";
import { openCredentials } from "./destinations/credentials.ts";
import type { OpenDestination } from "./destinations/open.ts";
import { findDestination } from "./destinations/store.ts";
import type { ExportRow } from "./store.ts";

/** @throws StoreError, permanent, when the destination is deleted or its credentials cannot be read. */
export async function openDestination(
  deps: Deps,
  job: ExportRow,
): Promise<{ destination: OpenDestination; store: ObjectStore }> {
  const row = await findDestination(deps.db, job.workspaceId, job.destinationId);
  if (!row) throw new StoreError("NoDestination: the destination was deleted", "NoDestination", true);
  const destination = await openCredentials(deps.db, deps.keys, row).catch(() => {
    throw new StoreError("NoCredentials: the credentials cannot be decrypted", "NoCredentials", true);
  });
  return { destination, store: deps.open(destination) };
}
