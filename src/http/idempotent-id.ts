/** The ids of what a request makes: the same ones when it is repeated under its Idempotency-Key. */
import type { Context } from "hono";
import { Problem } from "../lib/problem.ts";
import type { App } from "./context.ts";
import { deriveUuid, uuidv7 } from "../lib/uuid.ts";

/**
 * The id (UUID) for what this request makes: a new one, but always the same one for repetitions of a request under its
 * Idempotency-Key, as long as the key is kept. So a repetition leads to what the request made when its answer is not kept
 * or was lost. `part` tells apart what one request makes.
 */
export function idempotentId(c: Context<App>, part = ""): string {
  const held = c.get("idempotency");
  if (!held) return uuidv7();
  const { key, epoch } = held;
  const texts = ["idempotency", c.get("principal").workspaceId, key, String(epoch)];
  if (part !== "") texts.push(part);
  return deriveUuid(texts.join("\n"));
}

/**
 * The id for a row that this request inserts, or the row that an earlier try of the request inserted: the database may
 * carry out a write and lose its answer.
 */
export async function newOrEarlier<T>(
  c: Context<App>,
  find: (id: string) => Promise<T | undefined>,
): Promise<{ id: string; earlier?: T }> {
  const id = idempotentId(c);
  return { id, earlier: c.get("idempotency") && (await find(id)) };
}

/**
 * The id for a row whose answer alone shows a secret.
 *
 * @throws Problem 409 when an earlier try of the request inserted the row: its secret is lost with its answer
 */
export async function newSecretId(c: Context<App>, find: (id: string) => Promise<unknown>): Promise<string> {
  const { id, earlier } = await newOrEarlier(c, find);
  if (earlier === undefined) return id;
  throw new Problem(
    409,
    `The first request with this Idempotency-Key made ${id}, and its secret was shown once. Delete it, and use a new Idempotency-Key for another.`,
  );
}
