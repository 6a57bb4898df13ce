/** A key with a role does what the role's permissions say, within its scopes; and it gives no other key more than it has. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROLES } from "../../src/access/auth/roles.ts";
import { permissionsOfAccess, accessOf, scopeOfAccess } from "../../src/http/route.ts";
import { PERMISSIONS } from "../../src/http/principal.ts";
import { newTokens, withToken } from "../access/oauth/person.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import { signIn } from "../support/sessions.ts";
import { firstText } from "./first-text.ts";
import { buildCall } from "./route-calls.ts";
import { ROUTES } from "./routes.ts";
import type { Things } from "./things.ts";
import { pickCases } from "../support/thorough.ts";

const KEYS = "/api/v1/api-keys";
const ROLES_PATH = "/api/v1/roles";
const call = (key: string, path: string, method = "GET", body?: unknown) =>
  send(path, { method, body, headers: { "x-api-key": key } });

async function createKey(caller: Caller, terms: object): Promise<{ id: string; key: string; scopes: string[] }> {
  const made = await caller.fetch(KEYS, { body: terms });
  expect(made.status).toBe(201);
  return made.json();
}

/** What a page of the server sends for a member of this role. */
async function createMember(caller: Caller, role: string): Promise<Record<string, string>> {
  const made = await caller.fetch("/api/v1/members", { body: { subject: crypto.randomUUID(), role } });
  const { id } = await made.json<{ id: string }>();
  return { cookie: (await signIn(id)).cookie, origin: "https://weir.test" };
}

const SCOPED = Object.entries(ROUTES).filter(([, access]) => access !== "public" && access !== "deployment");

describe("on every route", { timeout: 60_000 }, () => {
  let caller: Caller;
  beforeAll(async () => {
    caller = await newCaller();
    await caller.fetch(`${ROLES_PATH}/reviewer`, {
      method: "PUT",
      body: { permissions: ["traces.read", "traces.annotate"] },
    });
  });

  it("the permission belongs to the scope of the route", () => {
    for (const [route, access] of SCOPED) {
      const { method, path } = buildCall(route, { marker: "none" } as Things);
      const rule = accessOf(method, path.split("?")[0] ?? "");
      expect([route, rule && scopeOfAccess(rule.access)]).toEqual([route, access]);
    }
  });

  const cases = [...Object.keys(ROLES), "reviewer"].flatMap((role) => [
    { who: "a key", role },
    { who: "a member", role },
  ]);
  it.each(pickCases(cases, 2))(
    "$who with the role $role",
    async ({ who, role }) => {
      const credential =
        who === "a key" ? { "x-api-key": (await createKey(caller, { role })).key } : await createMember(caller, role);
      const permissions = ROLES[role] ?? ["traces.read", "traces.annotate"];
      const wrong: string[] = [];
      for (const [route] of SCOPED.filter(([one]) => !one.startsWith("POST /oauth"))) {
        const { method, path, body, headers } = buildCall(route, {
          marker: "none",
          thread_id: crypto.randomUUID(),
        } as Things);
        const access = accessOf(method, path.split("?")[0] ?? "")?.access;
        const allowed =
          access !== undefined &&
          access !== "deployment" &&
          permissionsOfAccess(access).some((one) => permissions.includes(one));
        const answer = await send(path, { method, body, headers: { ...credential, ...headers } });
        await firstText(answer);
        if ((answer.status !== 403) !== allowed) wrong.push(`${route}: ${answer.status}`);
      }
      expect(wrong).toEqual([]);
    },
    60_000,
  );
});

