/** Members: their roles, what these allow, and what ends with them. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetCredentials } from "../../../src/access/auth/store.ts";
import { CALLBACK, newClient, redeem, refresh, request, type Tokens, withToken } from "../oauth/person.ts";
import { installProvider, provider, Visitor } from "../oauth/provider.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { signIn } from "../../support/sessions.ts";

installProvider();

const PATH = "/api/v1/members";
let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
  provider.claims = { sub: crypto.randomUUID() };
});

async function add(role: string, subject: string = crypto.randomUUID()): Promise<string> {
  const made = await caller.fetch(PATH, { body: { subject, role } });
  expect(made.status).toBe(201);
  return (await made.json<{ id: string }>()).id;
}
const change = (id: string, role: string) => caller.fetch(`${PATH}/${id}`, { method: "PATCH", body: { role } });
const remove = (id: string) => caller.fetch(`${PATH}/${id}`, { method: "DELETE" });
const put = (name: string, permissions: string[]) =>
  caller.fetch(`/api/v1/roles/${name}`, { method: "PUT", body: { permissions } });

it("is one person, once in a workspace, with a role that exists", async () => {
  const subject = crypto.randomUUID();
  await add("viewer", subject);
  expect((await caller.fetch(PATH, { body: { subject, role: "admin" } })).status).toBe(409);
  for (const body of [
    { subject: "x", role: "none" },
    { role: "viewer" },
    { subject: "", role: "viewer" },
    { subject: "x", role: "viewer", email: "x" },
  ])
    expect((await caller.fetch(PATH, { body })).status).toBe(422);
  expect(await (await caller.fetch(PATH)).json()).toMatchObject([{ subject, role: "viewer", email: null }]);
});

it("does at once what a new role allows", async () => {
  const id = await add("viewer");
  const browser = await signIn(id);
  const status = async (path: string, method = "GET") =>
    (await browser.fetch(path, { method, body: method === "GET" ? undefined : {} })).status;
  expect([await status("/datasets"), await status("/threads", "POST")]).toEqual([200, 403]);
  await change(id, "developer");
  expect([await status("/datasets"), await status("/threads", "POST")]).toEqual([200, 200]);
  await put("own", ["traces.read"]);
  await change(id, "own");
  expect([await status("/datasets"), await status("/sessions"), await status("/api/v1/me")]).toEqual([403, 200, 200]);
  await put("own", ["datasets.read"]);
  expect([await status("/datasets"), await status("/sessions")]).toEqual([200, 403]);
});

it("keeps its role from being deleted, and so does an invitation", async () => {
  await put("own", ["traces.read"]);
  const id = await add("own");
  const deleteRole = () => caller.fetch("/api/v1/roles/own", { method: "DELETE" });
  expect((await deleteRole()).status).toBe(409);
  await remove(id);
  const invited = await caller.fetch("/api/v1/invitations", { body: { role: "own" } });
  const invitation = await invited.json<{ id: string }>();
  expect((await deleteRole()).status).toBe(409);
  await caller.fetch(`/api/v1/invitations/${invitation.id}`, { method: "DELETE" });
  expect((await deleteRole()).status).toBe(204);
  // An invitation that was accepted is listed for 30 days, and cannot be taken back.
  await put("own", ["traces.read"]);
  const again = await caller.fetch("/api/v1/invitations", { body: { role: "own" } });
  await new Visitor().accept((await again.json<{ url: string }>()).url);
  expect((await deleteRole()).status).toBe(409);
  const [joined] = await (await caller.fetch(PATH)).json<{ id: string }[]>();
  await remove(joined?.id ?? "");
  expect((await deleteRole()).status).toBe(204);
});

it("gives no role with more permissions than its own, also not to itself", async () => {
  await put("keeper", ["members.manage", "keys.manage", "traces.read"]);
  const id = await add("keeper");
  const keeper = await signIn(id);
  const status = async (method: string, path: string, body: object) =>
    (await keeper.fetch(path, { method, body })).status;
  expect(await status("PATCH", `${PATH}/${id}`, { role: "admin" })).toBe(403);
  expect(await status("POST", PATH, { subject: "x", role: "admin" })).toBe(403);
  expect(await status("POST", PATH, { subject: "x", role: "viewer" })).toBe(403);
  expect(await status("POST", PATH, { subject: "x", role: "keeper" })).toBe(201);
  expect(await status("POST", "/api/v1/api-keys", { role: null })).toBe(403);
  const made = await keeper.fetch("/api/v1/api-keys", { body: {} });
  expect([made.status, await made.json()]).toMatchObject([201, { role: "keeper" }]);
});

it("that is removed is signed out, and one whose role loses a permission reads no more, also where a stream is open", async () => {
  const openStream = async (id: string) => {
    const browser = await signIn(id);
    const stream = await browser.fetch("/api/v1/activity/stream", { headers: { accept: "text/event-stream" } });
    expect(stream.status).toBe(200);
    const ended = (async () => {
      for await (const _ of stream.body ?? []);
    })();
    return { browser, ended };
  };
  const [gone, lower] = [await add("developer"), await add("developer")];
  const [ofGone, ofLower] = [await openStream(gone), await openStream(lower)];
  expect((await remove(gone)).status).toBe(204);
  await change(lower, "viewer");
  expect((await ofGone.browser.fetch("/api/v1/me")).status).toBe(401);
  await Promise.all([ofGone.ended, ofLower.ended]);
  expect((await remove(gone)).status).toBe(404);
  expect((await ofLower.browser.fetch("/api/v1/activity/runs")).status).toBe(200);
}, 60_000);

describe("an application that a member allowed", () => {
  /** Signs in at the consent page as the member, and allows what is requested. */
  async function allow(scope: string): Promise<Tokens & { client: string }> {
    const client = await newClient();
    const asked = new URLSearchParams(request(client, { scope }) as Record<string, string>);
    const visitor = new Visitor();
    const answer = await visitor.travel(await visitor.go(`/oauth/openid/start?${asked.toString()}`));
    const page = await (await visitor.go(answer.headers.get("location") ?? "")).text();
    const form = new URLSearchParams(asked);
    form.set("proof", /name="proof" value="([^"]+)"/.exec(page)?.[1] ?? "");
    form.set("step", "allow");
    for (const [, one] of page.matchAll(/name="grant" value="(\w+)"/g)) form.append("grant", one ?? "");
    const back = (await visitor.go("/oauth/authorize", { body: form })).headers.get("location") ?? "";
    expect(back.startsWith(CALLBACK)).toBe(true);
    const redeemed = await redeem(client, new URL(back).searchParams.get("code") ?? "");
    return { ...(await redeemed.json<Tokens>()), client };
  }
  const status = async (path: string, token: string, method = "GET") =>
    (await withToken(path, token, caller.workspaceId, method)).status;

  it("may do what the scope and the member's role both allow, as the role is now", async () => {
    const id = await add("annotator", String(provider.claims.sub));
    const { access_token: token, scope } = await allow("read write admin");
    expect(scope).toBe("read write");
    expect([await status("/datasets", token), await status("/threads", token, "POST")]).toEqual([200, 403]);
    await change(id, "admin");
    expect(await status("/threads", token, "POST")).not.toBe(403);
    // The person allowed no admin.
    expect(await status("/api/v1/api-keys", token)).toBe(403);
    await change(id, "viewer");
    expect([await status("/datasets", token), await status("/datasets", token, "POST")]).toEqual([200, 403]);
    const introspected = await send("/oauth/introspect", {
      body: `token=${token}`,
      headers: { "content-type": "application/x-www-form-urlencoded", "x-api-key": caller.key },
    });
    expect(await introspected.json()).toMatchObject({ active: true, scope: "read", sub: `member:${id}` });
  });

  it("ends with the member, and so does its refresh token, its stream and the key that it made", async () => {
    const id = await add("admin", String(provider.claims.sub));
    const { access_token: token, refresh_token, client } = await allow("read write admin");
    const tenant = { authorization: `Bearer ${token}`, "x-tenant-id": caller.workspaceId };
    const made = await send("/api/v1/api-keys", { body: {}, headers: tenant });
    const { key, role } = await made.json<{ key: string; role: string }>();
    expect(role).toBe("admin");
    const stream = await send("/api/v1/activity/stream", { headers: { ...tenant, accept: "text/event-stream" } });
    expect((await remove(id)).status).toBe(204);
    for await (const _ of stream.body ?? []);
    expect(await status("/datasets", token)).toBe(401);
    expect((await refresh(client, refresh_token)).status).toBe(400);
    expect((await send("/datasets", { headers: { "x-api-key": key } })).status).toBe(401);
    const log = await (await caller.fetch("/api/v1/audit-log")).json<{ action: string }[]>();
    expect(log.map(({ action }) => action)).toEqual(expect.arrayContaining(["member.removed", "grant.revoked"]));
  }, 60_000);

  it("may do nothing when the member is gone, however that happened", async () => {
    const id = await add("admin", String(provider.claims.sub));
    const { access_token: token, refresh_token, client } = await allow("read admin");
    await env.DB.prepare("delete from members where id = ?").bind(id).run();
    forgetCredentials();
    expect(await status("/datasets", token)).toBe(401);
    expect((await refresh(client, refresh_token)).status).toBe(400);
  });

  it("gives no person access that would outlive its own", async () => {
    const id = await add("admin", String(provider.claims.sub));
    const { access_token } = await allow("admin");
    const headers = { authorization: `Bearer ${access_token}`, "x-tenant-id": caller.workspaceId };
    const call = async (path: string, body: object, method = "POST") =>
      (await send(path, { method, body, headers })).status;
    expect(await call(PATH, { subject: "x", role: "viewer" })).toBe(403);
    expect(await call("/api/v1/invitations", { role: "viewer" })).toBe(403);
    expect(await call(`${PATH}/${id}`, { role: "viewer" }, "PATCH")).toBe(403);
    expect((await send(PATH, { headers })).status).toBe(200);
    // The people and keys that have a role keep it.
    await caller.fetch("/api/v1/roles/low", { method: "PUT", body: { permissions: ["threads.read"] } });
    expect(await call("/api/v1/roles/low", { permissions: ["keys.manage"] }, "PUT")).toBe(403);
    expect(await call("/api/v1/roles/new", { permissions: ["keys.manage"] }, "PUT")).toBe(403);
  });
});

it("is a workspace's own", async () => {
  const id = await add("viewer");
  const other = await newCaller();
  expect(await (await other.fetch(PATH)).json()).toEqual([]);
  expect((await other.fetch(`${PATH}/${id}`, { method: "DELETE" })).status).toBe(404);
  const browser = await signIn(id);
  expect((await browser.fetch("/api/v1/me", { headers: { "x-tenant-id": other.workspaceId } })).status).toBe(403);
});
