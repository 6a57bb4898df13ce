/** The deletion of a key is one step: a fault leaves the key as it was, and what a gone key allowed opens nothing. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forgetCredentials } from "../../src/access/auth/store.ts";
import { Browser, readError, newClient, newTokens, refresh, request, withToken } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";

interface Made {
  id: string;
  key: string;
}

const KEYS = "/api/v1/api-keys";
let caller: Caller;
let triggers: string[] = [];

beforeEach(async () => {
  caller = await newCaller();
});

/** Makes D1 carry out a statement, or fail, when another one touches a table. */
async function addTrigger(event: string, statement = "SELECT RAISE(ABORT, 'a fault of the test')"): Promise<void> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  triggers.push(name);
  await env.DB.prepare(`CREATE TRIGGER ${name} ${event} BEGIN ${statement}; END`).run();
}

async function endFaults(): Promise<void> {
  for (const name of triggers) await env.DB.prepare(`DROP TRIGGER ${name}`).run();
  triggers = [];
}
afterEach(endFaults);

const newKey = async (terms: object = {}) => (await caller.fetch(KEYS, { body: terms })).json<Made>();
const remove = async (path: string) => (await caller.fetch(path, { method: "DELETE" })).status;
const works = async (token: string) => (await withToken("/threads/count", token, undefined, "POST")).status;
const grants = async () => (await caller.fetch("/api/v1/grants")).json<{ id: string; granted_by: string }[]>();
const listRecorded = async (action: string) => {
  const entries = await (await caller.fetch(`/api/v1/audit-log?action=${action}`)).json<{ target_id: string }[]>();
  return entries.map(({ target_id }) => target_id);
};

describe("a fault while a key is deleted", () => {
  const FAULTS: Record<string, (key: string) => string> = {
    "in the audit trail": (key) => `BEFORE INSERT ON audit_log WHEN NEW.target_id = '${key}'`,
    "in the end of its grants": (key) => `BEFORE UPDATE ON oauth_grants WHEN NEW.credential_id = '${key}'`,
    "in its own deletion": (key) => `BEFORE DELETE ON api_keys WHEN OLD.id = '${key}'`,
  };

  it.each(Object.entries(FAULTS))("%s leaves the key and what it allowed, for another try", async (_, fault) => {
    const { id, key } = await newKey({ role: "viewer" });
    const { access_token } = await newTokens({ ...caller, key });
    await addTrigger(fault(id));
    expect(await remove(`${KEYS}/${id}`)).toBe(500);
    const read = await send("/threads/count", { body: {}, headers: { "x-api-key": key } });
    expect([read.status, await works(access_token)]).toEqual([200, 200]);
    expect(await grants()).toHaveLength(1);
    expect((await withToken("/threads", access_token, undefined, "POST")).status).toBe(403);
    await endFaults();
    expect(await remove(`${KEYS}/${id}`)).toBe(204);
    expect([await works(access_token), await grants()]).toEqual([401, []]);
    expect(await remove(`${KEYS}/${id}`)).toBe(404);
  });

  it("and the keys before it leaves all of them", async () => {
    const first = await newKey();
    const { access_token } = await newTokens({ ...caller, key: first.key });
    const second = await (await caller.fetch(`${KEYS}/${first.id}/roll`, { body: {} })).json<Made>();
    const late = await newTokens({ ...caller, key: first.key });
    await addTrigger(`BEFORE DELETE ON api_keys WHEN OLD.id = '${second.id}'`);
    expect(await remove(`${KEYS}/${second.id}?predecessors=true`)).toBe(500);
    expect([await works(access_token), await works(late.access_token)]).toEqual([200, 200]);
    await endFaults();
    const both = (await grants()).map(({ id }) => id);
    expect(await remove(`${KEYS}/${second.id}?predecessors=true`)).toBe(204);
    expect([await works(access_token), await works(late.access_token)]).toEqual([401, 401]);
    expect(new Set(await listRecorded("grant.revoked"))).toEqual(new Set(both));
    expect(new Set(await listRecorded("api_key.deleted"))).toEqual(new Set([first.id, second.id]));
  });
});

