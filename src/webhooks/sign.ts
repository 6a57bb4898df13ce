/** Signatures of webhooks: a receiver can check who sent a delivery, when, and that its body is unchanged. */
import { createHmac } from "node:crypto";
import { isKeyDestroyed } from "../access/encryption/ring.ts";
import { openSecret } from "../access/encryption/keys.ts";
import { database } from "../db/client.ts";
import { listSecrets } from "../deliveries/store.ts";

/** A ciphertext belongs to one secret: no other row's column opens with it. */
export const secretPurpose = (id: string) => `webhook secret ${id}`;

/**
 * The headers `Weir-Delivery: <id>` and `Weir-Signature: t=<unix seconds>,v1=<hex>`. Each `v1` is the HMAC-SHA-256 of
 * `<t>.<delivery id>.<body>` under one secret of the workspace that is valid at `now`. A workspace without a secret sends
 * no signature.
 */
export async function signedHeaders(
  env: Env,
  workspaceId: string,
  { delivery, body, now = Date.now() }: { delivery: string; body: string; now?: number },
): Promise<Record<string, string>> {
  const rows = await listSecrets(database(env.DB), workspaceId, now);
  const opened = await Promise.allSettled(
    rows.map(({ id, sealed }) => openSecret(env, workspaceId, sealed, secretPurpose(id))),
  );
  const secrets = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  // A secret whose key is destroyed signs no more, as long as another one does.
  const failed = opened.find(
    (one) => one.status === "rejected" && (secrets.length === 0 || !isKeyDestroyed(one.reason)),
  );
  if (failed?.status === "rejected") throw failed.reason;
  const time = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => `v1=${hmac(secret, `${time}.${delivery}.`, body)}`);
  const signature = signatures.length > 0 && { "weir-signature": [`t=${time}`, ...signatures].join(",") };
  return { "weir-delivery": delivery, ...signature };
}

function hmac(secret: string, head: string, body: string): string {
  return createHmac("sha256", secret).update(head).update(body).digest("hex");
}
