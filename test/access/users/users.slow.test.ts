import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { app } from "../../support/app.ts";
import { readSettings } from "../../../src/config.ts";
import { graphs, projectExports } from "../../../src/deployment.ts";
import { readConfigurable } from "../../../src/threads/api/request.ts";
import { newCaller } from "../../support/caller.ts";
import * as pack from "./pack.ts";

Object.assign(projectExports, { auth: pack.auth, app: pack.app });
Object.assign(graphs, { echo: pack.whoami });
// `app` was made before, without an application of the user's.
const own = createApp(readSettings({}));

const send = (
  path: string,
  { body, method, headers = {} }: { body?: unknown; method?: string; headers?: Record<string, string> },
  through = app,
) =>
  through.fetch(
    new Request(`https://weir.test${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { "content-type": "application/json", ...headers },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    }),
    env,
    createExecutionContext(),
  );

type Made = Record<string, string>;

const call = (user: string, path: string, body?: unknown, method?: string, through = app) =>
  send(path, { body, method, headers: { authorization: `Bearer user-${user}` } }, through);
async function createOne(user: string, path: string, body: unknown): Promise<Made> {
  const response = await call(user, path, body);
  expect(response.status).toBe(200);
  return response.json<Made>();
}
const json = async (response: Response) => response.json<Record<string, unknown>>();

const input = {};
let thread: string;
let run: string;
let assistant: string;
let cron: string;
beforeAll(async () => {
  thread = (await json(await call("ada", "/threads", { metadata: { title: "A secret" } }))).thread_id as string;
  assistant = (await json(await call("ada", "/assistants", { graph_id: "echo" }))).assistant_id as string;
  cron = (await json(await call("ada", "/runs/crons", { assistant_id: "echo", schedule: "0 0 1 1 *" })))
    .cron_id as string;
  run = (await json(await call("ada", `/threads/${thread}/runs`, { assistant_id: "echo", input }))).run_id as string;
  await call("ada", `/threads/${thread}/runs/${run}/join`);
  await call("ada", "/store/items", { namespace: ["n"], key: "k", value: { text: "secret" } }, "PUT");
});

describe("a user of the deployment's own Auth", () => {
  it("reads, streams and changes what is theirs", async () => {
    const [found] = await (await call("ada", "/threads/search", {})).json<Made[]>();
    expect(found).toMatchObject({ thread_id: thread, metadata: { owner: "ada" } });
    expect(await (await call("ada", "/threads/count", {})).json()).toBe(1);
    expect(await (await call("ada", "/threads/count", { query: "secret" })).json()).toBe(1);
    expect(await json(await call("ada", `/threads/${thread}/runs/${run}/join`))).toEqual({ who: "ada" });
    for (const path of [`/threads/${thread}`, `/threads/${thread}/state`, `/threads/${thread}/runs/${run}`]) {
      expect((await call("ada", path)).status).toBe(200);
    }
    const streamed = await call("ada", `/threads/${thread}/runs/stream`, { assistant_id: assistant, input });
    expect(await streamed.text()).toContain('"who":"ada"');
    expect((await call("ada", `/assistants/${assistant}`)).status).toBe(200);
    const patched = await call("ada", `/assistants/${assistant}`, { metadata: { k: 1 } }, "PATCH");
    expect(await json(patched)).toMatchObject({ metadata: { owner: "ada", k: 1 } });
    expect(await json(await call("ada", `/runs/crons/${cron}`))).toMatchObject({ user_id: "ada" });
    expect(await json(await call("ada", "/store/items?namespace=n&key=k"))).toMatchObject({ namespace: ["ada", "n"] });
    expect(await json(await call("ada", "/store/items/search", { namespace_prefix: [] }))).toMatchObject({
      items: [{ key: "k" }],
    });
    expect(await json(await call("ada", "/runs/wait", { assistant_id: "echo", input }))).toEqual({ who: "ada" });
  });

  it("owns what a run makes", async () => {
    const id = crypto.randomUUID();
    await call("ada", `/threads/${id}/runs/wait`, { assistant_id: "echo", input, if_not_exists: "create" });
    expect((await call("ada", `/threads/${id}`)).status).toBe(200);
    expect((await call("bob", `/threads/${id}`)).status).toBe(404);
    const kept = await createOne("ada", "/runs", { assistant_id: "echo", input, on_completion: "keep" });
    expect((await call("ada", `/threads/${kept.thread_id}`)).status).toBe(200);
    expect((await call("bob", `/runs/${kept.run_id}/join`)).status).toBe(404);
    await call("ada", `/threads/${id}`, undefined, "DELETE");
    await call("ada", `/threads/${kept.thread_id}`, undefined, "DELETE");
  });

  /** Every route that names a thing of ada's, as bob calls it. */
  const foreign: [method: string, path: () => string, body?: unknown][] = [
    ["GET", () => `/threads/${thread}`],
    ["PATCH", () => `/threads/${thread}`, { metadata: { owner: "bob" } }],
    ["DELETE", () => `/threads/${thread}`],
    ["GET", () => `/threads/${thread}/state`],
    ["POST", () => `/threads/${thread}/state`, { values: {} }],
    ["POST", () => `/threads/${thread}/history`, {}],
    ["GET", () => `/threads/${thread}/history`],
    ["GET", () => `/threads/${thread}/stream`],
    ["GET", () => `/threads/${thread}/storage`],
    ["POST", () => `/threads/${thread}/commands`, { id: 1, method: "run.start", params: { assistant_id: "echo" } }],
    ["POST", () => `/threads/${thread}/stream/events`, { channels: ["values"] }],
    ["POST", () => `/threads/${thread}/runs`, { assistant_id: "echo" }],
    ["POST", () => `/threads/${thread}/runs/stream`, { assistant_id: "echo" }],
    ["POST", () => `/threads/${thread}/runs/wait`, { assistant_id: "echo", if_not_exists: "create" }],
    ["POST", () => `/threads/${thread}/runs/crons`, { assistant_id: "echo", schedule: "* * * * *" }],
    ["GET", () => `/threads/${thread}/runs`],
    ["GET", () => `/threads/${thread}/runs/${run}`],
    ["GET", () => `/threads/${thread}/runs/${run}/join`],
    ["POST", () => `/threads/${thread}/runs/${run}/cancel`, {}],
    ["DELETE", () => `/threads/${thread}/runs/${run}`],
    ["POST", () => "/runs/cancel", { thread_id: "THREAD", run_ids: [] }],
    ["GET", () => `/assistants/${assistant}`],
    ["GET", () => `/assistants/${assistant}/schemas`],
    ["PATCH", () => `/assistants/${assistant}`, { metadata: { owner: "bob" } }],
    ["POST", () => `/assistants/${assistant}/versions`, {}],
    ["POST", () => `/assistants/${assistant}/latest`, { version: 1 }],
    ["DELETE", () => `/assistants/${assistant}`],
    ["POST", () => "/runs", { assistant_id: "ASSISTANT" }],
    ["GET", () => `/runs/crons/${cron}`],
    ["PATCH", () => `/runs/crons/${cron}`, { enabled: false }],
    ["DELETE", () => `/runs/crons/${cron}`],
  ];
  it("does not reach another's by its id in capitals", async () => {
    const capitals = thread.toUpperCase();
    const runs = async () => (await call("ada", `/threads/${thread}/runs`)).json<Made[]>();
    const before = await runs();
    const start = { id: 1, method: "run.start", params: { assistant_id: "echo" } };
    for (const [path, body] of [
      ["/threads", { thread_id: capitals, if_exists: "do_nothing" }],
      [`/threads/${capitals}/commands`, start],
      [`/threads/${capitals}/stream/events`, { channels: ["values"] }],
      [`/api/threads/${capitals}/state`, { values: {} }],
      [`/threads/${capitals}/runs/wait`, { assistant_id: "echo", if_not_exists: "create" }],
      [`/threads/${capitals}/state`, undefined],
      [`/threads/${capitals}`, undefined],
    ] as const) {
      expect([path, (await call("bob", path, body)).status]).toEqual([path, path === "/threads" ? 409 : 404]);
    }
    expect(await runs()).toEqual(before);
    expect((await call("ada", `/threads/${capitals}`)).status).toBe(200);
    expect((await call("ada", `/runs/crons/${cron.toUpperCase()}`)).status).toBe(200);
  });

  it.each(foreign)("does not reach another's: %s %s", async (method, path, body) => {
    const text = body && JSON.stringify(body).replace("THREAD", thread).replace("ASSISTANT", assistant);
    const response = await call("bob", path(), text, method);
    expect(response.status).toBe(404);
    expect((await call("ada", `/threads/${thread}`)).status).toBe(200);
  });

  it("gets an error event in the stream of a run on a thread that they may not see", async () => {
    for (const id of [thread, thread.toUpperCase(), crypto.randomUUID()]) {
      const answer = await call("bob", `/threads/${id}/runs/${run}/stream`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/event-stream");
      const message = `404: Thread with ID ${id.toLowerCase()} not found.`;
      expect(await answer.text()).toBe(`event: error\ndata: ${JSON.stringify({ error: "Error", message })}\n\n`);
    }
    expect(await (await call("ada", `/threads/${thread}/runs/${run}/stream`)).text()).toContain('"who":"ada"');
  });

  it("copies another's thread no more than one that does not exist", async () => {
    const before = await (await call("bob", "/threads/count", {})).json();
    for (const id of [thread, crypto.randomUUID()]) {
      const answer = await call("bob", `/threads/${id}/copy`, {});
      expect(answer.status).toBe(409);
      expect(await json(answer)).toMatchObject({ detail: "The thread to copy does not exist." });
    }
    expect(await (await call("bob", "/threads/count", {})).json()).toBe(before);
  });

  it.each([
    ["/threads/search", {}, []],
    ["/threads/count", {}, 0],
    ["/threads/search", { metadata: { owner: "ada" } }, []],
    ["/threads/count", { metadata: { owner: "ada" } }, 0],
    ["/threads/search", { query: "secret" }, []],
    ["/threads/count", { query: "secret" }, 0],
    ["/assistants/search", {}, []],
    ["/runs/crons/search", {}, []],
    ["/runs/crons/count", {}, 0],
    ["/store/items/search", { namespace_prefix: [] }, { items: [] }],
    ["/store/items/search", { namespace_prefix: ["ada"], query: "secret" }, { items: [] }],
    ["/store/namespaces", {}, { namespaces: [] }],
  ])("does not find another's: %s %j", async (path, body, expected) => {
    expect(await (await call("bob", path, body)).json()).toEqual(expected);
  });

  it("does not list another's conversations", async () => {
    expect(await (await call("ada", "/api/threads")).json()).toMatchObject([{ id: thread }]);
    expect(await (await call("bob", "/api/threads")).json()).toEqual([]);
    expect((await call("bob", `/api/threads/${thread}/state`)).status).toBe(404);
    expect((await call("bob", `/api/threads/${thread}/state`, { values: {} })).status).toBe(404);
  });

  it("does not take over another's id, nor prune it", async () => {
    expect((await call("bob", "/threads", { thread_id: thread, if_exists: "do_nothing" })).status).toBe(409);
    const taken = { graph_id: "echo", assistant_id: assistant, if_exists: "do_nothing" };
    expect((await call("bob", "/assistants", taken)).status).toBe(409);
    expect(await json(await call("bob", "/threads/prune", { thread_ids: [thread] }))).toEqual({ pruned_count: 0 });
    expect((await call("bob", "/runs/cancel", { status: "all" })).status).toBe(403);
  });

  it("acts in the workspace that the deployment names, in upper or lower case", async () => {
    const id = crypto.randomUUID();
    const fetchFrom = async (workspace: string, path: string, body: unknown) => {
      const headers = {
        authorization: "Bearer user-ada",
        "content-type": "application/json",
        "x-tenant-id": workspace,
      };
      const request = new Request(`https://weir.test${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return app.fetch(request, { ...env, AUTH_WORKSPACE_ID: workspace }, createExecutionContext());
    };
    expect((await fetchFrom(id.toUpperCase(), "/threads", {})).status).toBe(200);
    expect(await (await fetchFrom(id, "/threads/count", {})).json()).toBe(1);
  });

  it("gets an error for a path that cannot be read", async () => {
    for (const path of ["/threads/%E0%A4%A", "/threads/%zz/state", "/assistants/%"]) {
      expect([path, (await call("ada", path)).status]).toEqual([path, 400]);
    }
  });

  it("is refused when a handler refuses, or returns no user", async () => {
    expect((await call("reader", "/threads", {})).status).toBe(403);
    expect(await (await call("reader", "/threads/search", {})).json()).toEqual([]);
    const unknown = await send("/threads/search", { body: {}, headers: { authorization: "Bearer x" } });
    expect(unknown.status).toBe(401);
    expect(await unknown.json()).toMatchObject({ detail: "Who are you?" });
    expect((await send("/threads/search", { body: {} })).status).toBe(401);
  });

  it("does not reach the platform: keys, traces, exports", async () => {
    expect((await call("ada", "/api/v1/api-keys")).status).toBe(403);
    expect((await call("ada", "/api/v1/sessions")).status).toBe(403);
    expect((await call("ada", "/runs/query", { session: [] })).status).toBe(403);
    expect((await call("ada", "/runs", { id: crypto.randomUUID(), name: "x", run_type: "chain" })).status).toBe(422);
    expect((await call("ada", "/runs/batch", { post: [], patch: [] })).status).toBe(422);
  });

  it("shares no idempotency key with another", async () => {
    const create = (user: string) =>
      send("/threads", { body: {}, headers: { authorization: `Bearer user-${user}`, "idempotency-key": "same" } });
    const [one, two] = [await json(await create("carl")), await json(await create("dora"))];
    expect(one.thread_id).not.toBe(two.thread_id);
  });
});

