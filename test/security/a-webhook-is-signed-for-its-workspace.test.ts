/** A receiver can check that a webhook came from its workspace, when it was sent, and that its body is unchanged. */
import { createHmac } from "node:crypto";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { unseal } from "../../src/lib/crypto.ts";
import { type Caller, newCaller } from "../support/caller.ts";

interface Sent {
  headers: Record<string, string>;
  body: string;
}
interface Secret {
  id: string;
  secret: string;
  expires_at: string | null;
}

let sent: Sent[] = [];
beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", async (_url: string, { headers, body }: RequestInit) => {
    sent.push({ headers: headers as Record<string, string>, body: body as string });
    return new Response();
  });
});
afterEach(() => vi.unstubAllGlobals());

const readDeliveryId = ({ headers }: Sent) => headers["weir-delivery"];

async function rotate(caller: Caller, overlap?: number): Promise<Secret> {
  const made = await caller.fetch("/api/v1/webhook-secrets", { body: { overlap_seconds: overlap } });
  expect(made.status).toBe(201);
  expect(made.headers.get("cache-control")).toBe("no-store");
  return made.json<Secret>();
}

const listSecrets = async (caller: Caller) => (await caller.fetch("/api/v1/webhook-secrets")).json<Secret[]>();

/** The webhook that the end of one run of this workspace sends. A delivery may arrive more than once, with the same id. */
async function delivery(caller: Caller): Promise<Sent> {
  const known = new Set(sent.map(readDeliveryId));
  const findDelivery = () =>
    sent.find((hook) => !known.has(readDeliveryId(hook)) && JSON.parse(hook.body).workspace_id === caller.workspaceId);
  const input = { messages: [{ role: "user", content: "hello" }] };
  const body = { assistant_id: "echo", input, webhook: "https://hooks.example/run" };
  await (await caller.fetch("/runs/wait", { body })).text();
  return vi.waitUntil(findDelivery, { timeout: 10_000 });
}

/** The receiver's side: which of these secrets signed. */
function signers({ headers, body }: Sent, secrets: string[]): string[] {
  const [, time] = /^t=(\d+)/.exec(headers["weir-signature"] ?? "") ?? [];
  expect(Math.abs(Date.now() / 1000 - Number(time))).toBeLessThan(300);
  const given = [...(headers["weir-signature"] ?? "").matchAll(/v1=([0-9a-f]{64})/g)].map(([, hex]) => hex);
  const mac = (secret: string) =>
    createHmac("sha256", secret).update(`${time}.${headers["weir-delivery"]}.${body}`).digest("hex");
  const found = secrets.filter((secret) => given.includes(mac(secret)));
  expect(given).toHaveLength(found.length);
  return found;
}

describe("a webhook", () => {
  it("is signed with a secret of its own workspace, over time, delivery and body", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const [mine, theirs] = [await rotate(caller), await rotate(other)];
    const hook = await delivery(caller);
    expect(signers(hook, [mine.secret, theirs.secret])).toEqual([mine.secret]);
    expect(JSON.parse(hook.body)).toMatchObject({
      workspace_id: caller.workspaceId,
      delivery_id: hook.headers["weir-delivery"],
    });
    expect(signers(await delivery(other), [mine.secret, theirs.secret])).toEqual([theirs.secret]);
  });

  it("has no signature before the workspace has a secret: ENCRYPTION_KEY signs nothing", async () => {
    const { headers, body } = await delivery(await newCaller());
    expect(Object.keys(headers).filter((name) => name.includes("signature"))).toEqual([]);
    expect(JSON.parse(body)).toMatchObject({ status: "success" });
  });
});

describe("a push notification of A2A", () => {
  it("is signed as webhooks are", async () => {
    const caller = await newCaller();
    const { secret } = await rotate(caller);
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: {
        message: { kind: "message", messageId: "m1", role: "user", parts: [{ kind: "text", text: "hello" }] },
        configuration: { blocking: true, pushNotificationConfig: { url: "https://hooks.example/task" } },
      },
    };
    await (await caller.fetch("/a2a/echo", { body })).text();
    const hook = await vi.waitUntil(() => sent.find((one) => one.body.includes("completed")), { timeout: 10_000 });
    expect(signers(hook, [secret])).toEqual([secret]);
  });
});

describe("a signing secret", () => {
  it("is shown once, and rotates with an overlap in which both sign", async () => {
    const caller = await newCaller();
    const first = await rotate(caller);
    const second = await rotate(caller, 3600);
    expect(signers(await delivery(caller), [first.secret, second.secret])).toEqual([first.secret, second.secret]);
    const all = await listSecrets(caller);
    expect(all.map(({ id, expires_at }) => [id, expires_at === null])).toEqual([
      [second.id, true],
      [first.id, false],
    ]);
    expect(JSON.stringify(all)).not.toContain(second.secret);
    const third = await rotate(caller, 0);
    const secrets = [first.secret, second.secret, third.secret];
    expect(signers(await delivery(caller), secrets)).toEqual([third.secret]);
    expect((await listSecrets(caller)).map(({ id }) => id)).toEqual([third.id]);
  });

  it("signs nothing after it is deleted, and belongs to its workspace", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const { id } = await rotate(caller);
    const remove = (by: Caller) => by.fetch(`/api/v1/webhook-secrets/${id}`, { method: "DELETE" });
    expect((await remove(other)).status).toBe(404);
    expect(await listSecrets(other)).toEqual([]);
    expect((await remove(caller)).status).toBe(204);
    expect((await delivery(caller)).headers["weir-signature"]).toBeUndefined();
  });

  it("is one of at most five", async () => {
    const caller = await newCaller();
    for (let i = 0; i < 5; i += 1) await rotate(caller);
    const sixth = await caller.fetch("/api/v1/webhook-secrets", { body: {} });
    expect(sixth.status).toBe(409);
    await rotate(caller, 0);
  });

  it("is stored encrypted, under a key for this purpose alone", async () => {
    const caller = await newCaller();
    const { id, secret } = await rotate(caller);
    const row = await env.DB.prepare("SELECT * FROM webhook_secrets WHERE id = ?").bind(id).first<{ sealed: string }>();
    expect(JSON.stringify(row)).not.toContain(secret);
    expect(await unseal(env, row?.sealed ?? "", `webhook secret ${id}`)).toBe(secret);
    const raw = Uint8Array.from(Buffer.from(env.ENCRYPTION_KEY, "base64"));
    const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["decrypt"]);
    const bytes = Uint8Array.from(Buffer.from(row?.sealed.split(".").at(-1) ?? "", "base64"));
    const additionalData = new TextEncoder().encode(`webhook secret ${id}`);
    const direct = { name: "AES-GCM", iv: bytes.subarray(0, 12), additionalData };
    await expect(crypto.subtle.decrypt(direct, key, bytes.subarray(12))).rejects.toThrow(/decrypt/i);
  });
});
