/** Signing in to the console: the session, what ends it, and what other sites can make of it. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { forgetCredentials } from "../../../src/access/auth/store.ts";
import { ORIGIN } from "../oauth/person.ts";
import { installProvider, ISSUER, provider, signBy, stranger, Visitor } from "../oauth/provider.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { POLL_MS } from "../../support/thorough.ts";

installProvider();

let caller: Caller;
let sub: string;
beforeEach(async () => {
  caller = await newCaller();
  sub = crypto.randomUUID();
  provider.claims = { sub, email: "Ann@Example.com", email_verified: true };
});

async function addMember(role: string, who: Caller = caller, subject = sub): Promise<string> {
  const made = await who.fetch("/api/v1/members", { body: { subject, role } });
  expect(made.status).toBe(201);
  return (await made.json<{ id: string }>()).id;
}

const COOKIE = "__Host-weir_session";
const me = async (visitor: Visitor) => (await visitor.go("/api/v1/me")).json<Record<string, unknown>>();

it("gives a member a session with the role's permissions, in a cookie that no script reads", async () => {
  const id = await addMember("viewer");
  const visitor = new Visitor();
  const entered = await visitor.enter(`?from=${encodeURIComponent("/console/threads?x=1")}`);
  expect([entered.status, entered.headers.get("location")]).toEqual([303, `${ORIGIN}/console/threads?x=1`]);
  const set = entered.headers.getSetCookie().find((one) => one.startsWith(COOKIE));
  expect(set).toMatch(
    /^__Host-weir_session=weir_session_[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  );
  expect(await me(visitor)).toMatchObject({
    kind: "member",
    role: "viewer",
    workspace: { id: caller.workspaceId },
    permissions: expect.not.arrayContaining(["threads.write"]),
    member: { id, subject: sub, issuer: ISSUER, email: "ann@example.com" },
  });
  expect((await visitor.go("/assistants/search", { body: {} })).status).toBe(200);
  const refused = await visitor.go("/threads", { body: {} });
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("permission threads.write")]);
  // Only the hash is stored.
  const { results } = await env.DB.prepare("select * from member_sessions where member_id = ?").bind(id).all();
  expect(JSON.stringify(results)).not.toContain(visitor.cookies.get(COOKIE));
});

it("is refused to a person who is no member, also one with a known address", async () => {
  await addMember("admin", caller, "another");
  const visitor = new Visitor({ OIDC_MEMBERS: JSON.stringify({ "@example.com": { workspace: caller.workspaceId } }) });
  const answer = await visitor.enter();
  expect([answer.status, answer.headers.get("location"), visitor.cookies.size]).toEqual([400, null, 0]);
  expect(await answer.text()).toContain(sub);
  expect((await visitor.go("/api/v1/me")).status).toBe(401);
});

it("has the address that the provider's UserInfo says, where its ID tokens have none", async () => {
  await addMember("viewer");
  provider.claims = { sub };
  provider.metadata = { userinfo_endpoint: `${ISSUER}/userinfo` };
  provider.info = { sub, email: "Ann@Example.com", email_verified: true };
  const visitor = new Visitor();
  await visitor.enter();
  expect(await me(visitor)).toMatchObject({ member: { email: "ann@example.com" } });
  // What it says of another person is not used.
  provider.info = { ...provider.info, sub: "another" };
  expect((await new Visitor().enter()).status).toBe(400);
});

it("is of the provider that is configured: a subject of another provider is another person", async () => {
  await addMember("admin");
  await env.DB.prepare("update members set issuer = 'https://other.example' where subject = ?").bind(sub).run();
  expect((await new Visitor().enter()).status).toBe(400);
});

it.each([
  ["with", `${ISSUER}/`, ISSUER],
  ["without", ISSUER, `${ISSUER}/`],
])(
  "knows a member whose provider writes its issuer %s a slash, as it is configured the other way",
  async (_, iss, set) => {
    provider.metadata = { issuer: iss };
    provider.claims.iss = iss;
    const settings = { OIDC_ISSUER: set };
    const admin = new Visitor(settings);
    const headers = { "x-api-key": caller.key };
    const made = await admin.go("/api/v1/members", { body: { subject: sub, role: "viewer" }, headers });
    expect([made.status, await made.json()]).toMatchObject([201, { issuer: ISSUER }]);
    expect((await new Visitor(settings).enter()).status).toBe(303);
  },
);

it.each<[string, () => void | Promise<void>]>([
  ["another issuer", () => void (provider.claims.iss = "https://evil.example")],
  ["another audience", () => void (provider.claims.aud = "another client")],
  ["another nonce", () => void (provider.claims.nonce = "replayed")],
  ["a time that is over", () => void (provider.claims.exp = 1)],
  ["a signature of another key", async () => void (provider.sign = signBy(await stranger()))],
  ["no subject", () => void (provider.claims.sub = undefined)],
])("is refused to an ID token with %s", async (_, forge) => {
  await addMember("admin");
  await forge();
  const visitor = new Visitor();
  expect((await visitor.enter()).status).toBe(400);
  expect(visitor.cookies.size).toBe(0);
});

it("takes an answer of the provider once, and only in the browser that asked", async () => {
  await addMember("admin");
  const victim = new Visitor();
  const away = await victim.go("/oauth/openid/sign-in");
  const state = new URL(away.headers.get("location") ?? "").searchParams.get("state") ?? "";
  // Another browser, with the code that is meant for this one, and with a journey of its own.
  const attacker = new Visitor();
  const path = `/oauth/openid/callback?code=c&state=${encodeURIComponent(state)}`;
  expect((await attacker.go(path)).status).toBe(400);
  await attacker.go("/oauth/openid/sign-in");
  expect((await attacker.go(path)).status).toBe(400);
  expect(provider.redeemed).toBeUndefined();
  expect((await victim.travel(away, (back) => back.set("state", "another"))).status).toBe(400);
  // That answer used the journey up.
  expect((await victim.travel(away)).status).toBe(400);
  expect(provider.redeemed).toBeUndefined();
});

it.each([
  "//evil.example",
  "/\\evil.example",
  "https://evil.example/x",
  "/.//evil.example",
  "javascript:alert(1)",
  "\t//evil.example",
])("leads to no other site: %j", async (from) => {
  await addMember("viewer");
  const answer = await new Visitor().enter(`?from=${encodeURIComponent(from)}`);
  expect(answer.status).toBe(303);
  expect(new URL(answer.headers.get("location") ?? "", "https://wrong.example").origin).toBe(ORIGIN);
});

it("starts a new session, and ends that of this browser", async () => {
  await addMember("viewer");
  const visitor = new Visitor();
  // A value that another put there.
  visitor.cookies.set(COOKIE, "weir_session_fixed");
  await visitor.enter();
  const first = visitor.cookies.get(COOKIE);
  expect(first).not.toBe("weir_session_fixed");
  await visitor.enter();
  const copy = new Visitor();
  copy.cookies.set(COOKIE, first ?? "");
  expect([(await copy.go("/api/v1/me")).status, (await visitor.go("/api/v1/me")).status]).toEqual([401, 200]);
});

it("is in the workspace of the last sign-in, or in one that the person's own page names", async () => {
  const other = await newCaller();
  await addMember("viewer");
  await addMember("admin", other);
  const visitor = new Visitor();
  await visitor.enter(`?workspace=${other.workspaceId}`);
  const there = { id: other.workspaceId };
  expect(await me(visitor)).toMatchObject({ role: "admin", workspace: there });
  expect(((await me(visitor)).member as { workspaces: object[] }).workspaces).toHaveLength(2);
  expect((await visitor.go("/api/v1/me", { headers: { "x-tenant-id": caller.workspaceId } })).status).toBe(403);
  // A link on another site.
  const away = await visitor.go(`/oauth/openid/sign-in?workspace=${caller.workspaceId}&from=/chat`, {
    headers: { "sec-fetch-site": "cross-site" },
  });
  expect((await visitor.travel(away)).headers.get("location")).toBe(`${ORIGIN}/`);
  expect(await me(visitor)).toMatchObject({ workspace: there });
  const stranger = await newCaller();
  await visitor.enter(`?workspace=${stranger.workspaceId}`);
  expect(await me(visitor)).toMatchObject({ workspace: there });
});

describe("a session", () => {
  let visitor: Visitor;
  let id: string;
  beforeEach(async () => {
    id = await addMember("admin");
    visitor = new Visitor();
    await visitor.enter();
  });
  const fetchFrom = async (headers: Record<string, string>, method = "GET", path = "/api/v1/me") => {
    const cookie = `${COOKIE}=${visitor.cookies.get(COOKIE)}`;
    const body = method === "GET" ? undefined : {};
    return (await send(path, { method, body, headers: { cookie, ...headers } })).status;
  };

  it("serves pages of this server only", async () => {
    const evil = { origin: "https://evil.example" };
    const own = { origin: ORIGIN };
    expect(await fetchFrom({ ...own, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await fetchFrom({ "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await fetchFrom({ "sec-fetch-site": "none" })).toBe(200);
    expect(await fetchFrom(evil)).toBe(403);
    expect(await fetchFrom({ origin: "null" })).toBe(403);
    expect(await fetchFrom({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await fetchFrom({ "sec-fetch-site": "same-site" })).toBe(403);
    for (const [method, path] of [
      ["POST", "/threads"],
      ["PUT", "/api/v1/roles/mine"],
      ["PATCH", `/api/v1/members/${id}`],
      ["DELETE", `/api/v1/members/${id}`],
    ] as const) {
      for (const headers of [
        {},
        evil,
        { origin: "null" },
        { "sec-fetch-site": "same-origin" },
        { origin: `${ORIGIN}.evil.example` },
      ])
        expect([method, headers, await fetchFrom(headers as Record<string, string>, method, path)]).toEqual([
          method,
          headers,
          403,
        ]);
    }
    expect(await fetchFrom(own, "POST", "/threads")).toBe(200);
    // A GET that does something, and a socket, which carries commands.
    const join = `/threads/${crypto.randomUUID()}/runs/${crypto.randomUUID()}/join?cancel_on_disconnect=1`;
    expect([await fetchFrom({ "sec-fetch-site": "none" }, "GET", join), await fetchFrom(own, "GET", join)]).toEqual([
      403, 404,
    ]);
    const socket = `/threads/${crypto.randomUUID()}/stream/events`;
    expect(await fetchFrom({ upgrade: "websocket", ...evil }, "GET", socket)).toBe(403);
  });

  it("is not read where the request has a key, and is no right where it has a wrong one", async () => {
    const viewer = await caller.fetch("/api/v1/api-keys", { body: { role: "viewer" } });
    const { key } = await viewer.json<{ key: string }>();
    const headers = { origin: ORIGIN };
    expect(await fetchFrom({ ...headers, "x-api-key": key }, "POST", "/threads")).toBe(403);
    expect(await fetchFrom({ ...headers, "x-api-key": "weir_wrong" })).toBe(401);
    expect(await fetchFrom({ ...headers, authorization: "Bearer weir_at_wrong" })).toBe(401);
    expect(await fetchFrom({ ...headers, "x-api-key": ADMIN_KEY }, "POST", "/api/v1/workspaces")).toBe(422);
    expect(await fetchFrom(headers, "POST", "/api/v1/workspaces")).toBe(401);
  });

  it("is listed, and ended by its person and by who manages members", async () => {
    const second = new Visitor();
    await second.enter();
    const own = await (await visitor.go("/api/v1/me/sessions")).json<{ id: string; current: boolean }[]>();
    expect(own.filter(({ current }) => current)).toHaveLength(1);
    expect(own).toHaveLength(2);
    const other = own.find(({ current }) => !current)?.id ?? "";
    expect((await visitor.go(`/api/v1/me/sessions/${other}`, { method: "DELETE" })).status).toBe(204);
    expect([(await second.go("/api/v1/me")).status, (await visitor.go("/api/v1/me")).status]).toEqual([401, 200]);
    expect((await visitor.go(`/api/v1/me/sessions/${other}`, { method: "DELETE" })).status).toBe(404);
    const listed = await (await caller.fetch(`/api/v1/members/${id}/sessions`)).json<{ id: string }[]>();
    expect(listed).toHaveLength(1);
    const stranger = await newCaller();
    const path = `/api/v1/members/${id}/sessions/${listed[0]?.id}`;
    expect((await stranger.fetch(path, { method: "DELETE" })).status).toBe(404);
    expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
    expect((await visitor.go("/api/v1/me")).status).toBe(401);
  });

  it("of another member is not the caller's to end", async () => {
    provider.claims = { sub: "another", email_verified: false };
    await addMember("viewer", caller, "another");
    const other = new Visitor();
    await other.enter();
    const [session] = await (await other.go("/api/v1/me/sessions")).json<{ id: string }[]>();
    expect((await visitor.go(`/api/v1/me/sessions/${session?.id}`, { method: "DELETE" })).status).toBe(404);
    expect((await other.go("/api/v1/me")).status).toBe(200);
  });

  it("ends when its person signs out, which no other site can do", async () => {
    const cookie = `${COOKIE}=${visitor.cookies.get(COOKIE)}`;
    await visitor.go("/oauth/openid/sign-out", { method: "POST", headers: { origin: "https://evil.example" } });
    expect(await fetchFrom({ "sec-fetch-site": "same-origin" })).toBe(200);
    const out = await visitor.go("/oauth/openid/sign-out", { method: "POST" });
    expect([out.status, visitor.cookies.has(COOKIE)]).toEqual([204, false]);
    expect((await send("/api/v1/me", { headers: { cookie } })).status).toBe(401);
    const log = await (await caller.fetch("/api/v1/audit-log?action=session.ended")).json<object[]>();
    expect(log).toMatchObject([{ actor: { kind: "member", id } }]);
  });

  it.each([
    ["a week after the sign-in", "expires_at", -1],
    ["a day without use", "last_used_at", -86_400_001],
  ])("ends %s", async (_, column, ago) => {
    await env.DB.prepare(`update member_sessions set ${column} = ? where member_id = ?`)
      .bind(Date.now() + ago, id)
      .run();
    forgetCredentials();
    expect((await visitor.go("/api/v1/me")).status).toBe(401);
    expect(await (await caller.fetch(`/api/v1/members/${id}/sessions`)).json()).toEqual([]);
  });

  it("is one of twenty: a further sign-in ends the one that was used least recently", async () => {
    await env.DB.prepare("update member_sessions set last_used_at = last_used_at - 1000 where member_id = ?")
      .bind(id)
      .run();
    for (let n = 0; n < 20; n += 1) await new Visitor().enter();
    expect((await visitor.go("/api/v1/me")).status).toBe(401);
    expect(await (await caller.fetch(`/api/v1/members/${id}/sessions`)).json()).toHaveLength(20);
  });

  it("writes its use down once an hour", async () => {
    const used = env.DB.prepare("select last_used_at from member_sessions where member_id = ?").bind(id);
    await env.DB.prepare("update member_sessions set last_used_at = ? where member_id = ?")
      .bind(Date.now() - 3_700_000, id)
      .run();
    forgetCredentials();
    await visitor.go("/api/v1/me");
    await vi.waitFor(
      async () => expect(await used.first<number>("last_used_at")).toBeGreaterThan(Date.now() - 60_000),
      POLL_MS,
    );
  });
});

it("on plain http of this machine the cookie is not Secure, and has no prefix", async () => {
  await addMember("viewer");
  const visitor = new Visitor({ PUBLIC_URL: "http://localhost:8787" });
  const away = await visitor.go("/oauth/openid/sign-in", { headers: { origin: "http://localhost:8787" } });
  const there = new URL(away.headers.get("location") ?? "");
  provider.nonce = there.searchParams.get("nonce");
  const state = there.searchParams.get("state") ?? "";
  const back = await visitor.go(`/oauth/openid/callback?code=c&state=${encodeURIComponent(state)}`);
  const set = back.headers.getSetCookie().find((one) => one.startsWith("weir_session="));
  expect(set).toMatch(/^weir_session=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
});