describe("a credential", () => {
  const countThreads = (headers: Record<string, string>) => send("/threads/count", { body: {}, headers });

  it("of the user counts beside an X-API-Key that is not Weir's, which the handler may read itself", async () => {
    const ada = { authorization: "Bearer user-ada" };
    expect((await countThreads({ ...ada, "x-api-key": "left-over" })).status).toBe(200);
    expect((await countThreads({ "x-api-key": "user-ada" })).status).toBe(200);
    expect((await countThreads({ "x-api-key": "left-over" })).status).toBe(401);
    const own = await send("/threads/search", { body: {}, headers: { "x-api-key": "user-ada" } });
    const found = await own.json<{ metadata: object }[]>();
    expect(found.every(({ metadata }) => "owner" in metadata)).toBe(true);
  });

  it("that is an API key of Weir's comes first", async () => {
    const { key, workspaceId } = await newCaller();
    const made = await send("/threads", {
      body: { metadata: { mine: true } },
      headers: { authorization: "Bearer user-ada", "x-api-key": key, "x-tenant-id": workspaceId },
    });
    expect(await json(made)).toMatchObject({ metadata: { mine: true } });
    expect(await (await countThreads({ "x-api-key": key })).json()).toBe(1);
  });

  it("that the handler refuses is answered with the handler's headers", async () => {
    const refused = await countThreads({ authorization: "Bearer absent" });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
  });
});

