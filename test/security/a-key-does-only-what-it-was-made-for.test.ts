/** An API key works until it expires, from its networks, with its scopes; and what it makes or allows does not exceed it. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isApiKeyShaped, newApiKey } from "../../src/access/auth/keys.ts";
import { forgetCredentials } from "../../src/access/auth/store.ts";
import { isNetwork, isWithin } from "../../src/http/context.ts";
import {
  Browser,
  readError,
  newClient,
  newTokens,
  ORIGIN,
  redeem,
  refresh,
  request,
  withToken,
} from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";

interface Key {
  id: string;
  key: string;
  name: string;
  hint: string;
  scopes: string[];
  expires_at: string | null;
  last_used_at: string | null;
  allowed_ips: string[] | null;
  successor_id: string | null;
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => vi.useRealTimers());

const KEYS = "/api/v1/api-keys";
const HOUR = 3_600_000;
const addTime = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

async function make(terms: object, by: string = caller.key, status = 201): Promise<Key> {
  const headers = { "x-api-key": by, "x-tenant-id": caller.workspaceId };
  const response = await send(KEYS, { body: terms, headers });
  expect(response.status).toBe(status);
  return response.json<Key>();
}
const call = (key: string, address?: string) =>
  send("/threads/count", {
    body: {},
    headers: { "x-api-key": key, ...(address === undefined ? {} : { "cf-connecting-ip": address }) },
  });
const works = async (key: string, address?: string) => (await call(key, address)).status === 200;
const change = (id: string, body: object) => caller.fetch(`${KEYS}/${id}`, { method: "PATCH", body });
const findKey = async (id: string) => (await (await caller.fetch(KEYS)).json<Key[]>()).find((key) => key.id === id);
/** Moves the clock, of this isolate. */
function pass(milliseconds: number) {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + milliseconds });
  forgetCredentials();
}

describe("a key's text", () => {
  it("has a prefix and a checksum by which scanners find it", async () => {
    const { key, hint } = await make({});
    expect(key).toMatch(/^weir_key_[0-9A-Za-z]{49}$/);
    expect(key.startsWith(hint)).toBe(true);
    expect(hint).toHaveLength(13);
    expect(isApiKeyShaped(key)).toBe(true);
    expect(isApiKeyShaped(`${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`)).toBe(false);
    expect(isApiKeyShaped("weir_key_short")).toBe(false);
    const all = Array.from({ length: 50 }, newApiKey);
    expect(new Set(all).size).toBe(50);
    expect(all.every(isApiKeyShaped)).toBe(true);
  });
});

describe("a key that expires", () => {
  it("works until then, and says why it does not after", async () => {
    const { key, id, expires_at } = await make({ expires_at: addTime(HOUR) });
    expect((await findKey(id))?.expires_at).toBe(expires_at);
    expect(await works(key)).toBe(true);
    pass(HOUR + 1_000);
    const response = await call(key);
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("expired");
  });

  it("makes no key that lasts longer, and by default one that ends with it", async () => {
    const expires_at = addTime(HOUR);
    const short = await make({ expires_at });
    await make({ expires_at: null }, short.key, 403);
    await make({ expires_at: addTime(2 * HOUR) }, short.key, 403);
    expect((await make({}, short.key)).expires_at).toBe(expires_at);
    const headers = { "x-api-key": short.key };
    const longer = await send(`${KEYS}/${short.id}`, { method: "PATCH", body: { expires_at: null }, headers });
    expect(longer.status).toBe(403);
  });

  it("ends what a person allowed with it, tokens and their keys included", async () => {
    const { key } = await make({ expires_at: addTime(HOUR / 2) });
    const tokens = await newTokens({ ...caller, key }, { scope: "read write admin" });
    const headers = { authorization: `Bearer ${tokens.access_token}`, "x-tenant-id": caller.workspaceId };
    const minted = await (await send(KEYS, { body: {}, headers })).json<Key>();
    expect(await works(minted.key)).toBe(true);
    pass(HOUR / 2 + 1_000);
    expect((await withToken("/assistants/search", tokens.access_token, undefined, "POST")).status).toBe(401);
    expect(await readError(await refresh(tokens.client, tokens.refresh_token))).toEqual([400, "invalid_grant"]);
    expect(await works(minted.key)).toBe(false);
    const signIn = await new Browser().submit({ ...request(tokens.client), step: "key", api_key: key });
    expect(signIn.status).toBe(401);
  });

  it("in the past is refused, and can be changed later", async () => {
    await make({ expires_at: addTime(-1_000) }, caller.key, 422);
    await make({ expires_at: "tomorrow" }, caller.key, 422);
    const { id, key } = await make({ expires_at: addTime(HOUR) });
    expect((await change(id, { expires_at: null })).status).toBe(200);
    pass(2 * HOUR);
    expect(await works(key)).toBe(true);
  });
});

