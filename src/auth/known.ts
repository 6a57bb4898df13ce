/**
 * Credentials that this isolate has just looked up, so that a busy caller costs one read of D1 every few seconds and
 * not one a request. Only good ones are kept, by their hash. Whatever ends a credential calls `forgetCredentials`; an
 * isolate elsewhere notices within `KEPT_MS`.
 */
import type { Principal } from "./principal.ts";

/** What a key or token stands for. */
export interface Credential {
  principal: Principal;
  /** RFC 8707: the path under which a token works; null is the whole server. */
  resource: string | null;
  /** Milliseconds since 1970; a key does not expire. */
  expiresAt: number;
}

const KEPT_MS = 5_000;
const KEPT_MOST = 10_000;

const known = new Map<string, { credential: Credential; until: number }>();
let forgotten = 0;

/** The credential with this hash: remembered, or found by `find` and then remembered. */
export async function credentialOf(
  hash: string,
  find: () => Promise<Credential | undefined>,
): Promise<Credential | undefined> {
  const now = Date.now();
  const kept = known.get(hash);
  if (kept && kept.until > now) return kept.credential;
  const before = forgotten;
  const credential = await find();
  if (known.size >= KEPT_MOST) known.clear();
  // What was read before something ended may be what ended.
  if (credential && before === forgotten)
    known.set(hash, { credential, until: Math.min(now + KEPT_MS, credential.expiresAt) });
  return credential;
}

/** Forgets all of them: cheap, as each comes back with one read. */
export function forgetCredentials(): void {
  forgotten += 1;
  known.clear();
}
