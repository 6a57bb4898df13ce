import { describe, expect, it } from "vitest";
import { ADMIN_KEY, newCaller, send } from "../../support/caller.ts";
import { Browser, newClient, newTokens, ORIGIN, redeem, refresh, request, type Tokens, withToken } from "./person.ts";

describe("the way to a token", () => {
  it("goes over sign in and consent, and the token works", async () => {
    const caller = await newCaller();
    const client = await newClient({ client_name: "My agent" });
    const browser = new Browser();
    const asked = request(client);

    const signIn = await browser.open(asked);
    expect(signIn.status).toBe(200);
    expect(await signIn.text()).toContain("My agent");

    await browser.signIn(asked, caller.key);
    const consent = await (await browser.open(asked)).text();
    expect(consent).toContain("My agent");
    expect(consent).toContain("127.0.0.1 (this device)");
    expect(consent).toContain("<dd>test</dd>");
    expect(consent).not.toContain(caller.key);

    const form = await browser.consentForm(asked, caller.key);
    const answer = await browser.submit(form);
    expect(answer.status).toBe(303);
    const back = new URL(answer.headers.get("location") ?? "");
    expect(back.origin + back.pathname).toBe("http://127.0.0.1/cb");
    expect(back.searchParams.get("state")).toBe("st&te");
    expect(back.searchParams.get("iss")).toBe(ORIGIN);

    const response = await redeem(client, back.searchParams.get("code") ?? "");
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const tokens = await response.json<Tokens>();
    expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "read write" });
    expect(tokens.workspace_id).toBe(caller.workspaceId);
    expect((await withToken("/assistants/search", tokens.access_token, undefined, "POST")).status).toBe(200);
  });

  it("ends when the person says no", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const form = await browser.consentForm(request(await newClient()), caller.key);
    const back = new URL((await browser.submit({ ...form, step: "deny" })).headers.get("location") ?? "");
    expect(back.searchParams.get("error")).toBe("access_denied");
    expect(back.searchParams.get("state")).toBe("st&te");
    expect(back.searchParams.has("code")).toBe(false);
  });

  it("asks every time: allowing once allows nothing later", async () => {
    const caller = await newCaller();
    const client = await newClient();
    const browser = new Browser();
    await browser.allow(request(client), caller);
    const again = await browser.open(request(client));
    expect(again.status).toBe(200);
    expect(await again.text()).toContain("API key of the workspace");
  });

  it("gives no more than was requested, than the key has, and than was ticked", async () => {
    const caller = await newCaller();
    const made = await caller.fetch("/api/v1/api-keys", { body: { name: "few", scopes: ["read", "exports"] } });
    const few = { ...caller, key: (await made.json<{ key: string }>()).key };
    const readScope = async (by: typeof caller, scope: string | undefined) => (await newTokens(by, { scope })).scope;
    expect(await readScope(caller, "read write exports admin")).toBe("read write exports admin");
    expect(await readScope(caller, undefined)).toBe("read write");
    expect(await readScope(caller, "openid read offline_access")).toBe("read");
    expect(await readScope(few, "read write admin")).toBe("read");

    const client = await newClient();
    const browser = new Browser();
    const form = await browser.consentForm(request(client, { scope: "read write admin" }), caller.key);
    const answer = await browser.submit({ ...form, grant: ["read", "exports"] });
    const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
    expect((await (await redeem(client, code)).json<Tokens>()).scope).toBe("read");
  });

  it("keeps to loopback URIs on any port, and to the query of the URI", async () => {
    const caller = await newCaller();
    const client = await newClient({ redirect_uris: ["http://127.0.0.1:1/cb?keep=1"] });
    const redirect_uri = "http://127.0.0.1:53123/cb?keep=1";
    const browser = new Browser();
    const answer = await browser.submit(await browser.consentForm(request(client, { redirect_uri }), caller.key));
    const back = answer.headers.get("location") ?? "";
    expect(back.startsWith(`${redirect_uri}&code=`)).toBe(true);
    const code = new URL(back).searchParams.get("code") ?? "";
    expect((await redeem(client, code, { redirect_uri })).status).toBe(200);
  });

  it("refreshes, with a new refresh token every time and never more scopes", async () => {
    const caller = await newCaller();
    const first = await newTokens(caller);
    const second = await (await refresh(first.client, first.refresh_token)).json<Tokens>();
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(second.scope).toBe("read write");
    const third = await (await refresh(first.client, second.refresh_token, { scope: "read" })).json<Tokens>();
    expect(third.scope).toBe("read");
    const more = await refresh(first.client, third.refresh_token, { scope: "read admin" });
    expect(more.status).toBe(400);
    const fourth = await (await refresh(first.client, third.refresh_token)).json<Tokens>();
    expect(fourth.scope).toBe("read write");
    for (const { access_token } of [first, second, third, fourth]) {
      expect((await withToken("/assistants/search", access_token, undefined, "POST")).status).toBe(200);
    }
  });

  it("gives no refresh token to a client that did not register for one", async () => {
    const caller = await newCaller();
    const client = await newClient({ grant_types: ["authorization_code"] });
    const code = await new Browser().allow(request(client), caller);
    expect(await (await redeem(client, code)).json()).not.toHaveProperty("refresh_token");
  });
});

