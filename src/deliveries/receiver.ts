/** What calls of receivers need that is not shown: headers, keys, and addresses that are secrets themselves. */
import * as v from "valibot";
import { Problem } from "../lib/problem.ts";
import { type KeySource, loadRing, openSecret, sealSecret } from "../access/encryption/keys.ts";
import { findOutage } from "../lib/retry.ts";
import type { Context } from "hono";
import { webhookFault } from "../http/addresses.ts";
import { serverAddress, type App } from "../http/context.ts";
import { ownAddress } from "../http/loopback.ts";
import { hasPostHandler } from "../access/users/app.ts";

/** A value of a secret that stays as it is. Answers show it in place of the secret. */
export const HIDDEN = "********";

/** Each list is by the number of the receiver. */
export interface ReceiverSecrets {
  headers: Record<string, string>[];
  keys: (string | null)[];
  /** There are some, and they cannot be read. The lists are empty. */
  isLost?: boolean;
}

/** The error of receivers whose secrets are lost. */
export const LOST_SECRETS =
  "The headers and keys of the receivers cannot be read: the key that encrypted them no longer exists. Give them again.";

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
export function resolveSecret(given: string, held: string | null | undefined, where: string): string {
  if (given !== HIDDEN) return given;
  if (held != null) return held;
  throw new Problem(
    422,
    `Invalid ${where}: ${HIDDEN} keeps a stored value, and this receiver has none, or is one of several of its address. Give the value.`,
  );
}

/** The same for headers. @throws Problem 422 */
export function resolveHeaders(
  given: Record<string, string> = {},
  held: Record<string, string> | undefined,
  where: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, resolveSecret(value, held?.[name], `${where}.${name}`)]),
  );
}

/**
 * Finds the stored receiver of each given one, at any position. Returns its index in `held`, or undefined.
 *
 * A receiver has several names, from the most specific to its address. Two receivers match by the first name that both have.
 * When several have the same name, they match in order. When the request has fewer of them than are stored, they match only if
 * their secrets are equal: otherwise a request could give a receiver the secret of another one.
 */
export function findStoredReceivers(
  given: string[][],
  held: { names: string[]; secret: unknown }[],
): (number | undefined)[] {
  const found: (number | undefined)[] = given.map(() => undefined);
  const [taken, unclear] = [new Set<number>(), new Set<number>()];
  const levels = Math.max(0, ...given.map((names) => names.length));
  for (let level = 0; level < levels; level++) {
    const left = [...given.keys()].filter((at) => found[at] === undefined && !unclear.has(at));
    for (const [name, places] of Map.groupBy(left, (at) => given[at]?.[level])) {
      const all = [...held.keys()].filter((at) => held[at]?.names[level] === name);
      const free = all.filter((at) => !taken.has(at));
      // A copy of a receiver has the secret of its address.
      const among = free.length === 0 && level === levels - 1 ? all : free;
      const isOne = new Set(among.map((at) => JSON.stringify(held[at]?.secret))).size === 1;
      if (isOne || free.length === places.length) places.forEach((place, i) => (found[place] = among[i] ?? among[0]));
      else if (among.length > 0) for (const place of places) unclear.add(place);
    }
    for (const at of found) if (at !== undefined) taken.add(at);
  }
  return found;
}

/** The receivers, each with the id of the stored one that it is. A stored one gives its id once. */
export function keepIds<Receiver extends { id: string }>(
  given: Receiver[],
  findHeld: (at: number, receiver: Receiver) => { id: string } | undefined,
): Receiver[] {
  const taken = new Set<string>();
  return given.map((receiver, at) => {
    const id = findHeld(at, receiver)?.id ?? receiver.id;
    if (taken.has(id)) return receiver;
    taken.add(id);
    return { ...receiver, id };
  });
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

/** The secrets. Those that no key opens are lost, and the rest of their owner stays readable. */
export async function openReceivers(
  env: KeySource,
  workspaceId: string,
  sealed: string | null,
  purpose: string,
): Promise<ReceiverSecrets> {
  if (sealed === null) return { headers: [], keys: [] };
  // An outage is no loss: the keys are read first.
  await loadRing(env, workspaceId);
  try {
    return JSON.parse(await openSecret(env, workspaceId, sealed, purpose)) as ReceiverSecrets;
  } catch (error) {
    if (findOutage(error)) throw error;
    return { headers: [], keys: [], isLost: true };
  }
}

// A webhook that is a path of the project's own `app`, as runs and crons store it.

/** The server makes this member; clients cannot set it. */
export interface OwnWebhook {
  /** The path and the query. */
  path: string;
  /** The absolute address of the path, which is also `webhook` until a change of the webhook leaves this member behind. */
  url: string;
}

export interface StoredWebhook {
  webhook?: string;
  own_webhook?: OwnWebhook;
}

/** The path to call in this server. Undefined for an address, also one that has been set in place of the path. */
export function readOwnPath({ webhook, own_webhook }: StoredWebhook): string | undefined {
  return own_webhook?.url === webhook ? own_webhook?.path : undefined;
}

/**
 * Where a webhook is sent: an absolute address. A path means this server, and one that the project's own `app` takes is called
 * within it. @throws Problem 422 when the webhook may not be called.
 */
export function readWebhook(c: Context<App>, given: string | null | undefined): StoredWebhook {
  if (!given) return {};
  if (!given.startsWith("/")) return { webhook: requireAllowed(c, new URL(given).href) };
  const own = ownAddress(given);
  if (!own)
    throw new Problem(422, "Invalid body.webhook: must be an http(s) URL or a path that begins with one slash.");
  const path = own.pathname + own.search;
  const url = new URL(serverAddress(c) + path).href;
  return hasPostHandler(own) ? { webhook: url, own_webhook: { path, url } } : { webhook: requireAllowed(c, url) };
}

function requireAllowed(c: Context<App>, url: string): string {
  const fault = webhookFault(url, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new Problem(422, `Invalid body.webhook: ${fault}.`);
  return url;
}