describe("where a key is gone and its grant is not", () => {
  it("tokens, their keys and refresh tokens open nothing, and the deletion can be finished", async () => {
    const { id, key } = await newKey({ role: "admin" });
    const tokens = await newTokens({ ...caller, key }, { scope: "read write admin" });
    const headers = { authorization: `Bearer ${tokens.access_token}`, "x-tenant-id": caller.workspaceId };
    const minted = await (await send(KEYS, { body: {}, headers })).json<Made>();
    await env.DB.prepare("DELETE FROM api_keys WHERE id = ?").bind(id).run();
    forgetCredentials();
    expect(await works(tokens.access_token)).toBe(401);
    const read = await send("/threads/count", { body: {}, headers: { "x-api-key": minted.key } });
    expect(read.status).toBe(401);
    expect(await readError(await refresh(tokens.client, tokens.refresh_token))).toEqual([400, "invalid_grant"]);
    const form = { "content-type": "application/x-www-form-urlencoded", "x-api-key": caller.key };
    const told = await send("/oauth/introspect", { body: `token=${tokens.access_token}`, headers: form });
    expect(await told.json()).toEqual({ active: false });
    const [grant] = await grants();
    expect(await remove(`${KEYS}/${id}`)).toBe(204);
    expect([await grants(), await listRecorded("grant.revoked")]).toEqual([[], [grant?.id]]);
    expect(await remove(`${KEYS}/${id}`)).toBe(404);
  });

  it("a key of another workspace is not found", async () => {
    const { id, key } = await newKey();
    const { access_token } = await newTokens({ ...caller, key });
    const other = await newCaller();
    expect((await other.fetch(`${KEYS}/${id}`, { method: "DELETE" })).status).toBe(404);
    expect(await works(access_token)).toBe(200);
  });
});

it.each([
  ["deleted", (id: string) => `DELETE FROM api_keys WHERE id = '${id}'`],
  [
    "rolled",
    (id: string) => `UPDATE api_keys SET expires_at = 4102444800000, successor_id = 'next' WHERE id = '${id}'`,
  ],
])("a key that is %s while a person allows an application allows nothing", async (_, statement) => {
  const { id, key } = await newKey();
  const browser = new Browser();
  const form = await browser.consentForm(request(await newClient()), key);
  // The sign-in ends after the key was read and before the grant is written.
  await addTrigger(`AFTER DELETE ON oauth_sign_ins WHEN OLD.credential_id = '${id}'`, statement(id));
  const answer = await browser.submit(form);
  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining("has changed")]);
  expect(await grants()).toEqual([]);
  expect(await listRecorded("grant.created")).toEqual([]);
});

/** What else is deleted in the parts of credentials: where it is, and whether it is there. */
const THINGS: Record<string, () => Promise<{ path: string; target: string; exists: () => Promise<boolean> }>> = {
  "a role": async () => {
    const path = "/api/v1/roles/passing";
    await caller.fetch(path, { method: "PUT", body: { permissions: ["traces.read"] } });
    const isListed = async () => (await (await caller.fetch("/api/v1/roles")).text()).includes("passing");
    return { path, target: "passing", exists: isListed };
  },
  "a webhook secret": async () => {
    const { id } = await (await caller.fetch("/api/v1/webhook-secrets", { body: {} })).json<{ id: string }>();
    const isListed = async () => (await (await caller.fetch("/api/v1/webhook-secrets")).text()).includes(id);
    return { path: `/api/v1/webhook-secrets/${id}`, target: id, exists: isListed };
  },
  "a grant": async () => {
    await newTokens(caller);
    const [{ id } = { id: "" }] = await grants();
    return { path: `/api/v1/grants/${id}`, target: id, exists: async () => (await grants()).length > 0 };
  },
  "an application": async () => {
    const { client } = await newTokens(caller);
    const [{ id } = { id: "" }] = await grants();
    return { path: `/api/v1/oauth-clients/${client}`, target: id, exists: async () => (await grants()).length > 0 };
  },
};

it.each(Object.entries(THINGS))("%s is not deleted unrecorded", async (_, make) => {
  const { path, target, exists } = await make();
  await addTrigger(
    `BEFORE INSERT ON audit_log WHEN NEW.target_id = '${target}' AND NEW.workspace_id = '${caller.workspaceId}'`,
  );
  expect(await remove(path)).toBe(500);
  expect(await exists()).toBe(true);
  await endFaults();
  expect(await remove(path)).toBe(204);
  expect(await exists()).toBe(false);
  expect(await remove(path)).toBe(404);
});

it("the deployment's admin key deletes keys as well", async () => {
  const { id, key } = await newKey();
  const { access_token } = await newTokens({ ...caller, key });
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  expect((await send(`${KEYS}/${id}`, { method: "DELETE", headers })).status).toBe(204);
  expect(await works(access_token)).toBe(401);
});
