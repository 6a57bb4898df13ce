/** What an application makes with a token does not outlive what the person allowed it. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetCredentials } from "../../src/auth/credential-cache.ts";
import { Browser, newClient, newTokens, post, request } from "../oauth/person.ts";
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

const grantId = async () => {
  const [grant] = await (await caller.fetch("/api/v1/grants")).json<{ id: string }[]>();
  return String(grant?.id);
};

/** Every way in which a grant ends. */
const ENDS: Record<string, () => Promise<unknown>> = {
  "is taken back": async () => caller.fetch(`/api/v1/grants/${await grantId()}`, { method: "DELETE" }),
  "is revoked by its client": () => post("/oauth/revoke", { token: tokens.access_token, client_id: tokens.client }),
  "ends with the key of the person": async () => {
    const all = await (await caller.fetch("/api/v1/api-keys")).json<{ id: string; name: string }[]>();
    const own = all.find(({ name }) => name === "test");
    const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
    await send(`/api/v1/api-keys/${own?.id}`, { method: "DELETE", headers });
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

it("a key that a token made cannot sign in", async () => {
  const response = await new Browser().submit({ ...request(await newClient()), step: "key", api_key: key });
  expect(response.status).not.toBe(303);
  expect(await response.text()).toContain("An application made this API key.");
});

it("keys of persons do not end", async () => {
  const own = await mint({ "x-api-key": caller.key });
  await caller.fetch(`/api/v1/grants/${await grantId()}`, { method: "DELETE" });
  expect([await status(caller.key), await status(own), await status(key)]).toEqual([200, 200, 401]);
});
