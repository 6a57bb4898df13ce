/** The project's `app` opens no built-in route: neither its middleware nor a handler that passes a call on. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono, type MiddlewareHandler } from "hono";
import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { readSettings } from "../../../src/config.ts";
import "../../support/app.ts";
import { reserveForApp, noteOwnRequest } from "../../../src/http/loopback.ts";
import { projectExports } from "../../../src/deployment.ts";
import { newCaller } from "../../support/caller.ts";
import * as pack from "./pack.ts";

const mark: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("x-own", "yes");
};

const served = (app: Hono) => {
  Object.assign(projectExports, { auth: pack.auth, app });
  const server = createApp(readSettings({}));
  return (method: string, path: string, headers: Record<string, string> = { authorization: "Bearer user-ada" }) => {
    const body = method === "GET" ? undefined : "{}";
    const request = new Request(`https://weir.test${path}`, {
      method,
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    return server.fetch(request, env, createExecutionContext());
  };
};

const throwError = () => {
  throw new Error("It does not answer.");
};
const foreign = new Hono().get("/:rest{.+}", (c) => c.text("by another framework"));

/** Applications whose routes or middleware match calls of built-in routes, without answering them. */
const apps: [string, () => Hono][] = [
  ["middleware below a path", () => new Hono().use("/api/*", mark).use("/runs/*", mark)],
  ["middleware at the routes' own paths", () => new Hono().use("/api/v1/runs/query", mark).use("/runs/query", mark)],
  ["handlers that pass calls on", () => new Hono().all("/api/*", async (_c, next) => next()).all("/runs/*", mark)],
  ["a handler of one method that passes it on", () => new Hono().post("/api/v1/runs/query", mark)],
  [
    "routes of other methods",
    () => new Hono().put("/api/v1/runs/query", throwError).post("/api/v1/sessions", throwError),
  ],
  [
    "routes below a base path, with an error handler",
    () => new Hono().route("/api", new Hono().onError((_error, c) => c.text("own error", 500)).use("/v1/*", mark)),
  ],
];

/** Calls of built-in routes that are not for users. */
const refused = [
  ["POST", "/api/v1/runs/query"],
  ["POST", "/runs/query"],
  ["GET", "/api/v1/sessions"],
  ["GET", "/api/v1/datasets"],
  ["DELETE", `/api/v1/datasets/${crypto.randomUUID()}`],
  ["POST", "/api/v1/feedback"],
  ["GET", "/api/v1/me"],
  ["GET", "/api/v1/me/sessions"],
  ["POST", "/mcp/traces"],
] as const;

describe.each(apps)("with an app that has %s", (_name, app) => {
  it.each(refused)("a user does not reach %s %s", async (method, path) => {
    const answer = await served(app())(method, path);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ detail: "This call is not for users of this deployment." });
  });

  it("a user reaches what is for users, and a key what it may", async () => {
    const call = served(app());
    expect((await call("POST", "/threads/search")).status).toBe(200);
    const key = { "x-api-key": (await newCaller()).key };
    expect((await call("GET", "/api/v1/datasets", key)).status).toBe(200);
    expect((await call("POST", "/threads/search", key)).status).toBe(200);
    expect((await call("GET", "/api/nothing/here", key)).status).toBe(404);
  });
});

it("every handler of the app answers users: also with `next`, and of another framework", async () => {
  const app = new Hono()
    .use("/api/*", mark)
    .get("/api/own", (c) => c.text("own"))
    .all("/shop/*", async (c, next) => (c.req.path === "/shop/open" ? c.text("open") : next()))
    .mount("/other", foreign.fetch);
  const call = served(app);
  for (const [path, text] of [
    ["/api/own", "own"],
    ["/shop/open", "open"],
    ["/other/page", "by another framework"],
  ] as const) {
    const answer = await call("GET", path);
    expect([path, answer.status, await answer.text()]).toEqual([path, 200, text]);
  }
  expect((await call("GET", "/shop/closed")).status).toBe(403);
  const key = { "x-api-key": (await newCaller()).key };
  expect((await call("GET", "/shop/closed", key)).status).toBe(404);
});

it("a credential without a permission reaches no route of the app, also not beside those that all may call", async () => {
  const caller = await newCaller();
  const role = { permissions: ["traces.write"] };
  await caller.fetch("/api/v1/roles/ingest", { method: "PUT", body: role });
  const made = await caller.fetch("/api/v1/api-keys", { body: { name: "ingest", role: "ingest" } });
  const key = { "x-api-key": (await made.json<{ key: string }>()).key };
  const call = served(new Hono().all("/api/v1/me/:own{.+}", (c) => c.text("own")));
  for (const method of ["GET", "POST"]) {
    expect([method, (await call(method, "/api/v1/me/own", key)).status]).toEqual([method, 403]);
    expect((await call(method, "/api/v1/me/own", { "x-api-key": caller.key })).status).toBe(200);
  }
});

it("a browser that may not call a route of the app gets a 401, and not the 404 page of the server", async () => {
  const call = served(new Hono().all("/shop/*", (c) => c.text("shop")).mount("/other", foreign.fetch));
  const accept = { accept: "text/html" };
  for (const path of ["/shop/own", "/other/page"])
    expect([path, (await call("GET", path, accept)).status]).toEqual([path, 401]);
  expect((await call("GET", "/nowhere", accept)).status).toBe(404);
});

const newRun = () =>
  ({ workspaceId: crypto.randomUUID(), scopes: ["read", "write"], kind: "run", credentialId: "r" }) as const;

it("a run that acts for a user does not reach them, either", async () => {
  Object.assign(projectExports, { auth: pack.auth, app: new Hono().use("/api/*", mark) });
  const server = createApp(readSettings({}));
  const user = { identity: "ada", permissions: ["write"], display_name: "Ada", is_authenticated: true };
  const principal = newRun();
  const call = async (path: string) => {
    const request = new Request(`http://weir.internal${path}`, { method: "POST", body: "{}" });
    noteOwnRequest(request, { ...principal, user });
    return (await server.fetch(request, env, createExecutionContext())).status;
  };
  expect(await call("/api/v1/runs/query")).toBe(403);
});

it("a call that no rule allows is answered by the app only", async () => {
  Object.assign(projectExports, {
    auth: pack.auth,
    app: new Hono().use("/unlisted/*", mark).get("/unlisted/own", (c) => c.text("own")),
  });
  const server = createApp(readSettings({})).get("/unlisted/:id", (c) => c.text("built in"));
  const headers = { "x-api-key": (await newCaller()).key };
  const call = async (path: string) => {
    const answer = await server.fetch(
      new Request(`https://weir.test${path}`, { headers }),
      env,
      createExecutionContext(),
    );
    return [answer.status, (await answer.text()).includes("built in")];
  };
  expect(await call("/unlisted/own")).toEqual([200, false]);
  expect(await call("/unlisted/other")).toEqual([404, false]);
});

it("a call of a route of the app is answered by no other, also once the app is gone", async () => {
  const principal = newRun();
  for (const app of [undefined, new Hono().use("/threads/*", mark), new Hono().post("/hooks/other", throwError)]) {
    Object.assign(projectExports, { auth: pack.auth, app });
    const server = createApp(readSettings({}));
    const call = async (isForApp: boolean) => {
      const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
      const request = new Request("http://weir.internal/threads/count", init);
      noteOwnRequest(request, principal);
      if (isForApp) reserveForApp(request);
      return (await server.fetch(request, env, createExecutionContext())).status;
    };
    expect([await call(false), await call(true)]).toEqual([200, 404]);
  }
});