describe("the user's own application", () => {
  it("answers before the built-in routes, to every valid credential", async () => {
    const hello = await call("ada", "/hello/there", undefined, "GET", own);
    expect(await hello.json()).toEqual({ hello: "there" });
    expect(await json(await call("ada", "/runs/special", {}, "POST", own))).toEqual({ special: true });
    expect((await send("/hello/there", {}, own)).status).toBe(401);
    const headers = { "x-api-key": (await newCaller()).key };
    expect((await send("/hello/there", { headers }, own)).status).toBe(200);
    expect((await send("/threads/count", { body: {}, headers }, own)).headers.get("x-pack")).toBe("yes");
  });

  it("keeps the headers and cookies that it sets before a Response of its own, a stream or a fault", async () => {
    const headers = { "x-api-key": (await newCaller()).key };
    const signedIn = await send("/signed-in", { headers }, own);
    expect(signedIn.headers.get("set-cookie")).toContain("sid=one");
    expect(signedIn.headers.get("x-tenant")).toBe("one");
    const fault = await send(`/threads/${crypto.randomUUID()}`, { headers }, own);
    expect([fault.status, fault.headers.get("x-tenant")]).toEqual([404, "one"]);
    const run = { assistant_id: "echo", input: { messages: [] } };
    const stream = await send("/runs/stream", { body: run, headers }, own);
    expect(stream.headers.get("x-tenant")).toBe("one");
    await stream.text();
  });

  it("may read the body in middleware, and replace it", async () => {
    const headers = { "x-api-key": (await newCaller()).key };
    const thread = (reads: string) =>
      send("/threads", { body: { metadata: { from: "the client" } }, headers: { ...headers, "x-reads": reads } }, own);
    expect(await json(await thread("json"))).toMatchObject({ metadata: { from: "the client" } });
    expect(await json(await thread("replaces"))).toMatchObject({ metadata: { added: "by middleware" } });
    const form = { "content-type": "application/x-www-form-urlencoded", "x-reads": "form" };
    const token = await send("/oauth/token", { body: "grant_type=password&client_id=c", headers: form }, own);
    // The form was read: without client_id it would be an invalid_request.
    expect(await json(token)).toMatchObject({ error: "invalid_client" });
    expect((await thread("raw")).status).toBe(500);
  });
});

