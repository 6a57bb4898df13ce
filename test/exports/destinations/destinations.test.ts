import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../support/app.ts";
import { sealText, unseal } from "../../../src/lib/crypto.ts";
import { workspaces } from "../../../src/access/table.ts";
import { database } from "../../../src/db/client.ts";
import { exportDestinations } from "../../../src/exports/table.ts";
import { openCredentials } from "../../../src/exports/destinations/store.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { FakeS3, type Fault } from "../../support/fake-s3.ts";

const PATH = "/api/v1/bulk-exports/destinations";
const SECRET = "wJalrXUtnFEMI-not-to-be-seen";
const S3 = {
  destination_type: "s3",
  display_name: 'Mein See (Ünter <b>) — 湖 №1, "größer"',
  config: { bucket_name: "lake", prefix: "/traces/", region: "us-east-1", endpoint_url: "https://s3.example.com" },
  credentials: { access_key_id: "AKIDEXAMPLE", secret_access_key: SECRET },
};
type Json = Record<string, unknown>;

let caller: Caller;
let s3: FakeS3;
let fault: Fault | undefined;

beforeEach(async () => {
  caller = await newCaller();
  fault = undefined;
  s3 = new FakeS3(() => fault);
  vi.stubGlobal("fetch", s3.fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function create(body: Json = S3): Promise<Json> {
  const response = await caller.fetch(PATH, { body });
  expect(response.status).toBe(200);
  return response.json<Json>();
}

describe("a destination", () => {
  it("of type r2 is refused with the reason where the deployment binds no bucket", async () => {
    const body = JSON.stringify({ destination_type: "r2", display_name: "here", config: {} });
    const headers = { "x-api-key": caller.key, "content-type": "application/json" };
    const request = new Request(`https://weir.test${PATH}`, { method: "POST", headers, body });
    const bindings = { ...env, EXPORTS_BUCKET: undefined };
    const response = await app.fetch(request, bindings, createExecutionContext());
    expect(response.status).toBe(400);
    expect((await response.json<{ detail: string }>()).detail).toContain("NoBucket");
  });

  it("is tried out, kept, and shown without its secrets", async () => {
    const made = await create();
    expect(made).toMatchObject({
      tenant_id: caller.workspaceId,
      destination_type: "s3",
      display_name: S3.display_name,
      config: { bucket_name: "lake", prefix: "traces", include_bucket_in_prefix: true },
      credentials_keys: ["access_key_id", "secret_access_key"],
    });
    expect(s3.requests.map(({ method, key }) => [method, key.replace(/weir-[0-9a-f-]{36}/, "weir-<id>")])).toEqual([
      ["PUT", "traces/tmp/weir-<id>.txt"],
      ["DELETE", "traces/tmp/weir-<id>.txt"],
    ]);
    const shown = await (await caller.fetch(`${PATH}/${String(made.id)}`)).json();
    const listed = await (await caller.fetch(PATH)).json();
    expect(shown).toEqual(made);
    expect(listed).toEqual([made]);
    expect(JSON.stringify([made, shown, listed])).not.toContain(SECRET);
    expect(JSON.stringify([made, shown, listed])).not.toContain("AKIDEXAMPLE");
  });

  it("is kept though the test object may not be removed", async () => {
    let requests = 0;
    s3 = new FakeS3(() => (++requests > 1 ? { kind: "status", status: 403, code: "AccessDenied" } : undefined));
    vi.stubGlobal("fetch", s3.fetch);
    expect((await caller.fetch(PATH, { body: S3 })).status).toBe(200);
  });

  it("sends what the bucket requires", async () => {
    const config = {
      ...S3.config,
      s3_additional_kwargs: { ServerSideEncryption: "aws:kms", SSEKMSKeyId: "key-1", ExpectedBucketOwner: "123" },
      config_kwargs_s3: { addressing_style: "path" },
    };
    await create({ ...S3, config, credentials: { ...S3.credentials, session_token: "token" } });
    const [put, removal] = s3.requests;
    expect(put?.headers.get("x-amz-server-side-encryption")).toBe("aws:kms");
    expect(put?.headers.get("x-amz-server-side-encryption-aws-kms-key-id")).toBe("key-1");
    expect(put?.headers.get("x-amz-security-token")).toBe("token");
    expect(removal?.headers.get("x-amz-server-side-encryption")).toBeNull();
    expect(removal?.headers.get("x-amz-expected-bucket-owner")).toBe("123");
  });

  it("is refused with the store's reason, and no other detail", async () => {
    fault = { kind: "status", status: 403, code: "InvalidAccessKeyId" };
    const response = await caller.fetch(PATH, { body: S3 });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      detail: "Failed to validate S3 destination: InvalidAccessKeyId: The store says InvalidAccessKeyId.",
    });
    fault = { kind: "reset" };
    expect((await caller.fetch(PATH, { body: S3 })).status).toBe(400);
    expect(await (await caller.fetch(PATH)).json()).toEqual([]);
  });

  it("of type r2 needs nothing but a name", async () => {
    const made = await create({ destination_type: "r2", display_name: "here", config: { prefix: "p" } });
    expect(made).toMatchObject({ destination_type: "r2", credentials_keys: [] });
    expect(s3.requests).toEqual([]);
  });

  it("takes new credentials after they have been tried", async () => {
    const { id } = await create();
    const before = await readStoredCredentials(String(id));
    fault = { kind: "status", status: 403, code: "SignatureDoesNotMatch" };
    const credentials = { access_key_id: "AKIDNEW", secret_access_key: "new" };
    expect((await caller.fetch(`${PATH}/${String(id)}`, { method: "PATCH", body: { credentials } })).status).toBe(400);
    expect(await readStoredCredentials(String(id))).toBe(before);
    fault = undefined;
    expect((await caller.fetch(`${PATH}/${String(id)}`, { method: "PATCH", body: { credentials } })).status).toBe(200);
    expect(await readStoredCredentials(String(id))).not.toBe(before);
  });

  it("has one test object, however often it is checked, when the object may not be removed", async () => {
    const { id } = await create();
    s3 = new FakeS3(({ method }) =>
      method === "DELETE" ? { kind: "status", status: 403, code: "AccessDenied" } : undefined,
    );
    vi.stubGlobal("fetch", s3.fetch);
    for (let n = 0; n < 3; n++)
      expect((await caller.fetch(`${PATH}/${String(id)}/check`, { method: "POST" })).status).toBe(200);
    expect(s3.objects.size).toBe(1);
  });

  it("whose endpoint is private is not called by a check", async () => {
    const { id } = await create();
    const config = { ...S3.config, endpoint_url: "https://127.0.0.1", prefix: "" };
    await database(env.DB)
      .update(exportDestinations)
      .set({
        config: { ...config, include_bucket_in_prefix: true, config_kwargs_s3: null, s3_additional_kwargs: null },
      })
      .where(eq(exportDestinations.id, String(id)));
    s3.requests.length = 0;
    const answer = await caller.fetch(`${PATH}/${String(id)}/check`, { method: "POST" });
    expect(answer.status).toBe(400);
    expect((await answer.json<{ detail: string }>()).detail).toContain("EndpointRefused");
    expect(s3.requests).toEqual([]);
  });

  it("is checked again with the credentials that are stored", async () => {
    const { id } = await create();
    const check = () => caller.fetch(`${PATH}/${String(id)}/check`, { method: "POST" });
    s3.requests.length = 0;
    const good = await check();
    expect([good.status, await good.json()]).toEqual([200, { ok: true, checked_at: expect.any(String) }]);
    expect(s3.requests.map(({ method }) => method)).toEqual(["PUT", "DELETE"]);
    fault = { kind: "status", status: 403, code: "AccessDenied" };
    const bad = await check();
    expect(bad.status).toBe(400);
    const text = await bad.text();
    expect(text).toContain("AccessDenied");
    expect(text).not.toContain(SECRET);
    const other = await newCaller();
    expect((await other.fetch(`${PATH}/${String(id)}/check`, { method: "POST" })).status).toBe(404);
  });

  it("whose credentials no key opens says so when it is checked", async () => {
    const { id } = await create();
    await database(env.DB)
      .update(exportDestinations)
      .set({ credentials: "v1.000000000000.AAAA" })
      .where(eq(exportDestinations.id, String(id)));
    const answer = await caller.fetch(`${PATH}/${String(id)}/check`, { method: "POST" });
    expect(answer.status).toBe(409);
    expect((await answer.json<{ detail: string }>()).detail).toContain("ENCRYPTION_KEY");
  });

  it("is not deleted while an export uses it", async () => {
    const { id } = await create();
    const project = await caller.fetch("/api/v1/sessions", { body: { name: "p" } });
    const { id: session_id } = await project.json<{ id: string }>();
    const schedule = await caller.fetch("/api/v1/bulk-exports", {
      body: { bulk_export_destination_id: id, session_id, start_time: "2026-01-01T00:00:00Z", interval_hours: 24 },
    });
    expect(schedule.status).toBe(200);
    const { id: scheduleId } = await schedule.json<{ id: string }>();
    expect((await caller.fetch(`${PATH}/${String(id)}`, { method: "DELETE" })).status).toBe(409);
    await caller.fetch(`/api/v1/bulk-exports/${scheduleId}`, { method: "PATCH", body: { status: "Cancelled" } });
    expect((await caller.fetch(`${PATH}/${String(id)}`, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(`${PATH}/${String(id)}`)).status).toBe(404);
  });

  it("belongs to its workspace only", async () => {
    const { id } = await create();
    const other = await newCaller();
    const unknown = crypto.randomUUID();
    for (const [method, body] of [
      ["GET", undefined],
      ["PATCH", { credentials: S3.credentials }],
      ["DELETE", undefined],
    ] as const) {
      const theirs = await other.fetch(`${PATH}/${String(id)}`, { method, body });
      const missing = await other.fetch(`${PATH}/${unknown}`, { method, body });
      expect(theirs.status).toBe(404);
      expect(await theirs.text()).toBe(await missing.text());
    }
    expect(await (await other.fetch(PATH)).json()).toEqual([]);
  });
});

async function readStoredCredentials(id: string): Promise<string> {
  const row = await database(env.DB).select().from(exportDestinations).where(eq(exportDestinations.id, id)).get();
  return row?.credentials ?? "";
}

describe("credentials at rest", () => {
  it("are ciphertext, bound to their destination", async () => {
    const { id } = await create();
    const sealed = await readStoredCredentials(String(id));
    expect(sealed).not.toContain(SECRET);
    expect(atob(sealed.split(".")[1] ?? "")).not.toContain(SECRET);
    await expect(unseal(env, sealed, "export destination another")).rejects.toThrow(/decrypt/i);
  });

  it("survive a rotation of the key, and move to the new one when they are used", async () => {
    const { id } = await create();
    const db = database(env.DB);
    const row = await db
      .select()
      .from(exportDestinations)
      .where(eq(exportDestinations.id, String(id)))
      .get();
    if (!row) throw new Error("no row");
    const newKey = btoa("n".repeat(32));
    const { DB } = env;
    const rotated = {
      DB,
      ENCRYPTION_KEY: newKey,
      ENCRYPTION_KEYS_OLD: `${btoa("x".repeat(32))}, ${env.ENCRYPTION_KEY}`,
    };
    expect(await openCredentials(db, rotated, row)).toMatchObject({ credentials: { secret_access_key: SECRET } });
    const moved = await readStoredCredentials(String(id));
    expect(moved).not.toBe(row.credentials);
    expect(await openCredentials(db, { DB, ENCRYPTION_KEY: newKey }, { ...row, credentials: moved })).toMatchObject({
      credentials: { secret_access_key: SECRET },
    });
    await expect(openCredentials(db, { DB, ENCRYPTION_KEY: btoa("z".repeat(32)) }, row)).rejects.toThrow(
      /no ENCRYPTION_KEY/,
    );
    await expect(sealText({ ENCRYPTION_KEY: "c2hvcnQ=" }, "x", "y")).rejects.toThrow(/32 bytes/);
  });
});

describe("a workspace whose plan has no exports", () => {
  it("may neither make destinations nor exports, and gets a 403", async () => {
    await database(env.DB)
      .update(workspaces)
      .set({ settings: { exports: false } })
      .where(eq(workspaces.id, caller.workspaceId));
    for (const path of [PATH, "/api/v1/bulk-exports"]) {
      const refused = await caller.fetch(path, { body: S3 });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({
        detail: "The plan of this workspace does not include bulk exports.",
      });
    }
    expect((await caller.fetch(PATH)).status).toBe(200);
  });

  it("is not the same as a key without the scope", async () => {
    const made = await caller.fetch("/api/v1/api-keys", { body: { name: "reader", scopes: ["read"] } });
    const { key } = await made.json<{ key: string }>();
    for (const path of [PATH, "/api/v1/bulk-exports"]) {
      expect((await caller.fetch(path, { headers: { "x-api-key": key } })).status).toBe(403);
    }
  });
});
