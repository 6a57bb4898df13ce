/** The clients that a workspace let in: `/api/v1/oauth-clients`. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { Browser, CALLBACK, newClient, newTokens, redeem, request, type Tokens, withToken } from "./person.ts";

type Shown = { client_id: string; client_name: string; grants: number; scopes: string[] };

const list = async (caller: Caller, query = "") =>
  (await caller.fetch(`/api/v1/oauth-clients${query}`)).json<Shown[]>();
const remove = (caller: Caller, id: string) =>
  caller.fetch(`/api/v1/oauth-clients/${encodeURIComponent(id)}`, { method: "DELETE" });
/** Tokens of one more grant of a client. */
async function allowClient(caller: Caller, client: string, scope = "read write"): Promise<Tokens> {
  const code = await new Browser().allow(request(client, { scope }), caller);
  return (await redeem(client, code)).json<Tokens>();
}

const status = async (token: string) => (await withToken("/assistants/search", token, undefined, "POST")).status;

describe("an application that a workspace let in", () => {
  it("is listed once for all its grants, with the scopes of all of them", async () => {
    const caller = await newCaller();
    expect(await list(caller)).toEqual([]);
    const client = await newClient({ client_name: "Reader" });
    await allowClient(caller, client, "read");
    await allowClient(caller, client, "exports");
    const [shown, ...more] = await list(caller);
    expect(more).toEqual([]);
    expect(shown).toMatchObject({
      client_id: client,
      client_name: "Reader",
      redirect_uris: [CALLBACK],
      registered_by: "registration",
      grants: 2,
    });
    expect(shown?.scopes.toSorted()).toEqual(["exports", "read"]);
  });

  it("pages, the one that was allowed last first", async () => {
    const caller = await newCaller();
    const first = await newTokens(caller);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await newTokens(caller);
    expect((await list(caller)).map(({ client_id }) => client_id)).toEqual([second.client, first.client]);
    expect((await list(caller, "?limit=1&offset=1")).map(({ client_id }) => client_id)).toEqual([first.client]);
  });

  it("loses all its access to this workspace, and to no other", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const client = await newClient();
    const tokens = [await allowClient(caller, client), await allowClient(caller, client)];
    const theirs = await allowClient(other, client);
    const stays = await newTokens(caller);
    expect((await remove(caller, client)).status).toBe(204);
    expect(await Promise.all(tokens.map(({ access_token }) => status(access_token)))).toEqual([401, 401]);
    expect([await status(theirs.access_token), await status(stays.access_token)]).toEqual([200, 200]);
    expect((await list(caller)).map(({ client_id }) => client_id)).toEqual([stays.client]);
    expect((await list(other)).map(({ client_id }) => client_id)).toEqual([client]);
    expect((await remove(caller, client)).status).toBe(404);
    const audit = await (await caller.fetch("/api/v1/audit-log?action=grant.revoked")).json<{ detail: object }[]>();
    expect(audit.map(({ detail }) => detail)).toEqual([{ client_id: client }, { client_id: client }]);
  });

  it("has no access when its grants have expired", async () => {
    const caller = await newCaller();
    const { client } = await newTokens(caller);
    await env.DB.prepare("UPDATE oauth_grants SET expires_at = 1 WHERE client_id = ?").bind(client).run();
    expect(await list(caller)).toEqual([]);
    expect((await remove(caller, client)).status).toBe(404);
    expect(await (await caller.fetch("/api/v1/audit-log?action=grant.revoked")).json()).toEqual([]);
  });
});
