/** The routes of rules on runs, for routes.ts: each is there with two prefixes. */
import type { Scope } from "../../src/http/principal.ts";

const ROWS: [method: string, path: string, scope: Scope][] = [
  ["GET", "", "read"],
  ["POST", "", "write"],
  ["GET", "/:rule_id", "read"],
  ["PATCH", "/:rule_id", "write"],
  ["DELETE", "/:rule_id", "write"],
  ["GET", "/:rule_id/logs", "read"],
  ["GET", "/:rule_id/backfills", "read"],
  ["POST", "/:rule_id/backfills", "write"],
];

export const RULE_ROUTES = Object.fromEntries(
  ["", "/api/v1"].flatMap((prefix) =>
    ROWS.map(([method, path, scope]) => [`${method} ${prefix}/runs/rules${path}`, scope] as const),
  ),
);