describe("a token", () => {
  it("names its workspace on the platform API, as the specification asks", async () => {
    const caller = await newCaller();
    const { access_token } = await newTokens(caller, { scope: "read admin" });
    const ask = (headers: Record<string, string>, path = "/api/v1/api-keys") =>
      send(path, { headers: { authorization: `Bearer ${access_token}`, ...headers } });
    expect((await ask({})).status).toBe(400);
    expect((await ask({ "x-tenant-id": caller.workspaceId })).status).toBe(200);
    expect((await ask({ "x-tenant-id": (await newCaller()).workspaceId })).status).toBe(403);
    expect((await ask({ "x-organization-id": "x" })).status).toBe(400);

    const [workspace] = await (
      await ask({ "x-tenant-id": caller.workspaceId }, "/api/v1/workspaces")
    ).json<{ id: string; organization_id: string }[]>();
    expect(workspace?.id).toBe(caller.workspaceId);
    const organization = workspace?.organization_id ?? "";
    const listed = await ask({ "x-organization-id": organization }, "/api/v1/workspaces");
    expect(await listed.json<object[]>()).toHaveLength(1);
    expect((await ask({ "x-organization-id": crypto.randomUUID() }, "/api/v1/workspaces")).status).toBe(403);
    expect((await ask({}, "/api/v1/workspaces")).status).toBe(400);
  });

  it("for one resource works there and nowhere else", async () => {
    const caller = await newCaller();
    const { access_token } = await newTokens(caller, { resource: `${ORIGIN}/assistants` });
    expect((await withToken("/assistants/search", access_token, undefined, "POST")).status).toBe(200);
    const elsewhere = await withToken("/threads/search", access_token, undefined, "POST");
    expect(elsewhere.status).toBe(401);
    expect(elsewhere.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect((await withToken("/assistantsX", access_token)).status).toBe(401);
  });

  it("is seen and taken back by the workspace, and ends with the key that allowed it", async () => {
    const caller = await newCaller();
    const other = await newCaller();
    const first = await newTokens(caller);
    const listed = await (await caller.fetch("/api/v1/grants")).json<{ id: string; client_name: string }[]>();
    expect(listed.map(({ client_name }) => client_name)).toEqual(["Test client"]);
    const path = `/api/v1/grants/${listed[0]?.id}`;
    expect(await (await other.fetch("/api/v1/grants")).json()).toEqual([]);
    expect((await other.fetch(path, { method: "DELETE" })).status).toBe(404);
    expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(404);
    expect((await withToken("/assistants/search", first.access_token, undefined, "POST")).status).toBe(401);
    expect((await refresh(first.client, first.refresh_token)).status).toBe(400);

    const second = await newTokens(caller);
    const [key] = await (await caller.fetch("/api/v1/api-keys")).json<{ id: string }[]>();
    expect((await caller.fetch(`/api/v1/api-keys/${key?.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await withToken("/assistants/search", second.access_token, undefined, "POST")).status).toBe(401);
  });

  it("leaves a trail of what was changed, without secrets", async () => {
    const caller = await newCaller();
    const { client, access_token, refresh_token } = await newTokens(caller);
    const next = await (await refresh(client, refresh_token)).json<Tokens>();
    await refresh(client, next.refresh_token);
    await refresh(client, refresh_token);
    const response = await caller.fetch("/api/v1/audit-log");
    const text = await response.clone().text();
    for (const secret of [caller.key, access_token, refresh_token]) expect(text).not.toContain(secret);
    const entries = await response.json<{ action: string }[]>();
    const changes = entries.map(({ action }) => action).filter((action) => action !== "admin_key.used");
    expect(changes).toEqual([
      "grant.reuse_detected",
      "grant.created",
      "sign_in.succeeded",
      "api_key.created",
      "workspace.created",
    ]);
    const page = await caller.fetch("/api/v1/audit-log?limit=1&offset=1");
    expect(await page.json()).toMatchObject([{ action: "grant.created", detail: { client_id: client } }]);
    expect(page.headers.get("x-pagination-next")).toBe("2");
    const deployment = await send("/api/v1/audit-log?action=client.registered&limit=1000", {
      headers: { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId },
    });
    expect(await deployment.text()).toContain(client);
  });
});