it("the user reaches the graph in the run's configurable", () => {
  const user = { identity: "ada", permissions: ["write"], display_name: "Ada", is_authenticated: true };
  const principal = { workspaceId: "w", scopes: [], kind: "user", credentialId: "ada", user } as const;
  expect(readConfigurable(new Headers({ "x-api-key": "secret", "x-page": "3" }), principal)).toEqual({
    "x-page": "3",
    user_id: "ada",
    langgraph_auth_user: user,
    langgraph_auth_user_id: "ada",
    langgraph_auth_permissions: ["write"],
  });
});

it("the firings of a cron are listed for its user, and for no other", async () => {
  const { workspace_id } = (await env.DB.prepare("SELECT workspace_id FROM crons WHERE id = ?").bind(cron).first())!;
  await env.DB.prepare("INSERT INTO cron_firings VALUES (?, ?, 1000, 'ended', 1000, NULL)")
    .bind(workspace_id, cron)
    .run();
  const asked = { cron_ids: [cron.toUpperCase()] };
  const [firing] = (await (await call("ada", "/runs/crons/firings", asked)).json<Made[]>()) ?? [];
  expect(firing).toMatchObject({ cron_id: cron, state: "ended" });
  expect(await (await call("bob", "/runs/crons/firings", asked)).json()).toEqual([]);
  expect((await call("bob", "/runs/crons/firings", {})).status).toBe(422);
});

