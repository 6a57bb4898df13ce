/** The audit trail of a workspace can be taken away as a whole, and shows no other workspace's entries. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";

interface Entry {
  id: string;
  at: string;
  action: string;
}

async function exportEntries(caller: Caller, query = "", headers: Record<string, string> = {}): Promise<Entry[]> {
  const response = await caller.fetch(`/api/v1/audit-log?format=ndjson${query}`, { headers });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return (await response.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
}

/** Entries at these times, milliseconds since 1970. */
async function fill({ workspaceId }: Caller, times: number[]): Promise<void> {
  const insert = env.DB.prepare(
    `insert into audit_log (id, workspace_id, at, actor_kind, actor_id, action, target_id, detail)
     select lower(hex(randomblob(16))), ?1, value, 'key', 'k', 'api_key.updated', 't', '{}' from json_each(?2)`,
  );
  await insert.bind(workspaceId, JSON.stringify(times)).run();
}

it("has every entry once, newest first, also where many have one time", async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const start = Date.UTC(2026, 0, 1);
  await fill(caller, [
    ...Array.from({ length: 1_200 }, () => start),
    ...Array.from({ length: 30 }, (_, i) => start + i),
  ]);
  await fill(other, [start]);
  const entries = await exportEntries(caller, "&action=api_key.updated");
  expect(entries).toHaveLength(1_230);
  expect(new Set(entries.map(({ id }) => id)).size).toBe(1_230);
  const times = entries.map(({ at }) => Date.parse(at));
  expect(times).toEqual([...times].sort((a, b) => b - a));
  expect(await exportEntries(other, "&action=api_key.updated")).toHaveLength(1);
});

it("is bounded by time, in lists too", async () => {
  const caller = await newCaller();
  const start = Date.UTC(2026, 0, 1);
  await fill(caller, [start, start + 1_000, start + 2_000]);
  const range = "&after=2026-01-01T00:00:01Z&before=2026-01-01T00:00:02Z";
  expect(await exportEntries(caller, range)).toMatchObject([{ at: "2026-01-01T00:00:01.000Z" }]);
  expect(await (await caller.fetch(`/api/v1/audit-log?limit=10${range}`)).json()).toHaveLength(1);
  const wrong = await Promise.all(
    ["after=yesterday", "before=2026-02-32T00:00:00Z", "format=xml"].map(
      async (query) => (await caller.fetch(`/api/v1/audit-log?${query}`)).status,
    ),
  );
  expect(wrong).toEqual([422, 422, 422]);
});

it("notes that it was exported, and needs the scope admin", async () => {
  const caller = await newCaller();
  await exportEntries(caller);
  expect((await exportEntries(caller)).filter(({ action }) => action === "audit_log.exported")).toHaveLength(2);
  const { key } = await (
    await caller.fetch("/api/v1/api-keys", { body: { scopes: ["read"] } })
  ).json<{ key: string }>();
  expect((await send("/api/v1/audit-log?format=ndjson", { headers: { "x-api-key": key } })).status).toBe(403);
});

it("has the deployment's own entries for its admin key only", async () => {
  const caller = await newCaller();
  const mark = `/${crypto.randomUUID()}`;
  await send(mark, { headers: { "x-api-key": "weir_unknown", "cf-connecting-ip": "192.0.2.97" } });
  const admin = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  await expect.poll(async () => JSON.stringify(await exportEntries(caller, "", admin))).toContain(mark);
  expect(JSON.stringify(await exportEntries(caller))).not.toContain(mark);
});
