/** Credentials at rest: sealed for their destination and nothing else, in the clear only at the moment of use. */
import { isStale, sealText, type SealKeys, unseal } from "../../auth/seal.ts";
import type { Database } from "../../db/client.ts";
import { logError } from "../../http/log.ts";
import type { DestinationCredentials, OpenDestination } from "./open.ts";
import { type DestinationRow, resealCredentials } from "./store.ts";

const purposeOf = (destinationId: string) => `export destination ${destinationId}`;

export async function lock(keys: SealKeys, id: string, credentials: DestinationCredentials): Promise<string> {
  return sealText(keys, JSON.stringify(credentials), purposeOf(id));
}

/**
 * A stored destination with its credentials. A ciphertext of an older key is replaced by one of the current key.
 * @throws when no key of the deployment opens the credentials
 */
export async function unlock(db: Database, keys: SealKeys, row: DestinationRow): Promise<OpenDestination> {
  const { id, type, config, credentials: sealed } = row;
  if (sealed === null) return { type, config, credentials: null };
  const credentials = JSON.parse(await unseal(keys, sealed, purposeOf(id))) as DestinationCredentials;
  // The older key still opens the text, so a failed replacement waits for the next use.
  if (await isStale(keys, sealed))
    await resealCredentials(db, id, sealed, await lock(keys, id, credentials)).catch(logError);
  return { type, config, credentials };
}