it("every agent route has its row, or is not for users", async () => {
  const ofAgents = /^\/(a2a|assistants|threads|api\/threads|store|runs\/crons)(\/|$)/;
  const all = app.routes.filter(({ method, path }) => method !== "ALL" && ofAgents.test(path) && !path.includes("*"));
  const routes = new Map(all.map(({ method, path }) => [`${method} ${path}`, { method, path }]));
  const refused: string[] = [];
  for (const [name, { method, path }] of routes) {
    const named = path.replace(/:run_id/, run).replaceAll(/:\w+/g, crypto.randomUUID());
    const response = await call("bob", named, method === "GET" ? undefined : {}, method);
    if (response.status === 403) refused.push(name);
    await response.body?.cancel();
  }
  expect(routes.size).toBeGreaterThan(40);
  expect(refused).toEqual([]);
});

it("a local server with an `Auth` of its own is emptied without a credential, and only that", async () => {
  const fetchBare = (path: string, vars: object, headers: Record<string, string> = {}) =>
    app.fetch(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: "{}",
      }),
      { ...env, ...vars },
      createExecutionContext(),
    );
  expect((await fetchBare("/internal/truncate", { AUTH: "open" })).status).toBe(200);
  expect((await fetchBare("/internal/truncate", { AUTH: "" })).status).toBe(401);
  expect((await fetchBare("/internal/truncate", { AUTH: "open" }, { origin: "https://evil.example" })).status).toBe(
    401,
  );
  expect((await fetchBare("/threads", { AUTH: "open" })).status).toBe(401);
});
