/** A stored answer belongs to the credential that asked, and no answer with a secret is stored. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller, send } from "../support/caller.ts";

const idempotent = (value: string) => ({ "idempotency-key": value });

async function second(caller: Caller, scopes: string[]) {
  const made = await caller.fetch("/api/v1/api-keys", { body: { name: "second", scopes } });
  const { key } = await made.json<{ key: string }>();
  return (path: string, body: unknown, headers: Record<string, string>) =>
    send(path, { body, headers: { "x-api-key": key, ...headers } });
}

describe("the answer to a request with an Idempotency-Key", () => {
  it("is not another credential's", async () => {
    const caller = await newCaller();
    const other = await second(caller, ["read", "write"]);
    const first = await caller.fetch("/threads", { body: {}, headers: idempotent("k") });
    const again = await other("/threads", {}, idempotent("k"));
    expect(again.headers.get("idempotency-replayed")).toBeNull();
    const ids = await Promise.all(
      [first, again].map(async (one) => (await one.json<{ thread_id: string }>()).thread_id),
    );
    expect(ids[0]).not.toBe(ids[1]);
    const run = { assistant_id: "echo", input: { messages: [] }, on_completion: "keep" };
    const runs = await Promise.all([
      caller.fetch("/runs", { body: run, headers: idempotent("run") }),
      other("/runs", run, idempotent("run")),
    ]);
    const [one, two] = await Promise.all(runs.map(async (answer) => (await answer.json<{ run_id: string }>()).run_id));
    expect(one).not.toBe(two);
  });

  it.each([
    ["/api/v1/api-keys", { name: "once" }],
    ["/api/v1/feedback/tokens", { run_id: crypto.randomUUID(), feedback_key: "thumb" }],
  ])("is not kept where it holds a secret: %s", async (path, body) => {
    const caller = await newCaller();
    const first = await caller.fetch(path, { body, headers: idempotent("secret") });
    expect(first.ok).toBe(true);
    expect(first.headers.get("cache-control")).toBe("no-store");
    await first.body?.cancel();
    const again = await caller.fetch(path, { body, headers: idempotent("secret") });
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ detail: expect.stringContaining("shown once") });
    const kept = env.DB.prepare("SELECT body FROM idempotency_keys WHERE workspace_id = ?").bind(caller.workspaceId);
    expect((await kept.all()).results).toEqual([{ body: null }]);
  });
});