it("a person whose key was narrowed after the sign-in allows what is left", async () => {
  const { id, key } = await make({ scopes: ["read", "write"] });
  const browser = new Browser();
  const form = await browser.consentForm(request(await newClient()), key);
  await change(id, { scopes: ["read"] });
  expect((await browser.submit(form)).status).toBe(303);
  const grants = await (await caller.fetch("/api/v1/grants")).json();
  expect(grants).toMatchObject([{ granted_by: id, scopes: ["read"] }]);
});

it("a person whose key was deleted after the sign-in allows nothing", async () => {
  const { id, key } = await make({ scopes: ["read"] });
  const browser = new Browser();
  const form = await browser.consentForm(request(await newClient()), key);
  await caller.fetch(`${KEYS}/${id}`, { method: "DELETE" });
  const response = await browser.submit(form);
  expect(response.status).toBe(401);
  expect(await response.text()).toContain("has ended");
});

describe("a key with networks", () => {
  it("works from them only", async () => {
    const { key, id, allowed_ips } = await make({ allowed_ips: ["192.0.2.0/24", "2001:db8:5::/48", "198.51.100.7"] });
    expect(allowed_ips).toHaveLength(3);
    const fetchFrom = (address?: string) => works(key, address);
    expect(
      await Promise.all(["192.0.2.9", "2001:db8:5:1::1", "198.51.100.7", "::ffff:192.0.2.9"].map(fetchFrom)),
    ).toEqual([true, true, true, true]);
    expect(await Promise.all(["192.0.3.9", "2001:db8:6::1", "198.51.100.8", "x", undefined].map(fetchFrom))).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    expect((await call(key, "192.0.3.9")).status).toBe(403);
    expect((await change(id, { allowed_ips: null })).status).toBe(200);
    expect(await fetchFrom("192.0.3.9")).toBe(true);
  });

  it("makes keys for these networks only, and allows no sign-in from elsewhere", async () => {
    const { key } = await make({ allowed_ips: ["192.0.2.0/24"] });
    const headers = { "x-api-key": key, "cf-connecting-ip": "192.0.2.1" };
    const child = await send(KEYS, { body: {}, headers });
    expect((await child.json<Key>()).allowed_ips).toEqual(["192.0.2.0/24"]);
    expect((await send(KEYS, { body: { allowed_ips: null }, headers })).status).toBe(403);
    expect((await send(KEYS, { body: { allowed_ips: ["10.0.0.0/8"] }, headers })).status).toBe(403);
    const page = await new Browser().submit({ ...request(await newClient()), step: "key", api_key: key });
    expect(await page.text()).toContain("does not work from this address");
  });

  it("keeps a WebSocket from them open", async () => {
    const { key } = await make({ allowed_ips: ["192.0.2.0/24"] });
    const headers = { "x-api-key": key, "cf-connecting-ip": "192.0.2.1", upgrade: "websocket" };
    const { webSocket } = await send(`/threads/${crypto.randomUUID()}/stream`, { headers });
    const answered = new Promise<string>((resolve) => {
      webSocket?.addEventListener("message", ({ data }) => resolve(String(data)));
      webSocket?.addEventListener("close", ({ code }) => resolve(`closed with ${code}`));
    });
    webSocket?.accept();
    webSocket?.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params: { channels: ["values"] } }));
    expect(await answered).toContain('"type":"success"');
    webSocket?.close();
  });

  it.each([[["1"]], [["192.0.2.0/33"]], [["example.com"]], [[]], ["192.0.2.1"], [["10.1/8"]]])(
    "%j are refused",
    async (allowed_ips) => {
      expect((await caller.fetch(KEYS, { body: { allowed_ips } })).status).toBe(422);
    },
  );

  it("compares families", () => {
    expect(isNetwork("::/0")).toBe(true);
    expect(isWithin("192.0.2.1", ["::/0"])).toBe(false);
    expect(isWithin("192.0.2.1", ["0.0.0.0/0"])).toBe(true);
  });
});