describe("a role", () => {
  let caller: Caller;
  beforeEach(async () => {
    caller = await newCaller();
  });
  const put = (name: string, permissions: string[], key = caller.key) =>
    call(key, `${ROLES_PATH}/${name}`, "PUT", { permissions });

  it("gives a key the scopes of its permissions, and says what is missing", async () => {
    const { key, scopes } = await createKey(caller, { role: "viewer" });
    expect(scopes).toEqual(["read"]);
    const refused = await call(key, "/threads", "POST", {});
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('lacks the scope \\"write')]);
    const annotator = await createKey(caller, { role: "annotator" });
    const other = await call(annotator.key, "/threads", "POST", {});
    expect([other.status, await other.text()]).toEqual([403, expect.stringContaining("permission threads.write")]);
  });

  it("does not give more than the scopes have", async () => {
    const { key } = await createKey(caller, { role: "admin", scopes: ["read"] });
    expect((await call(key, KEYS)).status).toBe(403);
    expect((await call(key, "/datasets")).status).toBe(200);
  });

  it("that ingests does not start runs, and the other way around, though they share an address", async () => {
    await put("ingest", ["traces.write"]);
    await put("starter", ["runs.create"]);
    const [ingest, starter] = [
      await createKey(caller, { role: "ingest" }),
      await createKey(caller, { role: "starter" }),
    ];
    const id = crypto.randomUUID();
    const trace = { id, name: "x", run_type: "chain", start_time: "2026-01-02T12:00:00Z", inputs: {} };
    const run = { assistant_id: "echo", input: { messages: [] } };
    expect((await call(ingest.key, "/runs", "POST", trace)).status).toBe(202);
    expect((await call(ingest.key, "/runs", "POST", run)).status).toBe(403);
    expect((await call(ingest.key, "/runs/batch", "POST", [run])).status).toBe(403);
    expect((await call(starter.key, "/runs", "POST", { ...trace, id: crypto.randomUUID() })).status).toBe(403);
    expect((await call(starter.key, "/runs/batch", "POST", { post: [trace] })).status).toBe(403);
    expect((await call(starter.key, "/runs", "POST", run)).status).toBe(200);
  });

  it("that has crons and no runs cannot run through a cron", async () => {
    await put("scheduler", ["crons.read", "crons.write", "threads.write"]);
    await put("runner", ["crons.read", "crons.write", "threads.write", "runs.create"]);
    const scheduler = await createKey(caller, { role: "scheduler" });
    const runner = await createKey(caller, { role: "runner" });
    const cron = { assistant_id: "echo", schedule: "0 0 1 1 *", input: { messages: [] } };
    const { thread_id } = await (await call(scheduler.key, "/threads", "POST", {})).json<{ thread_id: string }>();
    const made = await call(runner.key, "/runs/crons", "POST", cron);
    const { cron_id } = await made.json<{ cron_id: string }>();
    const asked: [method: string, path: string, body: object][] = [
      ["POST", "/runs/crons", cron],
      ["POST", `/threads/${thread_id}/runs/crons`, cron],
      ["PATCH", `/runs/crons/${cron_id}`, { schedule: "* * * * *" }],
    ];
    for (const [method, path, body] of asked) {
      const refused = await call(scheduler.key, path, method, body);
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("permission runs.create")]);
      expect((await call(runner.key, path, method, body)).status).toBe(200);
    }
    expect((await call(scheduler.key, `/runs/crons/${cron_id}`, "DELETE")).status).toBe(204);
  });

  it("changes hold at once, and one that a key has is not deleted", async () => {
    await put("own", ["datasets.read"]);
    const { key, id } = await createKey(caller, { role: "own", scopes: ["read"] });
    expect([(await call(key, "/datasets")).status, (await call(key, "/sessions")).status]).toEqual([200, 403]);
    await put("own", ["traces.read"]);
    expect([(await call(key, "/datasets")).status, (await call(key, "/sessions")).status]).toEqual([403, 200]);
    expect((await caller.fetch(`${ROLES_PATH}/own`, { method: "DELETE" })).status).toBe(409);
    await caller.fetch(`${KEYS}/${id}`, { method: "PATCH", body: { role: "viewer" } });
    expect((await call(key, "/datasets")).status).toBe(200);
    expect((await caller.fetch(`${ROLES_PATH}/own`, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(`${ROLES_PATH}/own`, { method: "DELETE" })).status).toBe(404);
  });

  it("makes neither keys nor roles that may do more, and does not take a stronger key over", async () => {
    await put("keeper", ["keys.manage", "roles.manage", "traces.read"]);
    const keeper = await createKey(caller, { role: "keeper" });
    const strong = await createKey(caller, {});
    const callAsKeeper = (method: string, path: string, body?: object) =>
      call(keeper.key, path, method, body).then(({ status }) => status);
    expect(await callAsKeeper("POST", KEYS, { role: "admin" })).toBe(403);
    expect(await callAsKeeper("POST", KEYS, { role: null })).toBe(403);
    expect(await callAsKeeper("POST", KEYS, { role: "viewer" })).toBe(403);
    expect(await callAsKeeper("PATCH", `${KEYS}/${keeper.id}`, { role: "admin" })).toBe(403);
    expect(await callAsKeeper("PATCH", `${KEYS}/${keeper.id}`, { role: null })).toBe(403);
    expect(await callAsKeeper("POST", `${KEYS}/${strong.id}/roll`, {})).toBe(403);
    expect(await callAsKeeper("PUT", `${ROLES_PATH}/keeper`, { permissions: ["keys.manage", "audit.read"] })).toBe(403);
    const made = await call(keeper.key, KEYS, "POST", {});
    expect(await made.json()).toMatchObject({ role: "keeper", scopes: ["read", "admin"] });
  });

  it("is compared as the key will be, and not only what a request changes", async () => {
    await put("keeper", ["keys.manage"]);
    await put("auditor", ["keys.manage", "audit.read", "traces.read"]);
    const keeper = await createKey(caller, { role: "keeper", scopes: ["admin"] });
    const patch = async ({ id }: { id: string }, body: object) => call(keeper.key, `${KEYS}/${id}`, "PATCH", body);
    const plain = await createKey(caller, { role: null, scopes: ["read"] });
    const strong = await createKey(caller, { role: "auditor", scopes: ["read"] });
    for (const one of [plain, strong]) expect((await patch(one, { scopes: ["admin"] })).status).toBe(403);
    expect(await (await patch(strong, { scopes: ["admin"] })).text()).toContain("audit.read");
    for (const change of [{ expires_at: null }, { allowed_ips: null }, { role: "auditor" }])
      expect((await patch(strong, change)).status).toBe(403);
    expect((await call(plain.key, KEYS)).status).toBe(403);
    expect((await patch(strong, { name: "renamed" })).status).toBe(200);
    const own = await createKey(caller, { role: "keeper", scopes: ["admin"] });
    expect((await patch(own, { allowed_ips: ["192.0.2.0/24"], scopes: ["admin"] })).status).toBe(200);
  });

  it("is compared within the networks and the time of the maker, too", async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const short = await createKey(caller, { expires_at });
    const bound = await createKey(caller, { allowed_ips: ["192.0.2.0/24"] });
    const long = await createKey(caller, { scopes: ["read"] });
    const change = { scopes: ["read", "write"] };
    expect((await call(short.key, `${KEYS}/${long.id}`, "PATCH", change)).status).toBe(403);
    const headers = { "x-api-key": bound.key, "cf-connecting-ip": "192.0.2.1" };
    expect((await send(`${KEYS}/${long.id}`, { method: "PATCH", body: change, headers })).status).toBe(403);
    const ends = { ...change, expires_at };
    expect((await call(short.key, `${KEYS}/${long.id}`, "PATCH", ends)).status).toBe(200);
  });

  it("counts within the scopes only: a key makes and rolls one like itself", async () => {
    const one = await createKey(caller, { role: "admin", scopes: ["read", "admin"] });
    const rolled = await call(one.key, `${KEYS}/${one.id}/roll`, "POST", {});
    expect([rolled.status, await rolled.json()]).toEqual([
      201,
      expect.objectContaining({ role: "admin", scopes: ["read", "admin"] }),
    ]);
    const made = await call(one.key, KEYS, "POST", {});
    expect([made.status, await made.json()]).toEqual([
      201,
      expect.objectContaining({ role: "admin", scopes: ["read", "admin"] }),
    ]);
    expect((await call(one.key, KEYS, "POST", { scopes: ["write"] })).status).toBe(403);
  });

  it("of a key is that of what a person allows with it", async () => {
    const { key } = await createKey(caller, { role: "annotator" });
    const { access_token } = await newTokens({ ...caller, key });
    const status = async (path: string, method = "GET") =>
      (await withToken(path, access_token, caller.workspaceId, method)).status;
    expect([await status("/datasets"), await status("/threads", "POST"), await status("/mcp", "POST")]).toEqual([
      200, 403, 403,
    ]);
  });

  it("is a workspace's own", async () => {
    const other = await newCaller();
    await put("mine", ["traces.read"]);
    expect((await other.fetch(KEYS, { body: { role: "mine" } })).status).toBe(422);
    expect(JSON.stringify(await (await other.fetch(ROLES_PATH)).json())).not.toContain("mine");
    expect((await put("viewer", ["traces.read"])).status).toBe(409);
    expect((await put("Bad Name", ["traces.read"])).status).toBe(422);
    expect((await put("none", ["traces.fly"])).status).toBe(422);
  });
});

it("each permission is one of a role that is built in", () => {
  expect([...(ROLES.admin ?? [])].toSorted()).toEqual(Object.keys(PERMISSIONS).toSorted());
});
