/**
 * Every route, called with another workspace's key and this workspace's ids; then every route with the owner's key, which
 * proves that the ids and bodies are right and that the first calls changed nothing.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { uis } from "../../src/deployment.ts";
import { newTokens } from "../access/oauth/person.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import { signIn } from "../support/sessions.ts";
import { buildCall } from "./route-calls.ts";
import { firstText } from "./first-text.ts";
import { ROUTES } from "./routes.ts";
import { createAsk, type Json, makeThings, type Things } from "./things.ts";

const MARKER = "marker7f3a";
const SCOPED = Object.entries(ROUTES).flatMap(([route, access]) =>
  access === "public" || access === "deployment" ? [] : [route],
);

/** Answers other than 404 to a call about a thing of another workspace, by the path below `/api/v1`, `/api/v2` and `/api`. */
const ELSEWHERE: Record<string, number> = {
  // An empty stream: the thread may be made later.
  "GET /threads/:thread_id/stream": 200,
  "POST /threads/:thread_id/stream": 200,
  "POST /threads/:thread_id/stream/events": 200,
  // A command answers in its own dialect that there is nothing.
  "POST /threads/:thread_id/commands": 200,
  "GET /threads/:thread_id/traces": 200,
  "GET /traces/:run_id/runs": 200,
  // A patch may come before its run, so it waits for one in the caller's workspace.
  "PATCH /runs/:run_id": 202,
  // None of the caller's queues.
  "GET /annotation-queues/:run_id/queues": 200,
  // A thing of this name of the caller's own.
  "PUT /roles/:name": 200,
  "PUT /budgets/:budget_id": 200,
  "PUT /flow/rules/:rule_id": 200,
  "POST /threads/:thread_id/copy": 409,
  "GET /threads/:thread_id/stream/events": 426,
};
const ELSEWHERE_API: Record<string, number> = {
  // The chat application's: both succeed where there is no thread, and the state makes one.
  "DELETE /api/threads/:thread_id": 204,
  "POST /api/threads/:thread_id/state": 422,
  "GET /api/threads/:thread_id/stream": 404,
};

/** The owner's answers of 400 and above. */
const OWNED: Record<string, number> = {
  // The alert has not changed.
  "POST /api/v1/alerts/:alert_id/history/:change_id/resend": 404,
  "GET /api/threads/:thread_id/stream": 404,
  "GET /api/threads/:thread_id/stream/events": 426,
  "GET /threads/:thread_id/stream/events": 426,
  // The platform's route deleted it.
  "DELETE /api/v1/examples/:example_id": 404,
  "DELETE /examples/:example_id": 404,
  // Their project has been deleted by then.
  "DELETE /api/v2/threads/:thread_id": 404,
  "DELETE /api/v2/traces/:trace_id": 404,
  // A key has no sessions.
  "DELETE /api/v1/me/sessions/:session_id": 404,
  "GET /mcp": 405,
  "DELETE /mcp": 404,
  "GET /mcp/traces": 405,
  "DELETE /mcp/traces": 404,
  "PATCH /api/v1/bulk-exports/destinations/:id": 422,
  "DELETE /api/v1/bulk-exports/destinations/:id": 409,
  // The things have no key, because a workspace with one cannot be searched: encryption/keys.test.ts.
  "POST /api/v1/encryption-keys/:id/destroy": 404,
  // Not on a server whose workspaces are real.
  "POST /internal/truncate": 404,
};

let owner: Caller;
let other: Caller;
/** What routes under `/api` are about, and what all others are: each thing is deleted once under each name. */
const things: Record<string, Things> = {};

beforeAll(async () => {
  uis.echo = { "entrypoint.js": "" };
  [owner, other] = [await newCaller(), await newCaller()];
  await newTokens(owner);
  const { client } = await newTokens(owner);
  const grants = (await createAsk(owner)("GET", "/api/v1/grants")) as unknown as Json[];
  const grant = grants.find(({ client_id }) => client_id !== client);
  for (const name of ["api", "root"])
    things[name] = await withSession(
      await makeThings(createAsk(owner), `${MARKER}-${name}`, {
        grant_id: String(grant?.id),
        client_id: client,
      }),
    );
}, 60_000);

async function withSession(made: Things): Promise<Things> {
  return { ...made, member_session_id: (await signIn(made.member_id)).session };
}

async function answerTo(route: string, key: string): Promise<{ status: number; text: string }> {
  const about = / \/api\//.test(route) ? things.api : things.root;
  const { method, path, body, headers } = buildCall(route, about as Things);
  const response = await send(path, { method, body, headers: { "x-api-key": key, ...headers } });
  return { status: response.status, text: await firstText(response) };
}

describe("with another workspace's key and this workspace's ids", () => {
  it.for(SCOPED)("%s", async (route) => {
    const { status, text } = await answerTo(route, other.key);
    const short = route.replace(/ \/api(?:\/v[12])?(?=\/)/, " ");
    expect(text).not.toContain(MARKER);
    expect(status).toBeLessThan(500);
    const expected = /\/:\w+/.test(route) ? (ELSEWHERE_API[route] ?? ELSEWHERE[short] ?? 404) : status;
    expect(status).toBe(expected);
  });
});

describe("with its own key, after that", () => {
  const order = (route: string) => ["GET", "PATCH", "PUT", "POST", "DELETE"].indexOf(route.split(" ")[0] ?? "");
  const compareDepth = (route: string) => -route.split("/").length;
  // No state can be written while a run is in flight.
  const compareFirst = (route: string) => Number(!route.endsWith("/state"));
  const sorted = SCOPED.toSorted(
    (a, b) => order(a) - order(b) || compareFirst(a) - compareFirst(b) || compareDepth(a) - compareDepth(b),
  );
  it.for(sorted)("%s", async (route) => {
    const { status } = await answerTo(route, owner.key);
    expect(OWNED[route] ?? "2xx").toBe(status < 300 ? "2xx" : status);
  });
});