describe("a key's scopes", () => {
  it("can be changed within those of the caller, at once, and the change is audited", async () => {
    const { id, key } = await make({ scopes: ["read"], name: "robot" });
    const admin = await make({ scopes: ["admin", "read"] });
    const headers = { "x-api-key": admin.key };
    const more = await send(`${KEYS}/${id}`, { method: "PATCH", body: { scopes: ["exports"] }, headers });
    expect(more.status).toBe(403);
    expect((await change(id, { scopes: ["write"], name: "writer" })).status).toBe(200);
    expect(await works(key)).toBe(false);
    expect(await findKey(id)).toMatchObject({ scopes: ["write"], name: "writer" });
    const [entry] = await (await caller.fetch("/api/v1/audit-log?action=api_key.updated")).json<object[]>();
    expect(entry).toMatchObject({ target_id: id, detail: { scopes: ["write"] } });
  });

  it("and everything else of a key are its own workspace's to change", async () => {
    const other = await newCaller();
    const { id } = await make({});
    const patched = await other.fetch(`${KEYS}/${id}`, { method: "PATCH", body: { name: "mine" } });
    expect([patched.status, (await other.fetch(`${KEYS}/${id}/roll`, { body: {} })).status]).toEqual([404, 404]);
  });
});

describe("what a person allows with a key that is bound to networks", () => {
  const search = (token: string, address: string) =>
    send("/assistants/search", {
      body: {},
      headers: { authorization: `Bearer ${token}`, "cf-connecting-ip": address },
    });

  it("works from there only, as the consent page says, also after the key changes", async () => {
    const bound = await make({ scopes: ["read", "admin"], allowed_ips: ["192.0.2.0/24"] });
    const client = await newClient();
    const browser = new Browser();
    const fields = request(client, { scope: "read admin" });
    const headers = { origin: ORIGIN, "cf-connecting-ip": "192.0.2.7" };
    expect((await browser.submit({ ...fields, step: "key", api_key: bound.key }, headers)).status).toBe(303);
    const page = await (await browser.open(fields)).text();
    expect(page.replaceAll(/\s+/g, " ")).toContain("<dt>Only from</dt> <dd>192.0.2.0/24</dd>");
    const proof = /name="proof" value="([^"]+)"/.exec(page)?.[1];
    const allowed = await browser.submit({ ...fields, proof, grant: ["read", "admin"], step: "allow" });
    const code = new URL(allowed.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const { access_token } = await (await redeem(client, code)).json<{ access_token: string }>();
    expect((await search(access_token, "192.0.2.7")).status).toBe(200);
    const refused = await search(access_token, "198.51.100.1");
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("does not work from this")]);

    // A key that the token makes is bound, too.
    const by = {
      authorization: `Bearer ${access_token}`,
      "cf-connecting-ip": "192.0.2.7",
      "x-tenant-id": caller.workspaceId,
    };
    const made = await send(KEYS, { body: { name: "of the token" }, headers: by });
    expect(await made.json()).toMatchObject({ allowed_ips: ["192.0.2.0/24"] });
    expect((await send(KEYS, { body: { allowed_ips: null }, headers: by })).status).toBe(403);

    await caller.fetch(`${KEYS}/${bound.id}`, { method: "PATCH", body: { allowed_ips: ["198.51.100.0/24"] } });
    expect((await search(access_token, "192.0.2.7")).status).toBe(403);
    expect((await search(access_token, "198.51.100.1")).status).toBe(200);
    const next = await (await caller.fetch(`${KEYS}/${bound.id}/roll`, { body: { overlap_seconds: 0 } })).json<Key>();
    expect((await search(access_token, "192.0.2.7")).status).toBe(403);
    await caller.fetch(`${KEYS}/${next.id}`, { method: "PATCH", body: { allowed_ips: null } });
    expect((await search(access_token, "192.0.2.7")).status).toBe(200);
  });
});

