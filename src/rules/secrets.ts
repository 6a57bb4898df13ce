/** What the webhooks and judges of a rule have that is not shown. */
import { openReceivers, type ReceiverSecrets, sealReceivers } from "../deliveries/receiver.ts";
import type { RuleRow } from "../automation/rules/store.ts";

const sealPurpose = (ruleId: string) => `run rule ${ruleId}`;

export async function sealSecrets(
  env: Env,
  { id, workspaceId }: Pick<RuleRow, "id" | "workspaceId">,
  secrets: ReceiverSecrets,
): Promise<string | null> {
  return sealReceivers(env, workspaceId, secrets, sealPurpose(id));
}

export async function openSecrets(env: Env, { id, workspaceId, secrets }: RuleRow): Promise<ReceiverSecrets> {
  return openReceivers(env, workspaceId, secrets, sealPurpose(id));
}
