import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => {
  vi.useRealTimers();
});

const create = (key: string, body: object, from = caller) =>
  from.fetch("/assistants", { body: { graph_id: "echo", ...body }, headers: { "idempotency-key": key } });
const count = async () => (await caller.fetch("/assistants/count", { body: { name: "made once" } })).json();

describe("Idempotency-Key", () => {
  it("gives a repeated request the first answer", async () => {
    const first = await (await create("k1", { name: "made once" })).json();
    const again = await create("k1", { name: "made once" });
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("content-type")).toContain("application/json");
    expect(await again.json()).toEqual(first);
    expect(await count()).toBe(1);
    await create("k2", { name: "made once" });
    expect(await count()).toBe(2);
  });

  it("refuses the same key with another body or path", async () => {
    await create("k", { name: "made once" });
    const other = await create("k", { name: "other" });
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ detail: expect.stringContaining("Idempotency-Key") });
    const path = await caller.fetch("/assistants/count", { body: {}, headers: { "idempotency-key": "k" } });
    expect(path.status).toBe(422);
  });

  it("makes one thing of requests that come at once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create("race", { name: "made once" })));
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(await count()).toBe(1);
  });

  it("keeps refusals too, and is each workspace's own", async () => {
    const refused = await create("bad", { graph_id: "nowhere" });
    expect(refused.status).toBe(404);
    const again = await create("bad", { graph_id: "nowhere" });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await again.json()).toEqual(await refused.json());
    const other = await newCaller();
    expect((await create("bad", {}, other)).status).toBe(200);
  });

  it("keeps no answer in the clear", async () => {
    await create("sealed", { name: "a name to look for" });
    const kept = env.DB.prepare("SELECT * FROM idempotency_keys WHERE workspace_id = ?").bind(caller.workspaceId);
    const { results } = await kept.all();
    expect(results).toHaveLength(1);
    expect(JSON.stringify(results)).not.toContain("a name to look for");
    expect(await (await create("sealed", { name: "a name to look for" })).json()).toMatchObject({
      name: "a name to look for",
    });
  });

  it("keeps no answer that is larger than a row, in bytes", async () => {
    for (const key of ["a", "b", "c"]) {
      const item = { namespace: ["large"], key, value: { text: "水".repeat(200_000) } };
      await caller.fetch("/store/items", { method: "PUT", body: item });
    }
    const search = { body: { namespace_prefix: ["large"] }, headers: { "idempotency-key": "large" } };
    expect((await caller.fetch("/store/items/search", search)).status).toBe(200);
    const again = await caller.fetch("/store/items/search", search);
    expect(again.headers.get("idempotency-replayed")).toBeNull();
    expect((await again.json<{ items: object[] }>()).items).toHaveLength(3);
  });

  it("expires after 24 hours", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await create("old", { name: "made once" });
    vi.advanceTimersByTime(24 * 3_600_000 - 1000);
    await create("old", { name: "made once" });
    expect(await count()).toBe(1);
    vi.advanceTimersByTime(2000);
    expect((await create("old", { name: "made once" })).headers.get("idempotency-replayed")).toBeNull();
    expect(await count()).toBe(2);
  });
});
