import { describe, expect, it } from "vitest";
import { ADMIN_KEY, newCaller, send } from "../../support/caller.ts";

describe("API keys", () => {
  it("are shown once and work until deleted", async () => {
    const caller = await newCaller();
    const listed = await caller.fetch("/api/v1/api-keys");
    const keys = await listed.json<Record<string, unknown>[]>();
    expect(keys).toHaveLength(1);
    expect(JSON.stringify(keys)).not.toContain(caller.key);

    const gone = await caller.fetch(`/api/v1/api-keys/${String(keys[0]?.id)}`, { method: "DELETE" });
    expect(gone.status).toBe(204);
    expect((await caller.fetch("/api/v1/api-keys")).status).toBe(401);
  });

  it("of another workspace cannot be seen or deleted", async () => {
    const [one, other] = [await newCaller(), await newCaller()];
    const [key] = await (await other.fetch("/api/v1/api-keys")).json<{ id: string }[]>();
    expect((await one.fetch(`/api/v1/api-keys/${key?.id}`, { method: "DELETE" })).status).toBe(404);
    expect((await one.fetch("/api/v1/api-keys", { headers: { "x-tenant-id": other.workspaceId } })).status).toBe(403);
  });

  it("go with the workspace's id and with a service key, as the LangSmith SDKs send them", async () => {
    const [one, other] = [await newCaller(), await newCaller()];
    const trace = (headers: Record<string, string>) => send("/runs/batch", { body: { post: [], patch: [] }, headers });
    const [key, service] = [{ "x-api-key": one.key }, { "x-service-key": "a token" }];
    expect((await trace({ ...key, "x-tenant-id": one.workspaceId.toUpperCase() })).status).toBe(202);
    expect((await trace({ ...key, "x-tenant-id": other.workspaceId })).status).toBe(403);
    expect((await trace({ ...key, ...service })).status).toBe(202);
    expect((await trace({ ...service, "x-tenant-id": one.workspaceId })).status).toBe(401);
    expect((await trace({ "x-service-key": one.key })).status).toBe(401);
  });

  it("may be sent twice, as the LangSmith SDK for Python does, but not two of them", async () => {
    const [one, other] = [await newCaller(), await newCaller()];
    const readListStatus = async (key: string, tenant = one.workspaceId) =>
      (await send("/api/v1/api-keys", { headers: { "x-api-key": key, "x-tenant-id": tenant } })).status;
    expect(await readListStatus(`${one.key}, ${one.key}`, `${one.workspaceId}, ${one.workspaceId}`)).toBe(200);
    expect(await readListStatus(`${one.key}, ${other.key}`)).toBe(401);
    expect(await readListStatus(`${one.key},`)).toBe(401);
    expect(await readListStatus(one.key, `${one.workspaceId}, ${other.workspaceId}`)).toBe(403);
    expect(await readListStatus(`${ADMIN_KEY}, ${ADMIN_KEY}`)).toBe(200);
    expect(await readListStatus(`${ADMIN_KEY}, ${one.key}`)).toBe(401);
  });

  it("are required, and only the admin key makes workspaces", async () => {
    const caller = await newCaller();
    expect((await send("/api/v1/api-keys")).status).toBe(401);
    expect((await send("/api/v1/api-keys", { headers: { "x-api-key": "weir_wrong" } })).status).toBe(401);
    expect((await caller.fetch("/api/v1/workspaces", { body: { name: "x" } })).status).toBe(403);
    expect((await send("/api/v1/workspaces", { body: {}, headers: { "x-api-key": ADMIN_KEY } })).status).toBe(422);
  });
});
