/**
 * Which scope a call needs: ONE table, for both API keys and tokens. The first row that fits decides; a route that
 * no row fits is refused (see `authenticate`), so a new noun adds its row here.
 */
import type { Scope } from "../principal.ts";

/** `deployment`: only the deployment's admin key. */
export type Access = Scope | "deployment";

export interface Rule {
  access: Access;
  /** A call about the organization and no single workspace: X-Organization-Id may replace X-Tenant-Id. */
  organization: boolean;
}

type Methods = "GET" | "POST" | "ACT" | "*";
type Row = [methods: Methods, path: RegExp, access: Access, organization?: true];

/** The platform API answers under `/api/v1` (and `/api/v2`), and its tracing part also under `/`. */
const PLATFORM = "(?:/api/v[12])?";

const TABLE: Row[] = [
  ["GET", /^\/api\/v1\/workspaces$/, "read", true],
  ["POST", /^\/api\/v1\/workspaces$/, "deployment"],
  ["*", /^\/api\/v1\/(?:api-keys|audit-log|grants|masking-rules|oauth-clients|webhook-secrets)(?:\/|$)/, "admin"],
  ["*", /^\/api\/v1\/bulk-exports(?:\/|$)/, "exports"],
  ["*", /^\/internal\//, "admin"],
  ["POST", /^\/oauth\/introspect$/, "read"],

  ["ACT", /^\/(?:(?:api\/)?threads|runs)\//, "write"],

  // Reading that needs a body.
  ["POST", /^\/(?:assistants|threads|runs\/crons)\/(?:search|count)$/, "read"],
  ["POST", /^\/runs\/crons\/firings$/, "read"],
  ["POST", /^\/assistants\/[^/]+\/versions$/, "read"],
  ["POST", /^\/threads\/[^/]+\/(?:history|state\/checkpoint|stream|stream\/events)$/, "read"],
  ["POST", /^\/api\/threads\/[^/]+\/(?:history|stream|stream\/events)$/, "read"],
  ["POST", /^\/ui\/[^/]+$/, "read"],
  ["POST", /^\/store\/(?:items\/search|namespaces)$/, "read"],
  ["POST", new RegExp(`^${PLATFORM}/(?:runs|traces|threads)/(?:query|stats|group)(?:/validate|/series)?$`), "read"],

  // Links for feedback: the holder of a link may write with it.
  ["*", new RegExp(`^${PLATFORM}/feedback/tokens$`), "write"],

  ["POST", /^\/agui\/[^/]+\/connect$/, "read"],
  // An agent's work, even where the method's name says "get": one address for all of its protocol.
  ["*", /^\/(?:a2a|agui|mcp)(?:\/|$)/, "write"],

  ...everything(/^\/(?:assistants|threads|runs|store|crons|api\/threads)(?:\/|$)/),
  ...everything(
    new RegExp(`^${PLATFORM}/(?:runs|sessions|feedback|feedback-configs|datasets|examples|traces|threads)(?:/|$)`),
  ),
  ...everything(/^\/(?:api\/)?v1\/platform\/datasets\//),
  ...everything(new RegExp(`^${PLATFORM}/otel/`)),
  ["GET", /^\/(?:metrics|docs|api\/v1\/usage|api\/v1\/activity\/(?:runs|stream))(?:\/|$)/, "read"],
];

function everything(path: RegExp): Row[] {
  return [
    ["GET", path, "read"],
    ["*", path, "write"],
  ];
}

/**
 * A GET that does something: a WebSocket carries commands, and a reader may request that its disconnect cancels the
 * run.
 */
export function acts(request: Request): boolean {
  if (request.headers.has("upgrade")) return true;
  const asked = new URL(request.url).searchParams.getAll("cancel_on_disconnect");
  return asked.some((value) => !/^(?:0|false)?$/i.test(value));
}

/** The rule for a call; undefined when no row fits. HEAD counts as GET. `acting`: see `acts`. */
export function ruleFor(method: string, path: string, acting = false): Rule | undefined {
  const verb = method === "HEAD" ? "GET" : method;
  const fits = (methods: Methods) => methods === "*" || methods === verb || (methods === "ACT" && acting);
  const row = TABLE.find(([methods, pattern]) => fits(methods) && pattern.test(path));
  return row && { access: row[2], organization: row[3] === true };
}
