/** Each mutating route leaves an entry in the audit trail, or audited.ts says why not. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { CALLBACK, newTokens } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";
import { signIn } from "../support/sessions.ts";
import { AUDITED } from "./audited.ts";
import { buildCall, type RouteCall } from "./route-calls.ts";
import { ROUTES } from "./routes.ts";
import { createAsk, type Json, makeThings, type Things } from "./things.ts";

const shortenRoute = (route: string) => route.replace(/ \/(?:api\/)?v1(?=\/)/, " ");
const mutates = ([route, access]: [string, string]) =>
  !(route.startsWith("GET ") && access !== "write") && access !== "read";

const ROUTES_THAT_CHANGE = [
  ...new Set(
    Object.entries(ROUTES)
      .filter(mutates)
      .map(([route]) => shortenRoute(route)),
  ),
];

it("every mutating route has a line, and every line a route", () => {
  expect(Object.keys(AUDITED).toSorted()).toEqual(ROUTES_THAT_CHANGE.toSorted());
});

/** Several of each: one that a route deletes is not there for the next route. */
const worlds: { caller: Caller; things: Things }[] = [];

async function newWorld(): Promise<void> {
  const caller = await newCaller();
  const { client } = await newTokens(caller);
  const [grant] = (await createAsk(caller)("GET", "/api/v1/grants")) as unknown as Json[];
  const ids = { grant_id: String(grant?.id), client_id: client };
  const things = await makeThings(createAsk(caller), `audited-${worlds.length}`, ids);
  await env.DB.prepare(
    "insert into delivery_events (id, workspace_id, owner, event, at, receivers, attempts) values (?, ?, ?, ?, 0, '[]', 0)",
  )
    .bind(
      things.change_id,
      caller.workspaceId,
      things.alert_id,
      JSON.stringify({ from: "ok", to: "firing", value: 1, at: 0 }),
    )
    .run();
  worlds.push({ caller, things: { ...things, member_session_id: (await signIn(things.member_id)).session } });
}

beforeAll(async () => {
  for (let i = 0; i < 3; i++) await newWorld();
}, 60_000);

/** Calls for which the usual ones delete nothing. */
const OTHERS: Record<string, (things: Things) => Partial<RouteCall>> = {
  "POST /oauth/register": () => ({
    body: { redirect_uris: [CALLBACK] },
    headers: { "cf-connecting-ip": "192.0.2.44" },
  }),
  "POST /workspaces": () => ({ body: { name: "another" }, headers: { "x-api-key": ADMIN_KEY } }),
};

/** The first world in which the call succeeds. */
async function succeed(route: string): Promise<string> {
  const statuses: number[] = [];
  for (const { caller, things } of worlds) {
    const named = Object.keys(ROUTES).find((one) => shortenRoute(one) === route && !one.includes(" /v1/")) ?? route;
    const { method, path, body, headers } = { ...buildCall(named, things), ...OTHERS[route]?.(things) };
    const response = await send(path, { method, body, headers: { "x-api-key": caller.key, ...headers } });
    await response.text();
    statuses.push(response.status);
    if (response.ok) return route.includes("oauth/register") ? "" : caller.workspaceId;
  }
  throw new Error(`${route}: ${statuses.join()}`);
}

async function entries(after: number) {
  const rows = await env.DB.prepare("select action, workspace_id, actor_id, target_id from audit_log where rowid > ?")
    .bind(after)
    .all<{ action: string; workspace_id: string | null; actor_id: string; target_id: string }>();
  return rows.results;
}

describe("the entry of", () => {
  it.for(Object.entries(AUDITED).filter(([, action]) => typeof action === "string"))("%s", async ([route, action]) => {
    const last = (await env.DB.prepare("select max(rowid) as n from audit_log").first<number>("n")) ?? 0;
    const workspaceId = await succeed(route);
    const made = (await entries(last)).filter((entry) => entry.action === action);
    const mine = made.filter((entry) => route === "POST /workspaces" || (entry.workspace_id ?? "") === workspaceId);
    expect(mine.length).toBeGreaterThan(0);
    for (const { actor_id, target_id } of mine) expect([actor_id, target_id]).not.toContain(null);
  });
});

it("a deletion of what does not exist leaves none", async () => {
  const caller = await newCaller();
  const last = (await env.DB.prepare("select max(rowid) as n from audit_log").first<number>("n")) ?? 0;
  const none = crypto.randomUUID();
  const paths = [
    "threads",
    "assistants",
    "runs/crons",
    "sessions",
    "datasets",
    "examples",
    "feedback",
    "datasets/comparative",
  ];
  for (const path of [
    ...paths.map((one) => `/${one}/${none}`),
    `/threads/${none}/runs/${none}`,
    "/feedback-configs?feedback_key=none",
  ])
    expect([path, (await caller.fetch(path, { method: "DELETE" })).status]).toEqual([path, 404]);
  expect((await caller.fetch(`/api/threads/${none}`, { method: "DELETE" })).status).toBe(204);
  expect((await entries(last)).filter(({ workspace_id }) => workspace_id === caller.workspaceId)).toEqual([]);
});
