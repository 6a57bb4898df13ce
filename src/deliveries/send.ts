/** A request to a receiver, made when its effect is carried out, or before what it is made from is deleted. */
import { createHmac } from "node:crypto";
import { isKeyDestroyed } from "../access/encryption/ring.ts";
import { openSecret } from "../access/encryption/keys.ts";
import { database } from "../db/client.ts";
import { listSecrets } from "./store.ts";
import { addressFault } from "../http/addresses.ts";
import { readWithin } from "../lib/bytes.ts";
import { logError } from "../lib/log.ts";
import { callApp, toCaller, type RunPrincipal } from "../http/loopback.ts";

// Signatures of webhooks: a receiver can check who sent a delivery, when, and that its body is unchanged.

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

export const REQUEST_TIMEOUT_MS = 20_000;

/** By kind of an effect that reads the thread when it is carried out: the kind of the call that it becomes. */
export const PACKED_KINDS: Record<string, string> = { webhook: "webhook-call", "task-hook": "task-call" };

/** `Asked`: the questions that the receiver may answer. The sender hands them back with the answer. */
export interface Delivery<Asked = unknown> {
  url: string;
  /** A path of the project's own `app`, called in this server in place of the address, and who calls it. */
  own?: { path: string; by: RunPrincipal };
  /** The id of the delivery: the same at every attempt. */
  delivery: string;
  headers: Record<string, string>;
  /** A JSON object. */
  body: string;
  /** The member of the body that says when it is sent. Each attempt adds it. */
  stamp?: string;
  asked?: Asked;
}

/** Bytes of a receiver's answer that are read. A longer one answers nothing. */
const RESPONSE_LIMIT = 64 * 1024;

/** The call as text. JSON has no raw line break; a body within JSON would be escaped, and megabytes would be copied. */
export function packDelivery({ body, ...head }: Delivery): string {
  return `${JSON.stringify(head)}\n${body}`;
}

export function unpackDelivery<Asked = unknown>(text: string): Delivery<Asked> {
  const end = text.indexOf("\n");
  return { ...(JSON.parse(text.slice(0, end)) as Omit<Delivery<Asked>, "body">), body: text.slice(end + 1) };
}

/** Code of the project may continue after the signal. Other calls do not wait for it. */
async function withinTime<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("The receiver did not answer in time.")));
  });
  return Promise.race([answer, late]);
}

/** The address of a receiver was allowed when it was set, and no longer is. Another attempt changes nothing. */
export class ReceiverRefused extends Error {}

/**
 * Signs the call with the secrets of the workspace and sends it.
 * Of a call that asks, gives what the receiver answers as JSON.
 * @throws ReceiverRefused, and an error when the receiver does not answer with a 2xx status
 */
export async function sendDelivery(env: Env, workspaceId: string, call: Delivery): Promise<string | undefined> {
  const { url, own, delivery, stamp } = call;
  const fault = own ? undefined : addressFault(url, env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new ReceiverRefused(`The address of the receiver ${fault}.`);
  const body = stamp ? `${call.body.slice(0, -1)},"${stamp}":"${new Date().toISOString()}"}` : call.body;
  const headers = { ...call.headers, ...(await signedHeaders(env, workspaceId, { delivery, body })) };
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const init: RequestInit = { method: "POST", headers, body, redirect: "manual", signal };
  const response = await (own
    ? withinTime(callApp(toCaller(env, workspaceId, own.by), own.path, init), signal)
    : fetch(url, init));
  const isRead = response.ok && call.asked && /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
  // The call has been delivered, also when its answer cannot be read.
  if (isRead) {
    const answer = await readWithin(response, RESPONSE_LIMIT, signal).catch(() => undefined);
    return answer && new TextDecoder().decode(answer);
  }
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  return undefined;
}

/** The same, for effects without a caller that reads the result: a call whose address is refused is logged and dropped. */
export async function sendOrDropDelivery(env: Env, workspaceId: string, call: Delivery): Promise<string | undefined> {
  try {
    return await sendDelivery(env, workspaceId, call);
  } catch (error) {
    if (!(error instanceof ReceiverRefused)) throw error;
    logError(`The call of a receiver is dropped. ${error.message}`, { delivery: call.delivery });
    return undefined;
  }
}
