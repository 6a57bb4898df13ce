/** What calls of receivers need that is not shown: headers, keys, and addresses that are secrets themselves. */
import * as v from "valibot";
import { Problem } from "../http/problem.ts";
import { type KeySource } from "./load.ts";
import { openSecret, sealSecret } from "./secrets.ts";

/** A value of a secret that stays as it is. Answers show it in place of the secret. */
export const HIDDEN = "********";

/** Each list is by the number of the receiver. */
export interface ReceiverSecrets {
  headers: Record<string, string>[];
  keys: (string | null)[];
}

/** Headers of a receiver in a request. */
export const ReceiverHeaders = v.pipe(
  v.record(
    v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, "expected the name of a header")),
    v.pipe(v.string(), v.maxLength(2_000)),
  ),
  v.check((headers) => Object.keys(headers).length <= 20, "holds more than 20 headers"),
);

/**
 * The secret that a request gives: itself, or for `HIDDEN` the one that is held for the same receiver.
 * @throws Problem 422 when none is held
 */
export function keptSecret(given: string, held: string | null | undefined, where: string): string {
  if (given !== HIDDEN) return given;
  if (held != null) return held;
  throw new Problem(
    422,
    `Invalid ${where}: ${HIDDEN} keeps a stored value, and this receiver has none. Give the value.`,
  );
}

/** The same for headers. @throws Problem 422 */
export function keptHeaders(
  given: Record<string, string> = {},
  held: Record<string, string> | undefined,
  where: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, keptSecret(value, held?.[name], `${where}.${name}`)]),
  );
}

/** Headers as answers show them; undefined when there are none. */
export function hiddenHeaders(headers: Record<string, string> = {}): Record<string, string> | undefined {
  const names = Object.keys(headers);
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, HIDDEN]));
}

/** An address that is a secret, as answers show it. */
export const hiddenAddress = (url: string): string => `${new URL(url).origin}/${HIDDEN}`;

/** Null when there is no secret. */
export async function sealReceivers(
  env: KeySource,
  workspaceId: string,
  { headers, keys }: ReceiverSecrets,
  purpose: string,
): Promise<string | null> {
  const isEmpty = headers.every((one) => Object.keys(one).length === 0) && keys.every((key) => key === null);
  return isEmpty ? null : sealSecret(env, workspaceId, JSON.stringify({ headers, keys }), purpose);
}

export async function openReceivers(
  env: KeySource,
  workspaceId: string,
  sealed: string | null,
  purpose: string,
): Promise<ReceiverSecrets> {
  if (sealed === null) return { headers: [], keys: [] };
  return JSON.parse(await openSecret(env, workspaceId, sealed, purpose)) as ReceiverSecrets;
}
