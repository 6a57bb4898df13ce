/** The routes of prompts, for routes.ts: each is there with two prefixes. */
import type { Scope } from "../../src/http/principal.ts";

type Row = [method: string, path: string, scope: Scope];

const ROWS: Row[] = [
  ["GET", "/settings", "read"],
  ["POST", "/repos", "write"],
  ["GET", "/repos", "read"],
  ["GET", "/repos/:owner/:repo", "read"],
  ["PATCH", "/repos/:owner/:repo", "write"],
  ["DELETE", "/repos/:owner/:repo", "write"],
  ["POST", "/repos/:owner/:repo/tags", "write"],
  ["GET", "/repos/:owner/:repo/tags", "read"],
  ["GET", "/repos/:owner/:repo/tags/:tag_name", "read"],
  ["PATCH", "/repos/:owner/:repo/tags/:tag_name", "write"],
  ["DELETE", "/repos/:owner/:repo/tags/:tag_name", "write"],
  ["POST", "/commits/:owner/:repo", "write"],
  ["GET", "/commits/:owner/:repo", "read"],
  ["GET", "/commits/:owner/:repo/:commit", "read"],
  ["POST", "/likes/:owner/:repo", "write"],
];

const BOTH = ["", "/api/v1"].flatMap((prefix) =>
  ROWS.map(([method, path, scope]) => [`${method} ${prefix}${path}`, scope] as const),
);

export const PROMPT_ROUTES: Record<string, Scope> = {
  ...Object.fromEntries(BOTH),
  "GET /api/v1/playground/models": "read",
  "POST /api/v1/playground/stream": "write",
};
