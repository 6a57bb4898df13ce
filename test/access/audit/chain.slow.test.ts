/** The audit trail as a chain: no fork and no lost entry, verified from an export and the daily roots. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { chain, chainAll, storeRoots, rootKey } from "../../../src/access/audit/chain.ts";
import { type AuditEntryWire, type AuditRoot, GENESIS, verifyAudit } from "../../../src/access/audit/verify.ts";
import { forgetAnonymous } from "../../../src/access/audit/store.ts";
import { database } from "../../../src/db/client.ts";
import { ADMIN_KEY, type Caller, newCaller } from "../../support/caller.ts";

const db = database(env.DB);
const DAY = 24 * 3_600_000;
let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

async function add(at = Date.now(), workspaceId: string | null = caller.workspaceId, action = "api_key.updated") {
  await env.DB.prepare(
    `insert into audit_log (id, workspace_id, at, actor_kind, actor_id, action, target_id, detail)
     values (?, ?, ?, 'key', 'k', ?, 't', '{"b":1,"a":[null,"é\\u2028"],"2":0}')`,
  )
    .bind(crypto.randomUUID(), workspaceId, at, action)
    .run();
}

async function exportEntries(headers: Record<string, string> = {}): Promise<AuditEntryWire[]> {
  const text = await (
    await caller.fetch("/api/v1/audit-log?format=ndjson", { headers })
  )
    .bytes()
    .then((bytes) => new TextDecoder().decode(bytes));
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as AuditEntryWire);
}
const faults = (entries: AuditEntryWire[], roots: AuditRoot[] = []) =>
  verifyAudit(entries, roots).flatMap((one) => one.faults);
const rows = async () =>
  (
    await env.DB.prepare("select seq, prev_hash, hash from audit_log where workspace_id = ? order by rowid")
      .bind(caller.workspaceId)
      .all<{ seq: number | null; prev_hash: string; hash: string }>()
  ).results;

describe("the chain", () => {
  it("begins at 1, and is whole in every export", async () => {
    await add();
    const entries = (await exportEntries()).toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, place) => place + 1));
    expect(entries[0]).toMatchObject({ action: "workspace.created", prev_hash: GENESIS });
    expect(faults(entries)).toEqual([]);
    await add();
    expect(faults(await exportEntries())).toEqual([]);
  });

  it("has neither a fork nor a gap when many write and chain at the same time", async () => {
    const work = Array.from({ length: 60 }, async (_, i) => {
      await add();
      if (i % 3 === 0) await chain(db, caller.workspaceId);
      if (i % 10 === 0) await chainAll(db);
    });
    await Promise.all(work);
    await Promise.all([chain(db, caller.workspaceId), chain(db, caller.workspaceId), exportEntries()]);
    const entries = await exportEntries();
    expect(entries.filter(({ action }) => action === "api_key.updated")).toHaveLength(60);
    expect(faults(entries)).toEqual([]);
    const places = (await rows()).map(({ seq }) => seq);
    expect(places).toEqual(places.map((_, place) => place + 1));
  });

  it("continues after a call that stopped before it wrote, and over many batches", async () => {
    await Promise.all(Array.from({ length: 450 }, () => add()));
    expect(await chain(db, caller.workspaceId, 1)).toBe(1);
    const some = await rows();
    expect(some.filter(({ seq }) => seq !== null)).toHaveLength(200);
    await chainAll(db);
    expect((await rows()).every(({ seq }) => seq !== null)).toBe(true);
    expect(faults(await exportEntries())).toEqual([]);
  });

  it("of one workspace says nothing about another, and the deployment has its own", async () => {
    const other = await newCaller();
    await add(Date.now(), null);
    await exportEntries();
    const both = await exportEntries({ "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId });
    expect(new Set(both.map(({ workspace_id }) => workspace_id))).toEqual(new Set([caller.workspaceId, null]));
    expect(JSON.stringify(both)).not.toContain(other.workspaceId);
    const own = verifyAudit(both, []).find(({ workspaceId }) => workspaceId === caller.workspaceId);
    expect(own?.faults).toEqual([]);
  });

  it("no place is taken twice, also by hand", async () => {
    await exportEntries();
    const twice = env.DB.prepare("update audit_log set seq = 1 where workspace_id = ? and seq = 2").bind(
      caller.workspaceId,
    );
    await expect(twice.run()).rejects.toThrow("UNIQUE");
  });
});

describe("an entry that was", () => {
  const findEntry = (entries: AuditEntryWire[], seq: number) =>
    entries.find((one) => one.seq === seq) as AuditEntryWire;
  const CASES: Record<string, (entries: AuditEntryWire[]) => AuditEntryWire[]> = {
    "changed in its action": (all) => all.map((one) => (one.seq === 2 ? { ...one, action: "api_key.deleted" } : one)),
    "changed in its detail": (all) => all.map((one) => (one.seq === 2 ? { ...one, detail: {} } : one)),
    "changed in its time": (all) =>
      all.map((one) => (one.seq === 2 ? { ...one, at: "2020-01-01T00:00:00.000Z" } : one)),
    "moved to another workspace": (all) => all.map((one) => ({ ...one, workspace_id: "another" })),
    removed: (all) => all.filter(({ seq }) => seq !== 2),
    "removed at the old end": (all) => all.filter(({ seq }) => seq !== 1),
    "put in the place of another": (all) => all.map((one) => (one.seq === 2 ? { ...findEntry(all, 3), seq: 2 } : one)),
    added: (all) => [...all, { ...findEntry(all, 2), id: "new" }],
    "left without a place": (all) => all.map((one) => (one.seq === 2 ? { ...one, seq: null } : one)),
  };
  it.for(Object.entries(CASES))("%s is found", async ([, change]) => {
    await add();
    await add();
    const entries = await exportEntries();
    expect(faults(entries)).toEqual([]);
    expect(faults(change(entries))).not.toEqual([]);
  });
});

describe("a daily root", () => {
  const now = Math.floor(Date.now() / DAY) * DAY + DAY + 3_600_000;
  const day = new Date(now - DAY).toISOString().slice(0, 10);
  const key = () => rootKey({ workspaceId: caller.workspaceId, day });
  /** One call writes 200 roots, and other tests of this isolate have workspaces, too. */
  const keepAllRoots = async () => {
    const left = "SELECT count(*) AS n FROM audit_roots WHERE written_at IS NULL";
    do await storeRoots(db, env.EXPORTS_BUCKET, now);
    while (((await env.DB.prepare(left).first<number>("n")) ?? 0) > 0);
  };
  const read = async () => (await env.EXPORTS_BUCKET.get(key()))?.json<AuditRoot>();

  it("is the last entry of the day, and finds that the new end was cut off or the whole chain made again", async () => {
    await add();
    await chainAll(db);
    await keepAllRoots();
    const root = (await read()) as AuditRoot;
    const entries = await exportEntries();
    expect(root).toMatchObject({ workspace_id: caller.workspaceId, day });
    expect(faults(entries, [root])).toEqual([]);
    expect(verifyAudit(entries, [root])[0]).toMatchObject({ roots: 1 });
    expect(
      faults(
        entries.filter(({ seq }) => (seq ?? 0) < root.seq),
        [root],
      ),
    ).toEqual([expect.stringContaining("missing")]);
    // Who may write to the database can compute all hashes again, but cannot change the bucket.
    await env.DB.prepare(
      "update audit_log set action = 'x', seq = null, hash = null, prev_hash = null where workspace_id = ?",
    )
      .bind(caller.workspaceId)
      .run();
    await env.DB.prepare("delete from audit_roots where workspace_id = ?").bind(caller.workspaceId).run();
    const forged = await exportEntries();
    expect(faults(forged)).toEqual([]);
    expect(faults(forged, [root])).toEqual([expect.stringContaining("not the one that the root")]);
  });

  it("is written once: neither a second call nor one after a kill changes it", async () => {
    await add();
    await chainAll(db);
    await keepAllRoots();
    const first = await read();
    expect(first).toMatchObject({ day, seq: expect.any(Number) });
    // The call before stopped after it wrote the object.
    await env.DB.prepare("update audit_roots set written_at = null where workspace_id = ?")
      .bind(caller.workspaceId)
      .run();
    await add();
    await chainAll(db);
    await keepAllRoots();
    expect(await read()).toEqual(first);
    await env.DB.prepare("update audit_roots set written_at = null, hash = 'forged' where workspace_id = ?")
      .bind(caller.workspaceId)
      .run();
    await keepAllRoots();
    expect(await read()).toEqual(first);
  });

  it("keeps what is left verifiable after the old end was deleted, and without it nothing is", async () => {
    const admin = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
    const deployment = async () => (await exportEntries(admin)).filter(({ workspace_id }) => workspace_id === null);
    const long = now - 40 * DAY;
    await add(long, null, "credential.refused");
    await chainAll(db);
    const before = await deployment();
    // No root: nothing is deleted.
    await forgetAnonymous(db, now - 30 * DAY);
    expect(await deployment()).toHaveLength(before.length);
    await storeRoots(db, env.EXPORTS_BUCKET, long + DAY);
    await forgetAnonymous(db, now - 30 * DAY);
    for (let i = 0; i < 3; i++) await add(now, null, "credential.refused");
    const left = await deployment();
    expect(left.some(({ at }) => Date.parse(at) === long)).toBe(false);
    const oldest = { workspaceId: "", day: new Date(long).toISOString().slice(0, 10) };
    const root = (await (await env.EXPORTS_BUCKET.get(rootKey(oldest)))?.json<AuditRoot>()) as AuditRoot;
    expect(left.length).toBeGreaterThan(0);
    expect(faults(left)).toEqual([expect.stringContaining("no root says what they were")]);
    expect(faults(left, [root])).toEqual([]);
    expect(
      faults(
        left.filter(({ seq }) => seq !== root.seq + 1),
        [root],
      ),
    ).not.toEqual([]);
  });
});
