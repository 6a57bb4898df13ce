/** How often one caller may call. The limits themselves are in wrangler.toml. */
import type { Context } from "hono";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { callerAddress, toNetwork } from "../../http/context.ts";
import type { Principal } from "../../http/principal.ts";
import { credentialKey } from "../../auth/seen.ts";

/** The limiter returns no time, so the answer names its whole period. */
const PERIOD_SECONDS = 60;

/**
 * This many requests of a credential to this isolate count as one call of the limiter, because a call delays each
 * request.
 */
const COUNTED = 20;
const KEPT_MOST = 10_000;

const callers = new Map<string, { requests: number; refused: boolean }>();

/** Counts a request of this credential; throws 429 past the limit. */
export async function limitKey(env: Env, principal: Principal): Promise<void> {
  const key = credentialKey(principal);
  const caller = callers.get(key) ?? { requests: 0, refused: false };
  if (callers.size >= KEPT_MOST) callers.clear();
  callers.set(key, caller);
  caller.requests += 1;
  // A refused credential calls the limiter each time, so that it is accepted as soon as its minute is over.
  if (caller.refused || caller.requests % COUNTED === 1) caller.refused = !(await env.KEY_LIMIT.limit({ key })).success;
  if (caller.refused) throw tooMany("This credential has sent too many requests.");
}

/** Counts a call that needs no credential, per network, in total, and by `purpose`. @throws Problem 429 past a limit. */
export async function limitAddress(c: Context<App>, purpose: string): Promise<void> {
  const network = toNetwork(callerAddress(c) ?? "unknown");
  const { success } = await c.env.ADDRESS_LIMIT.limit({ key: `${purpose} ${network}` });
  if (!success) throw tooMany("Too many of these calls came from this address.");
  // Last, so that a refused network does not use the limit of the others.
  const { success: room } = await c.env.TOTAL_LIMIT.limit({ key: purpose });
  if (!room) throw tooMany("The server received too many of these calls.");
}

/** Counts a call that is paid for: 60 a minute for each credential. @throws Problem 429 past the limit. */
export async function limitPaid(env: Env, principal: Principal): Promise<void> {
  const { success } = await env.ADDRESS_LIMIT.limit({ key: `paid ${credentialKey(principal)}` });
  if (!success) throw tooMany("This credential has called models too often.");
}

/** This many requests by links of an address count as one call of the limiter: a page of a shared trace makes several. */
const LINKS_COUNTED = 10;

/** Counts a request whose only credential is a link in its path, per network and in total. @throws Problem 429 past a limit. */
export async function limitLink(c: Context<App>): Promise<void> {
  const key = `link ${toNetwork(callerAddress(c) ?? "unknown")}`;
  const caller = callers.get(key) ?? { requests: 0, refused: false };
  if (callers.size >= KEPT_MOST) callers.clear();
  callers.set(key, caller);
  caller.requests += 1;
  if (!caller.refused && caller.requests % LINKS_COUNTED !== 1) return;
  caller.refused = true;
  await limitAddress(c, "link");
  caller.refused = false;
}

/** A failed attempt to sign in or to consent takes this long, milliseconds. */
const SLOW_MS = 1_000;

export async function slowDown(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
}

function tooMany(what: string): Problem {
  return new Problem(429, `${what} Try again in ${PERIOD_SECONDS} seconds.`, {
    headers: { "retry-after": String(PERIOD_SECONDS) },
  });
}
