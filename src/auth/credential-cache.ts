/**
 * Credentials that this isolate has just looked up, by their hash. Code that ends a credential calls
 * `forgetCredentials`.
 */
import { RowCache } from "../lib/cache.ts";
import type { Principal } from "../http/principal.ts";

/** The identity and rights that a key, token or session grants. */
export interface Credential {
  principal: Principal;
  /** RFC 8707: the path under which a token works; null is the whole server. */
  resource: string | null;
  /** Milliseconds since 1970; Infinity for a key that does not expire. */
  expiresAt: number;
  /** Of a key or session: when its last use was noted, milliseconds since 1970. */
  lastUsedAt?: number;
}

const cache = new RowCache<Credential>(({ expiresAt }) => expiresAt);

/** The credential with this hash: cached, or found by `find` and then cached. */
export async function readCredential(
  hash: string,
  find: () => Promise<Credential | undefined>,
): Promise<Credential | undefined> {
  return cache.get(hash, find);
}

/** To be called when a credential ends. Other isolates notice within five seconds. */
export function forgetCredentials(): void {
  cache.forget();
}
