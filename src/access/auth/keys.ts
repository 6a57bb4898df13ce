/** The rights that a caller may give to an API key: only those of its own credential. */
import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import { Problem } from "../../lib/problem.ts";
import { ALL_PERMISSIONS, may, type Permission, type Principal, type Scope } from "../../http/principal.ts";
import { sha256 } from "../../lib/crypto.ts";
import type { ApiKeyRow } from "./store.ts";

// The text of an API key: `weir_key_`, 43 random letters and digits, and six that are their checksum.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "weir_key_";
/** 62^43 is more than 2^256. */
const RANDOM = 43;
const CHECKSUM = 6;
/** The characters of a key that lists show. */
const HINT = PREFIX.length + 4;

export function newApiKey(): string {
  const random = Array.from({ length: RANDOM }, () => DIGITS[randomInt(DIGITS.length)]).join("");
  return PREFIX + random + checksum(random);
}

export function keyHint(key: string): string {
  return key.slice(0, HINT);
}

/**
 * Whether a text can be an API key. Scanners for leaked secrets, and the server before it asks its database, recognize
 * a key by its prefix and checksum.
 */
export function isApiKeyShaped(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const random = text.slice(PREFIX.length, -CHECKSUM);
  return random.length === RANDOM && text.endsWith(checksum(random));
}

/** The CRC-32 of the random part, in base 62. */
function checksum(random: string): string {
  let rest = crc32(random);
  let text = "";
  for (let i = 0; i < CHECKSUM; i++) {
    text = DIGITS[rest % DIGITS.length] + text;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}

export interface KeyTerms {
  name: string;
  scopes: Scope[];
  /** Milliseconds since 1970; null for never. */
  expiresAt: number | null;
  allowedIps: string[] | null;
  role: string | null;
}

export function makeKey(maker: Principal, id: string, terms: KeyTerms): { key: string; row: ApiKeyRow } {
  const key = newApiKey();
  const row = {
    ...terms,
    id,
    workspaceId: maker.workspaceId,
    hash: sha256(key),
    hint: keyHint(key),
    grantId: maker.grantId ?? null,
    createdAt: Date.now(),
    lastUsedAt: null,
    endReason: null,
    successorId: null,
  };
  return { key, row };
}

/**
 * Checks what a key will be, not only what a request changes of it: scopes that are harmless with one role are not with
 * another.
 *
 * @param permissions those of its role
 * @throws Problem 403 when the maker's own credential has fewer scopes or permissions, ends earlier, or works from other
 *   networks only.
 */
export function checkTerms(
  maker: Pick<Principal, "scopes" | "permissions" | "expiresAt" | "allowedIps">,
  { scopes, expiresAt, allowedIps, role }: KeyTerms,
  permissions: readonly Permission[],
): void {
  const scopesMore = scopes.filter((scope) => !maker.scopes.includes(scope));
  if (scopesMore.length > 0)
    throw new Problem(403, `A key cannot have scopes that its maker lacks: ${scopesMore.join(", ")}.`);
  if ((expiresAt ?? Infinity) > (maker.expiresAt ?? Infinity))
    throw new Problem(403, "A key cannot last longer than the key that makes it.");
  if (role === null && maker.permissions !== undefined)
    throw new Problem(403, "A credential with a role makes keys with a role only.");
  const key = { scopes, permissions: role === null ? undefined : permissions };
  const more = ALL_PERMISSIONS.filter((permission) => may(key, permission) && !may(maker, permission));
  if (more.length > 0)
    throw new Problem(403, `A key cannot have permissions that its maker lacks: ${more.join(", ")}.`);
  const own = maker.allowedIps;
  if (own && !allowedIps?.every((network) => own.includes(network)))
    throw new Problem(403, "A key cannot work from networks from which the key that makes it does not.");
}

/**
 * Checks a change by an application of a key that it did not make: the key stays when the application's access ends, so it gets no
 * more than it has.
 *
 * @param had the permissions of the key's role, `has` those of its next role
 * @throws Problem 403
 */
export function checkNarrows(
  old: KeyTerms,
  had: readonly Permission[],
  next: KeyTerms,
  has: readonly Permission[],
): void {
  const { scopes, expiresAt, allowedIps, role } = old;
  const rights = {
    scopes,
    permissions: role === null ? undefined : had,
    expiresAt: expiresAt ?? undefined,
    allowedIps: allowedIps ?? undefined,
  };
  try {
    checkTerms(rights, next, has);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(403, "An application can only narrow an API key that it did not make.");
  }
}
