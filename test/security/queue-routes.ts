/** The routes of annotation queues, for routes.ts: each is there with two prefixes. */
import type { Scope } from "../../src/http/principal.ts";

type Row = [method: string, path: string, scope: Scope];

const RUNS: Row[] = [
  ["POST", "", "write"],
  ["GET", "", "read"],
  ["POST", "/populate", "write"],
  ["GET", "/:queue_id", "read"],
  ["PATCH", "/:queue_id", "write"],
  ["DELETE", "/:queue_id", "write"],
  ["GET", "/:run_id/queues", "read"],
  ["GET", "/:queue_id/size", "read"],
  ["GET", "/:queue_id/total_size", "read"],
  ["GET", "/:queue_id/total_archived", "read"],
  ["POST", "/:queue_id/runs", "write"],
  ["POST", "/:queue_id/runs/by-key", "write"],
  ["GET", "/:queue_id/runs", "read"],
  ["GET", "/:queue_id/run/:index", "read"],
  ["POST", "/status/:item_id", "write"],
  ["POST", "/:queue_id/runs/delete", "write"],
  ["PATCH", "/:queue_id/runs/:item_id", "write"],
  ["DELETE", "/:queue_id/runs/:item_id", "write"],
];

const ITEMS: Row[] = [
  ["POST", "/:queue_id/items", "write"],
  ["GET", "/:queue_id/items", "read"],
  ["GET", "/:queue_id/items/count", "read"],
  ["POST", "/:queue_id/items/delete", "write"],
  ["GET", "/:queue_id/items/:item_id/placement", "read"],
  ["PATCH", "/:queue_id/items/:item_id", "write"],
  ["POST", "/items/:item_id/status", "write"],
];

const prefixRoutes = (prefix: string, rows: Row[]) =>
  rows.map(([method, path, scope]) => [`${method} ${prefix}/annotation-queues${path}`, scope] as const);

export const QUEUE_ROUTES = Object.fromEntries([
  ...prefixRoutes("", RUNS),
  ...prefixRoutes("/api/v1", RUNS),
  ...prefixRoutes("/v1/platform", ITEMS),
  ...prefixRoutes("/api/v1/platform", ITEMS),
]);
