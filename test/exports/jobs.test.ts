import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { database } from "../../src/db/client.ts";
import { bulkExports } from "../../src/exports/table.ts";
import { TRANSITIONS, cancelExport } from "../../src/exports/store.ts";
import { type Caller, newCaller } from "../support/caller.ts";

const PATH = "/api/v1/bulk-exports";
type Json = Record<string, unknown>;

let caller: Caller;
let destination: string;
let project: string;

beforeEach(async () => {
  caller = await newCaller();
  destination = await createOne(caller, `${PATH}/destinations`, {
    destination_type: "r2",
    display_name: "d",
    config: {},
  });
  project = await createOne(caller, "/api/v1/sessions", { name: "p" });
});

async function createOne(by: Caller, path: string, body: Json): Promise<string> {
  const response = await by.fetch(path, { body });
  const { id } = await response.json<{ id: string }>();
  return id;
}

const job = (change: Json = {}): Json => ({
  bulk_export_destination_id: destination,
  session_id: project,
  start_time: "2026-01-01T00:00:00Z",
  end_time: "2026-01-03T00:00:00+00:00",
  ...change,
});

/** A schedule: it waits, so nothing changes under the test's hands. */
const schedule = (change: Json = {}) =>
  job({ end_time: undefined, interval_hours: 24, start_time: "2090-01-01T00:00:00Z", ...change });

describe("an export job", () => {
  it("is answered whole, every member there", async () => {
    const response = await caller.fetch(PATH, {
      body: schedule({ filter: 'eq(run_type, "llm")', export_fields: ["id"] }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      id: expect.any(String),
      tenant_id: caller.workspaceId,
      bulk_export_destination_id: destination,
      session_id: project,
      all_experiments: false,
      start_time: "2090-01-01T00:00:00.000000Z",
      end_time: null,
      filter: 'eq(run_type, "llm")',
      format: "Parquet",
      format_version: "v2_beta",
      compression: "zstandard",
      interval_hours: 24,
      export_fields: ["id"],
      status: "CREATED",
      error: null,
      source_bulk_export_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      finished_at: null,
      progress: { rows_written: 0, bytes_written: 0, files_written: 0, runs_total: 0, runs_completed: 0, fraction: 0 },
      late_runs: null,
    });
  });

  it("runs to its end without a client, into the bound bucket", async () => {
    const id = await createOne(caller, PATH, job({ format_version: "v2_beta" }));
    const read = async () => (await caller.fetch(`${PATH}/${id}`)).json<Json>();
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe("COMPLETED");
    expect(await read()).toMatchObject({ progress: { runs_total: 2, runs_completed: 2, fraction: 1 } });
    const runs = await (await caller.fetch(`${PATH}/${id}/runs`)).json<Json[]>();
    expect(runs).toMatchObject([
      {
        bulk_export_id: id,
        session_id: project,
        status: "COMPLETED",
        retry_number: 0,
        errors: null,
        start_time: "2026-01-01T00:00:00.000000Z",
        end_time: "2026-01-02T00:00:00.000000Z",
        metadata: { result: { rows_written: 0, exported_files: [], pending_upload: null } },
      },
      { start_time: "2026-01-02T00:00:00.000000Z", end_time: "2026-01-03T00:00:00.000000Z" },
    ]);
    const one = await (await caller.fetch(`${PATH}/${id}/runs/${String(runs[0]?.id)}`)).json();
    expect(one).toEqual(runs[0]);
    expect(await env.EXPORTS_BUCKET.head(`export_id=${id}/_manifest.json`)).not.toBeNull();
    const cancelled = await caller.fetch(`${PATH}/${id}`, { method: "PATCH", body: { status: "Cancelled" } });
    expect(cancelled.status).toBe(409);
  });

  it("is listed newest first, in pages", async () => {
    const ids = [];
    for (let n = 0; n < 3; n++) ids.unshift(await createOne(caller, PATH, schedule()));
    const first = await caller.fetch(`${PATH}?limit=2`);
    const listed = [
      ...(await first.json<Json[]>()),
      ...(await (await caller.fetch(`${PATH}?offset=2`)).json<Json[]>()),
    ];
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(ids));
    expect(first.headers.get("x-pagination-next")).toBe("2");
  });

  it.for(["Cancelled", "CANCELLED", "canceled"])("is cancelled by %s, once and for all", async (status) => {
    const id = await createOne(caller, PATH, schedule());
    for (let n = 0; n < 2; n++) {
      const response = await caller.fetch(`${PATH}/${id}`, { method: "PATCH", body: { status } });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ status: "CANCELLED", finished_at: expect.any(String) });
    }
  });

  it("never leaves a final state", async () => {
    const id = await createOne(caller, PATH, schedule());
    const db = database(env.DB);
    for (const status of ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"] as const) {
      expect(TRANSITIONS[status]).toEqual([]);
      await db.update(bulkExports).set({ status });
      expect(await cancelExport(db, id, Date.now())).toBe(false);
    }
  });

  it("is made once for one Idempotency-Key", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const first = await (await caller.fetch(PATH, { body: schedule(), headers })).json<Json>();
    const again = await (await caller.fetch(PATH, { body: schedule(), headers })).json<Json>();
    expect(again.id).toBe(first.id);
    expect(await (await caller.fetch(PATH)).json<Json[]>()).toHaveLength(1);
    expect((await caller.fetch(PATH, { body: schedule({ interval_hours: 3 }), headers })).status).toBe(422);
  });

  it("belongs to its workspace only", async () => {
    const other = await newCaller();
    const id = await createOne(caller, PATH, schedule());
    const unknown = crypto.randomUUID();
    for (const of of [`${PATH}/`, `${PATH}/runs?source_bulk_export_id=`]) {
      const theirs = await other.fetch(of + id);
      expect(theirs.status).toBe(404);
      expect(await theirs.text()).toBe(await (await other.fetch(of + unknown)).text());
    }
    for (const rest of ["/runs", `/runs/${unknown}`]) {
      expect((await other.fetch(`${PATH}/${id}${rest}`)).status).toBe(404);
    }
    const cancel = { method: "PATCH", body: { status: "CANCELLED" } };
    expect((await other.fetch(`${PATH}/${id}`, cancel)).status).toBe(404);
    expect(await (await other.fetch(PATH)).json()).toEqual([]);
    // Neither their destination nor their project can be used.
    const own = await createOne(other, `${PATH}/destinations`, {
      destination_type: "r2",
      display_name: "d",
      config: {},
    });
    expect((await other.fetch(PATH, { body: schedule() })).status).toBe(404);
    expect((await other.fetch(PATH, { body: schedule({ bulk_export_destination_id: own }) })).status).toBe(404);
  });

  it("waits for its turn when the workspace has made too many", async () => {
    const id = await createOne(caller, PATH, schedule());
    const db = database(env.DB);
    const [row] = await db.select().from(bulkExports).where(eq(bulkExports.id, id));
    if (!row) throw new Error("the export has no row");
    for (let n = 0; n < 249; n++) {
      await db.insert(bulkExports).values({ ...row, id: crypto.randomUUID(), status: "COMPLETED" });
    }
    const headers = { "idempotency-key": "k" };
    const refused = await caller.fetch(PATH, { body: schedule(), headers });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("600");
    // An answer that says when to repeat the request is not kept under its key.
    await db.delete(bulkExports).where(eq(bulkExports.status, "COMPLETED"));
    expect((await caller.fetch(PATH, { body: schedule(), headers })).status).toBe(200);
  });
});
