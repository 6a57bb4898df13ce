/** Permissions that a handler checks, because the path alone does not say which one a call needs. */
import { Problem } from "../lib/problem.ts";
import { may, type Permission, type Principal } from "../http/principal.ts";

/** @throws Problem 403 */
export function requirePermission(principal: Principal, permission: Permission): void {
  if (!may(principal, permission)) throw new Problem(403, `This credential lacks the permission ${permission}.`);
}
