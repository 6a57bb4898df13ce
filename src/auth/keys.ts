/** The rights that a caller may give to an API key: only those of its own credential. */
import { Problem } from "../http/problem.ts";
import { hintOf, newApiKey } from "./api-key.ts";
import { may, type Permission, type Principal, type Scope } from "../principal.ts";
import { sha256 } from "./secret.ts";
import type { ApiKeyRow } from "./store.ts";

export interface KeyTerms {
  name: string;
  scopes: Scope[];
  /** Milliseconds since 1970; null for never. */
  expiresAt: number | null;
  allowedIps: string[] | null;
  role: string | null;
}

/** A new key and its row. */
export function makeKey(maker: Principal, terms: KeyTerms): { key: string; row: ApiKeyRow } {
  const key = newApiKey();
  const row = {
    ...terms,
    id: crypto.randomUUID(),
    workspaceId: maker.workspaceId,
    hash: sha256(key),
    hint: hintOf(key),
    grantId: maker.grantId ?? null,
    createdAt: Date.now(),
    lastUsedAt: null,
    endReason: null,
    successorId: null,
  };
  return { key, row };
}

/** @throws Problem 403 when the role, with these `permissions`, has more than the maker's own. */
function checkRole(maker: Principal, role: string | null, permissions: readonly Permission[] = []): void {
  if (maker.permissions === undefined && role === null) return;
  if (role === null) throw new Problem(403, "A credential with a role makes keys with a role only.");
  const more = permissions.filter((permission) => !may(maker, permission));
  if (maker.permissions !== undefined && more.length > 0)
    throw new Problem(403, `A key cannot have a role with permissions that its maker lacks: ${more.join(", ")}.`);
}

/** @throws Problem 403 when the maker's own credential has fewer scopes, ends earlier, or works from other networks only. */
export function checkTerms(
  maker: Principal,
  { scopes, expiresAt, allowedIps, role }: Partial<KeyTerms>,
  permissions?: readonly Permission[],
): void {
  const more = scopes?.filter((scope) => !maker.scopes.includes(scope)) ?? [];
  if (more.length > 0) throw new Problem(403, `A key cannot have scopes that its maker lacks: ${more.join(", ")}.`);
  if (expiresAt !== undefined && (expiresAt ?? Infinity) > (maker.expiresAt ?? Infinity)) {
    throw new Problem(403, "A key cannot last longer than the key that makes it.");
  }
  if (role !== undefined) checkRole(maker, role, permissions);
  const own = maker.allowedIps;
  if (allowedIps !== undefined && own && !allowedIps?.every((network) => own.includes(network))) {
    throw new Problem(403, "A key cannot work from networks from which the key that makes it does not.");
  }
}
