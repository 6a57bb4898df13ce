/** What the channels of an alert have that is not shown. */
import { openReceivers, type ReceiverSecrets, sealReceivers } from "../deliveries/receiver.ts";
import type { AlertRow } from "../automation/alerts/store.ts";

const sealPurpose = (alertId: string) => `alert ${alertId}`;

export async function sealSecrets(
  env: Env,
  { id, workspaceId }: Pick<AlertRow, "id" | "workspaceId">,
  secrets: ReceiverSecrets,
): Promise<string | null> {
  return sealReceivers(env, workspaceId, secrets, sealPurpose(id));
}

export async function openSecrets(env: Env, { id, workspaceId, secrets }: AlertRow): Promise<ReceiverSecrets> {
  return openReceivers(env, workspaceId, secrets, sealPurpose(id));
}
