/** Credentials at rest: sealed for one destination, decrypted only when used. */
import { isStale, unseal } from "../../lib/crypto.ts";
import type { KeySource } from "../../access/encryption/keys.ts";
import { innerSecret, sealSecret } from "../../access/encryption/keys.ts";
import type { Database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import type { DestinationCredentials, OpenDestination } from "./open.ts";
import { type DestinationRow, resealCredentials } from "./store.ts";

const sealPurpose = (destinationId: string) => `export destination ${destinationId}`;

/** `row`: the destination. */
export async function sealCredentials(
  keys: KeySource,
  { id, workspaceId }: Pick<DestinationRow, "id" | "workspaceId">,
  credentials: DestinationCredentials,
): Promise<string> {
  return sealSecret(keys, workspaceId, JSON.stringify(credentials), sealPurpose(id));
}

/**
 * A stored destination with its credentials. A ciphertext of an older key is replaced by one of the current key.
 * @throws when no key of the deployment opens the credentials
 */
export async function openCredentials(db: Database, keys: KeySource, row: DestinationRow): Promise<OpenDestination> {
  const { id, workspaceId, type, config, credentials: held } = row;
  if (held === null) return { type, config, credentials: null };
  const sealed = await innerSecret(keys, workspaceId, held, sealPurpose(id));
  const credentials = JSON.parse(await unseal(keys, sealed, sealPurpose(id))) as DestinationCredentials;
  // The older key still opens the text, so a failed replacement waits for the next use.
  if (await isStale(keys, sealed))
    await resealCredentials(db, id, held, await sealCredentials(keys, row, credentials)).catch(logError);
  return { type, config, credentials };
}
