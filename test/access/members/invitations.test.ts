/** Invitations by link: who may make one, who may accept one, and that it is accepted once. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ORIGIN } from "../oauth/person.ts";
import { installProvider, provider, Visitor } from "../oauth/provider.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";

installProvider();

const PATH = "/api/v1/invitations";
interface Invitation {
  id: string;
  url: string;
  accepted_at: string | null;
  member_id: string | null;
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
  setClaims(crypto.randomUUID());
});

function setClaims(sub: string, email = "ann@example.com", verified = true): void {
  provider.claims = { sub, email, email_verified: verified };
}

async function invite(body: object = { role: "viewer" }, key = caller.key): Promise<Invitation> {
  const made = await send(PATH, { body, headers: { "x-api-key": key, "x-tenant-id": caller.workspaceId } });
  expect(made.status).toBe(201);
  return made.json<Invitation>();
}
const members = async () => (await caller.fetch("/api/v1/members")).json<{ subject: string; role: string }[]>();
const listInvitations = async () => (await caller.fetch(PATH)).json<Invitation[]>();

it("makes the first admin with the deployment's admin key", async () => {
  const { url } = await invite({ role: "admin" }, ADMIN_KEY);
  expect(url).toMatch(new RegExp(`^${ORIGIN}/oauth/openid/invitation\\?token=weir_inv_[\\w-]{43}$`));
  const visitor = new Visitor();
  const entered = await visitor.accept(url);
  expect([entered.status, entered.headers.get("location")]).toEqual([303, `${ORIGIN}/`]);
  expect(await (await visitor.go("/api/v1/me")).json()).toMatchObject({ role: "admin", kind: "member" });
  const [first] = await members();
  expect(first).toMatchObject({ role: "admin", email: "ann@example.com", subject: provider.claims.sub });
  expect(await listInvitations()).toMatchObject([{ accepted_at: expect.any(String), member_id: expect.any(String) }]);
  const log = await (await caller.fetch("/api/v1/audit-log")).json<{ action: string; detail: object }[]>();
  expect(log.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["invitation.created", "invitation.accepted", "sign_in.succeeded"]),
  );
  expect(JSON.stringify(log)).not.toContain(new URL(url).searchParams.get("token"));
});

it("shows the link once, and stores only its hash", async () => {
  const { url, id } = await invite();
  const token = new URL(url).searchParams.get("token") ?? "";
  expect(JSON.stringify(await listInvitations())).not.toContain(token);
  const row = await env.DB.prepare("select * from invitations where id = ?").bind(id).first();
  expect(JSON.stringify(row)).not.toContain(token);
});

it("is accepted by no program that only opens the link", async () => {
  const { url } = await invite();
  const { pathname, search } = new URL(url);
  for (let n = 0; n < 3; n += 1) expect((await new Visitor().go(pathname + search)).status).toBe(200);
  expect(await members()).toEqual([]);
  expect((await new Visitor().accept(url)).status).toBe(303);
});

it("is accepted once", async () => {
  const { url } = await invite();
  expect((await new Visitor().accept(url)).status).toBe(303);
  setClaims(crypto.randomUUID());
  expect((await new Visitor().accept(url)).status).toBe(400);
  expect(await members()).toHaveLength(1);
});

it("is accepted once by people who accept it at the same time", async () => {
  const { url } = await invite();
  const { pathname, searchParams } = new URL(url);
  const body = new URLSearchParams({ token: searchParams.get("token") ?? "" });
  const ready: [Visitor, path: string][] = [];
  for (const sub of ["one", "two", "three", "four"]) {
    const visitor = new Visitor();
    const away = await visitor.go(pathname, { body });
    const there = new URL(away.headers.get("refresh")?.replace("0; url=", "") ?? "").searchParams;
    provider.people.set(sub, { sub, nonce: there.get("nonce") });
    ready.push([visitor, `/oauth/openid/callback?code=${sub}&state=${there.get("state")}`]);
  }
  const answers = await Promise.all(ready.map(async ([visitor, path]) => visitor.go(path)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400, 400, 400]);
  expect(await members()).toHaveLength(1);
});

it("is not accepted from a form of another site", async () => {
  const { url } = await invite();
  const { pathname, searchParams } = new URL(url);
  const body = new URLSearchParams({ token: searchParams.get("token") ?? "" });
  for (const origin of ["https://evil.example", "null"]) {
    const answer = await new Visitor().go(pathname, { body, headers: { origin } });
    expect([answer.status, answer.headers.get("refresh"), answer.headers.getSetCookie()]).toEqual([400, null, []]);
  }
});

it("for an address is for who the provider confirms has it", async () => {
  const { url } = await invite({ role: "viewer", email: "Bob@Example.com" });
  expect((await new Visitor().accept(url)).status).toBe(400);
  setClaims(crypto.randomUUID(), "bob@example.com", false);
  expect((await new Visitor().accept(url)).status).toBe(400);
  expect(await members()).toEqual([]);
  setClaims(crypto.randomUUID(), "BOB@example.com");
  expect((await new Visitor().accept(url)).status).toBe(303);
});

it("for an address is not for one with another letter that has the same lower case", async () => {
  const { url } = await invite({ role: "viewer", email: "kim@example.com" });
  // The first letter is the Kelvin sign.
  setClaims(crypto.randomUUID(), "\u212Aim@example.com");
  expect((await new Visitor().accept(url)).status).toBe(400);
  setClaims(crypto.randomUUID(), "Kim@example.com");
  expect((await new Visitor().accept(url)).status).toBe(303);
});

it("changes nothing for a person who is a member, and stays for another", async () => {
  const sub = crypto.randomUUID();
  setClaims(sub);
  await caller.fetch("/api/v1/members", { body: { subject: sub, role: "viewer" } });
  const { url } = await invite({ role: "admin" });
  expect((await new Visitor().accept(url)).status).toBe(400);
  expect(await members()).toMatchObject([{ role: "viewer" }]);
  setClaims(crypto.randomUUID());
  expect((await new Visitor().accept(url)).status).toBe(303);
});

it.each<[string, (invitation: Invitation) => Promise<unknown>]>([
  ["taken back", async ({ id }) => caller.fetch(`${PATH}/${id}`, { method: "DELETE" })],
  ["over", async ({ id }) => env.DB.prepare("update invitations set expires_at = 1 where id = ?").bind(id).run()],
])("is not accepted when it is %s, also by who was at the provider", async (_, end) => {
  const made = await invite();
  const visitor = new Visitor();
  const { pathname, searchParams } = new URL(made.url);
  const away = await visitor.go(pathname, { body: new URLSearchParams({ token: searchParams.get("token") ?? "" }) });
  await end(made);
  expect((await visitor.travel(away)).status).toBe(400);
  expect((await new Visitor().accept(made.url)).status).toBe(400);
  expect(await members()).toEqual([]);
});

it("lasts a week, and 30 days at most", async () => {
  const week = Date.now() + 7 * 86_400_000;
  const { url: _url, ...made } = await invite();
  const { expires_at } = made as unknown as { expires_at: string };
  expect(Math.abs(Date.parse(expires_at) - week)).toBeLessThan(60_000);
  for (const body of [
    { role: "viewer", expires_in_seconds: 31 * 86_400 },
    { role: "none" },
    {},
    { role: "viewer", email: "no address" },
  ])
    expect((await caller.fetch(PATH, { body })).status).toBe(422);
});

describe("the maker", () => {
  const key = async (body: object) =>
    (await caller.fetch("/api/v1/api-keys", { body })).json<{ id: string; key: string }>();
  const role = (permissions: string[]) =>
    caller.fetch("/api/v1/roles/inviter", { method: "PUT", body: { permissions } });

  it("gives no more than it has", async () => {
    await role(["members.manage", "traces.read"]);
    const inviter = await key({ role: "inviter" });
    const status = async (body: object) => (await send(PATH, { body, headers: { "x-api-key": inviter.key } })).status;
    expect(await status({ role: "admin" })).toBe(403);
    expect(await status({ role: "viewer" })).toBe(403);
    expect(await status({ role: "inviter" })).toBe(201);
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ["has fewer rights", async () => role(["members.manage"])],
    ["may invite no more", async () => role(["traces.read"])],
    ["is deleted", async (id) => caller.fetch(`/api/v1/api-keys/${id}`, { method: "DELETE" })],
    ["has expired", async (id) => env.DB.prepare("update api_keys set expires_at = 1 where id = ?").bind(id).run()],
  ])("that %s gives nothing", async (_, change) => {
    await role(["members.manage", "traces.read"]);
    await caller.fetch("/api/v1/roles/reader", { method: "PUT", body: { permissions: ["traces.read"] } });
    const inviter = await key({ role: "inviter" });
    const { url } = await invite({ role: "reader" }, inviter.key);
    await change(inviter.id);
    expect((await new Visitor().accept(url)).status).toBe(400);
    expect(await members()).toEqual([]);
  });

  it("who was removed does not return by an invitation of their own", async () => {
    const sub = crypto.randomUUID();
    setClaims(sub);
    const added = await caller.fetch("/api/v1/members", { body: { subject: sub, role: "admin" } });
    const { id } = await added.json<{ id: string }>();
    const admin = new Visitor();
    await admin.enter();
    const made = await admin.go(PATH, { body: { role: "admin" } });
    expect(made.status).toBe(201);
    const { url } = await made.json<Invitation>();
    await caller.fetch(`/api/v1/members/${id}`, { method: "DELETE" });
    expect((await new Visitor().accept(url)).status).toBe(400);
    expect(await members()).toEqual([]);
  });
});

it.each([
  ["OIDC_ISSUER", PATH, { role: "viewer" }],
  ["OIDC_CLIENT_ID", PATH, { role: "viewer" }],
  ["OIDC_ISSUER", "/api/v1/members", { subject: "ann", role: "viewer" }],
  ["OIDC_CLIENT_ID", "/api/v1/members", { subject: "ann", role: "viewer" }],
])("without %s no person can sign in, and %s takes none", async (name, path, body) => {
  const made = await new Visitor({ [name]: undefined }).go(path, { body, headers: { "x-api-key": caller.key } });
  expect(made.status).toBe(409);
  expect(await made.json()).toMatchObject({ detail: expect.stringContaining("Set OIDC_ISSUER and OIDC_CLIENT_ID.") });
});
