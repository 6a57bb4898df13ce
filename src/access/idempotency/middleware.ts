/**
 * `Idempotency-Key` on any POST (draft-ietf-httpapi-idempotency-key-header): a repeated request gets the answer of the
 * first for 24 hours. The same key with another request is refused.
 */
import type { Context, MiddlewareHandler } from "hono";
import { createHash } from "node:crypto";
import type { Principal } from "../../http/principal.ts";
import { openSecret, sealSecret } from "../encryption/keys.ts";
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { retry } from "../../lib/retry.ts";
import { Problem } from "../../lib/problem.ts";
import { EVENT_STREAM } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { BODY_LIMIT, readBody, readCopy } from "../../http/validate.ts";
import {
  type IdempotencyClaim,
  claimKey,
  keyEnd,
  isHeldBy,
  type IdempotencyKeyRow,
  releaseKey,
  saveResponse,
  saveStream,
} from "./store.ts";

const KEY_LENGTH = 255;
/**
 * The most bytes of an answer that is kept. Encryption makes it a third longer. A longer answer is not kept, and a
 * repeated request runs again.
 */
const RESPONSE_LIMIT = 1_000_000;
/**
 * The stored status of an answer that is not kept: a stream, or an answer with a secret (`cache-control: no-store`).
 */
const STREAM = 0;
const SECRET = 1;
const KEPT_HEADERS = ["content-type", "location", "content-location"];

export const idempotency: MiddlewareHandler<App> = async (c, next) => {
  const given = c.req.header("idempotency-key");
  const principal = c.get("principal") as App["Variables"]["principal"] | undefined;
  if (given === undefined || c.req.method !== "POST" || !principal) return next();
  if (given.length === 0 || given.length > KEY_LENGTH) {
    throw new Problem(400, `Idempotency-Key must have 1 to ${KEY_LENGTH} characters.`);
  }
  const fingerprint = await fingerprintRequest(c);
  const claim = {
    workspaceId: principal.workspaceId,
    key: credentialKey(principal, given),
    claim: crypto.randomUUID(),
  };
  const held = await retry(() => claimKey(database(c.env.DB), { ...claim, fingerprint }));
  const isFirst = isHeldBy(claim, held);
  const keepStream = async (text: string) => saveText(c.env, held, text);
  c.set("idempotency", { key: claim.key, epoch: held.epoch, ends: keyEnd(held), isRepeat: !isFirst, keepStream });
  if (isFirst) return respondToClaim(c, next, claim);
  if (held.fingerprint !== fingerprint) {
    throw new Problem(422, "This Idempotency-Key was used with another request. Use a new key for a new request.");
  }
  // A stream of a run is not kept: the run has an id made from the key, so asking again shows the same run.
  if (held.status === STREAM) return next();
  if (held.status === SECRET) {
    throw new Problem(
      409,
      "The first request with this Idempotency-Key was answered with a secret, which is shown once.",
    );
  }
  if (held.status === null) {
    const headers = { "retry-after": "1" };
    throw new Problem(409, "The first request with this Idempotency-Key is still being answered.", { headers });
  }
  c.res = await replay(c, held);
};

/** Each credential has keys of its own: another one of the workspace may have other scopes. */
function credentialKey({ kind, credentialId }: Principal, given: string): string {
  return JSON.stringify([kind, credentialId, given]);
}

async function fingerprintRequest(c: Context<App>): Promise<string> {
  const bytes = await readCopy(c.req.raw, (copy) => readBody(copy, BODY_LIMIT));
  const { pathname, search } = new URL(c.req.url);
  return createHash("sha256").update(`${c.req.method} ${pathname}${search}\n`).update(bytes).digest("hex");
}

async function respondToClaim(c: Context<App>, next: () => Promise<void>, claim: IdempotencyClaim): Promise<void> {
  await next();
  try {
    await retry(() => storeResponse(c, claim));
  } catch (error) {
    // The work is done: an error here would make the client repeat it.
    logError(error, { while: "keeping an answer under its Idempotency-Key" });
  }
}

async function storeResponse(c: Context<App>, claim: IdempotencyClaim): Promise<void> {
  const db = database(c.env.DB);
  const { status, headers } = c.res;
  // The answer asks the client to send the request again.
  if (status >= 500 || status === 429 || headers.has("retry-after")) return releaseKey(db, claim);
  if (status < 300 && isStream(c)) return saveResponse(db, claim, { status: STREAM, headers: null, body: null });
  if (status < 300 && headers.get("cache-control") === "no-store")
    return saveResponse(db, claim, { status: SECRET, headers: null, body: null });
  const text = await shortText(c.res.clone().body);
  // The flag may be set while the body is written.
  if (text === undefined || c.get("serverFault")) return releaseKey(db, claim);
  const kept = KEPT_HEADERS.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : []));
  await saveResponse(db, claim, {
    status,
    headers: Object.fromEntries(kept),
    body: await sealSecret(c.env, claim.workspaceId, text, responsePurpose(claim)),
  });
}

/** Keeps the text of a stream that has ended. */
async function saveText(env: Env, held: IdempotencyKeyRow, text: string): Promise<void> {
  if (Buffer.byteLength(text) > RESPONSE_LIMIT) return;
  const body = await sealSecret(env, held.workspaceId, text, responsePurpose(held));
  await retry(() => saveStream(database(env.DB), held, { status: 200, headers: EVENT_STREAM, body }));
}

/** The text of an answer, or undefined when it has more than `RESPONSE_LIMIT` bytes. It reads no further than that. */
async function shortText(body: ReadableStream<Uint8Array> | null): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > RESPONSE_LIMIT) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Answers that are sent during the run; `/wait` sends keep-alive blanks before its JSON. */
function isStream(c: Context<App>): boolean {
  return c.req.path.endsWith("/wait") || Boolean(c.res.headers.get("content-type")?.startsWith("text/event-stream"));
}

async function replay(c: Context<App>, held: IdempotencyKeyRow): Promise<Response> {
  const { status, headers, body } = held;
  const text = body === null ? null : await openSecret(c.env, held.workspaceId, body, responsePurpose(held));
  const init = { status: status ?? 200, headers: { ...headers, "idempotency-replayed": "true" } };
  return new Response(status === 204 ? null : text, init);
}

const responsePurpose = ({ workspaceId, key }: Pick<IdempotencyKeyRow, "workspaceId" | "key">) =>
  `idempotency:${workspaceId}:${key}`;