describe("a key that is rolled", () => {
  it("works beside its successor until the overlap is over", async () => {
    const old = await make({ name: "robot", scopes: ["read"], allowed_ips: ["192.0.2.1"] });
    const rolled = await caller.fetch(`${KEYS}/${old.id}/roll`, { body: { overlap_seconds: 3600 } });
    expect([rolled.status, rolled.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const next = await rolled.json<Key>();
    expect(next).toMatchObject({ name: "robot", scopes: ["read"], allowed_ips: ["192.0.2.1"], expires_at: null });
    expect(await Promise.all([works(old.key, "192.0.2.1"), works(next.key, "192.0.2.1")])).toEqual([true, true]);
    pass(HOUR + 1_000);
    expect(await Promise.all([works(old.key, "192.0.2.1"), works(next.key, "192.0.2.1")])).toEqual([false, true]);
    expect((await caller.fetch(`${KEYS}/${old.id}/roll`, { body: {} })).status).toBe(409);
  });

  it("keeps what a person allowed with it", async () => {
    const old = await make({ scopes: ["read", "write"] });
    const tokens = await newTokens({ ...caller, key: old.key });
    const next = await (await caller.fetch(`${KEYS}/${old.id}/roll`, { body: { overlap_seconds: 0 } })).json<Key>();
    expect(await works(old.key)).toBe(false);
    expect((await withToken("/assistants/search", tokens.access_token, undefined, "POST")).status).toBe(200);
    await caller.fetch(`${KEYS}/${next.id}`, { method: "DELETE" });
    expect((await withToken("/assistants/search", tokens.access_token, undefined, "POST")).status).toBe(401);
  });

  it("ends with its successor on request", async () => {
    const first = await make({});
    const roll = async ({ id }: Key) => (await caller.fetch(`${KEYS}/${id}/roll`, { body: {} })).json<Key>();
    const second = await roll(first);
    const third = await roll(second);
    const other = await make({});
    expect(await findKey(first.id)).toMatchObject({ successor_id: second.id });
    expect((await caller.fetch(`${KEYS}/${third.id}?predecessors=maybe`, { method: "DELETE" })).status).toBe(422);
    expect(
      (await (await newCaller()).fetch(`${KEYS}/${third.id}?predecessors=true`, { method: "DELETE" })).status,
    ).toBe(404);
    expect((await caller.fetch(`${KEYS}/${third.id}?predecessors=true`, { method: "DELETE" })).status).toBe(204);
    const all = [first, second, third, other];
    expect(await Promise.all(all.map(({ key }) => works(key)))).toEqual([false, false, false, true]);
  });

  it("is left alone when its successor is deleted without", async () => {
    const first = await make({});
    const second = await (await caller.fetch(`${KEYS}/${first.id}/roll`, { body: {} })).json<Key>();
    await caller.fetch(`${KEYS}/${second.id}`, { method: "DELETE" });
    expect(await works(first.key)).toBe(true);
  });

  it("gives its caller no more scopes than they have", async () => {
    const admin = await make({ scopes: ["admin"] });
    const headers = { "x-api-key": admin.key };
    const keys = await (await caller.fetch(KEYS)).json<Key[]>();
    const strong = keys.find(({ name }) => name === "test");
    expect((await send(`${KEYS}/${strong?.id}/roll`, { body: {}, headers })).status).toBe(403);
  });
});

describe("a key's last use", () => {
  it("is noted, at most once an hour", async () => {
    const { id, key } = await make({});
    expect((await findKey(id))?.last_used_at).toBeNull();
    await works(key);
    await expect.poll(async () => (await findKey(id))?.last_used_at).not.toBeNull();
    const first = (await findKey(id))?.last_used_at;
    pass(HOUR / 2);
    await works(key);
    forgetCredentials();
    await works(key);
    expect((await findKey(id))?.last_used_at).toBe(first);
    pass(HOUR);
    await works(key);
    await expect.poll(async () => (await findKey(id))?.last_used_at).not.toBe(first);
  });

  it("is not written by the admin key", async () => {
    const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
    expect((await send(KEYS, { headers })).status).toBe(200);
  });
});
