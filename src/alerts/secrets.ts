/** What the channels of an alert have that is not shown. */
import { openSecret } from "../encryption/secrets.ts";
import type { AlertSecrets } from "./deliver.ts";
import type { AlertRow } from "./store.ts";

export const purposeOf = (alertId: string) => `alert ${alertId}`;

export async function secretsOf(env: Env, { id, workspaceId, secrets }: AlertRow): Promise<AlertSecrets> {
  if (secrets === null) return { headers: [], keys: [] };
  return JSON.parse(await openSecret(env, workspaceId, secrets, purposeOf(id))) as AlertSecrets;
}
