/** What an application makes with a token does not outlive what the person allowed it. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { forgetCredentials } from "../../src/access/auth/store.ts";
import { housekeeping } from "../../src/system/housekeeping.ts";
import { Browser, newClient, newTokens, post, request } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";

let caller: Caller;
let tokens: Awaited<ReturnType<typeof newTokens>>;
let key: string;

async function mint(headers: Record<string, string>): Promise<string> {
  const more = { "x-tenant-id": caller.workspaceId, ...headers };
  const made = await send("/api/v1/api-keys", { body: { name: "minted" }, headers: more });
  expect(made.status).toBe(201);
  return (await made.json<{ key: string }>()).key;
}
const status = async (one: string) =>
  (await send("/threads/count", { body: {}, headers: { "x-api-key": one } })).status;

beforeEach(async () => {
  caller = await newCaller();
  tokens = await newTokens(caller, { scope: "read write admin" });
  key = await mint({ authorization: `Bearer ${tokens.access_token}` });
});

afterEach(() => {
  vi.useRealTimers();
});

const grantId = async () => {
  const [grant] = await (await caller.fetch("/api/v1/grants")).json<{ id: string }[]>();
  return String(grant?.id);
};

const admin = () => ({ "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId });
type Listed = { id: string; name: string; expires_at: string | null; end_reason: string | null };
const listKeys = async () => (await send("/api/v1/api-keys", { headers: admin() })).json<Listed[]>();
const DAY = 24 * 3_600_000;
/** A minute in which OAuth is cleared, some days from now. */
const minute = (days: number) => Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 17 * 60_000 + days * DAY;

/** Every way in which a grant ends. */
const ENDS: Record<string, () => Promise<unknown>> = {
  "is taken back": async () => caller.fetch(`/api/v1/grants/${await grantId()}`, { method: "DELETE" }),
  "is taken back with its client": () => caller.fetch(`/api/v1/oauth-clients/${tokens.client}`, { method: "DELETE" }),
  "is revoked by its client": () => post("/oauth/revoke", { token: tokens.access_token, client_id: tokens.client }),
  "ends with the key of the person": async () => {
    const all = await (await caller.fetch("/api/v1/api-keys")).json<{ id: string; name: string }[]>();
    const own = all.find(({ name }) => name === "test");
    await send(`/api/v1/api-keys/${own?.id}`, { method: "DELETE", headers: admin() });
  },
  "is removed": async () => {
    await env.DB.prepare("DELETE FROM oauth_grants WHERE id = ?")
      .bind(await grantId())
      .run();
    forgetCredentials();
  },
};

describe.each(Object.entries(ENDS))("when the grant %s", (_how, end) => {
  it("the keys end that its token made, and those that they made", async () => {
    const child = await mint({ "x-api-key": key });
    expect([await status(key), await status(child)]).toEqual([200, 200]);
    await end();
    expect([await status(key), await status(child)]).toEqual([401, 401]);
  });
});

const REASONS: [reason: string, ends: string, end: () => Promise<unknown>][] = [
  ...Object.entries(ENDS).flatMap<[string, string, () => Promise<unknown>]>(([how, end]) =>
    how === "is removed" ? [] : [["grant_revoked", how, end]],
  ),
  [
    "grant_expired",
    "expires",
    async () => {
      await env.DB.prepare("UPDATE oauth_grants SET expires_at = ? WHERE id = ?")
        .bind(Date.now() - 1, await grantId())
        .run();
      await housekeeping(env, minute(0));
    },
  ],
  [
    "grant_lapsed",
    "has no valid token",
    async () => {
      vi.setSystemTime(minute(40));
      await housekeeping(env, minute(0));
    },
  ],
];

it.each(REASONS)("a key says that it ended by %s when its grant %s", async (reason, _how, end) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const before = await listKeys();
  const minted = before.find(({ name }) => name === "minted");
  expect(minted).toMatchObject({ end_reason: null, expires_at: null });
  const grant_id = await grantId();
  await end();
  await housekeeping(env, minute(0));
  const after = await listKeys();
  expect(after.find(({ id }) => id === minted?.id)).toMatchObject({
    end_reason: reason,
    expires_at: expect.any(String),
  });
  expect(after.find(({ name }) => name === "test")?.end_reason ?? null).toBeNull();
  const entries = await send("/api/v1/audit-log?action=api_key.ended", { headers: admin() });
  expect(await entries.json()).toEqual([
    expect.objectContaining({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      actor: { kind: "system", id: "" },
      target_id: minted?.id,
      detail: { name: "minted", reason, grant_id, client_id: reason === "grant_lapsed" ? null : tokens.client },
    }),
  ]);
  // As keys that expire: listed for 90 days.
  await housekeeping(env, minute(89));
  expect((await listKeys()).map(({ id }) => id)).toContain(minted?.id);
  await housekeeping(env, minute(91));
  expect((await listKeys()).map(({ id }) => id)).not.toContain(minted?.id);
});

it("ends many keys in batches", async () => {
  const { id } = (await listKeys()).find(({ name }) => name === "minted") ?? {};
  await env.DB.prepare(
    `INSERT INTO api_keys (id, workspace_id, name, hash, hint, scopes, grant_id, created_at)
     SELECT k.id || n.value, workspace_id, name, hash || n.value, hint, scopes, grant_id, created_at
     FROM api_keys k, json_each(?) n WHERE k.id = ?`,
  )
    .bind(JSON.stringify([...Array(1_500).keys()]), id)
    .run();
  await ENDS["is taken back"]?.();
  await housekeeping(env, minute(0));
  const ended = (await listKeys()).filter(({ end_reason }) => end_reason === "grant_revoked");
  expect(ended).toHaveLength(1_501);
  const written = env.DB.prepare(
    "SELECT count(*) n FROM audit_log WHERE workspace_id = ? AND action = 'api_key.ended'",
  );
  expect(await written.bind(caller.workspaceId).first("n")).toBe(1_501);
});

it("a key that a token made cannot sign in", async () => {
  const response = await new Browser().submit({ ...request(await newClient()), step: "key", api_key: key });
  expect(response.status).not.toBe(303);
  expect(await response.text()).toContain("An application made this API key.");
});

it("a token narrows a key of a person, and does not widen it", async () => {
  const headers = { authorization: `Bearer ${tokens.access_token}`, "x-tenant-id": caller.workspaceId };
  const terms = { scopes: ["read"], expires_at: new Date(Date.now() + DAY).toISOString(), allowed_ips: ["10.0.0.0/8"] };
  const made = await caller.fetch("/api/v1/api-keys", { body: { name: "narrow", ...terms } });
  const { id } = await made.json<{ id: string }>();
  const change = async (body: object, how: Record<string, string> = headers) =>
    (await send(`/api/v1/api-keys/${id}`, { method: "PATCH", body, headers: how })).status;
  for (const more of [{ scopes: ["read", "admin"] }, { expires_at: null }, { allowed_ips: null }])
    expect([more, await change(more)]).toEqual([more, 403]);
  expect(await change({ name: "renamed", expires_at: new Date(Date.now() + 3_600_000).toISOString() })).toBe(200);
  expect(await change({ scopes: ["read", "admin"] }, { "x-api-key": caller.key })).toBe(200);
});

it("keys of persons do not end", async () => {
  const own = await mint({ "x-api-key": caller.key });
  await caller.fetch(`/api/v1/grants/${await grantId()}`, { method: "DELETE" });
  expect([await status(caller.key), await status(own), await status(key)]).toEqual([200, 200, 401]);
});
