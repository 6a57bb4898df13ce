/** An export whose server is killed with SIGKILL again and again: every row comes out once. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Bucket, localR2 } from "../support/object-stores.ts";
import { seeded } from "../support/random.ts";
import { makeRuns } from "../support/runs.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const DAYS = 3;
const ROWS_PER_DAY = 3_000;
const START = Date.parse("2026-01-01T00:00:00Z");
/** Longer than a lease, and than the wait for a message that got lost. */
const AWAY_MS = 300_000;

let server: KillableServer;
const sent = new Set<string>();

beforeAll(async () => {
  server = await startKillable({ ALLOW_PRIVATE_ADDRESSES: "true" });
  for (let batch = 0; batch < (DAYS * ROWS_PER_DAY) / 500; batch++) {
    const day = Math.floor((batch * 500) / ROWS_PER_DAY);
    const from = (START + day * 86_400_000) * 1000;
    const spread = 86_000_000_000;
    const runs = makeRuns({ tenantId: "", projectId: "", from, spread, count: 500, seed: batch, size: 4_000 });
    const post = runs.map((run) => ({
      id: run.id,
      name: run.name,
      run_type: run.run_type,
      start_time: new Date(run.start_time / 1000).toISOString(),
      inputs: JSON.parse(run.inputs ?? "{}"),
      session_name: "crash",
    }));
    for (const { id } of runs) sent.add(id);
    await call("/api/v1/runs/batch", { post, patch: [] });
  }
});
afterAll(() => server.stop());

async function call<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...server.headers, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json<T>();
}

/** Lets time pass for the ledger of a server that is down: leases run out, messages count as lost. */
function letTimePass(): void {
  const folder = join(server.persistTo, "v3", "d1", "miniflare-D1DatabaseObject");
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".sqlite"))) {
    // A killed process may hold its lock for a moment yet.
    const ledger = new DatabaseSync(join(folder, file), { timeout: 10_000 });
    const known = ledger.prepare("SELECT 1 FROM sqlite_master WHERE name = 'export_runs'").get();
    if (known) {
      ledger.exec(`UPDATE export_runs SET lease_until = lease_until - ${AWAY_MS}, sent_at = sent_at - ${AWAY_MS}`);
      ledger.exec(`UPDATE bulk_exports SET next_attempt_at = next_attempt_at - ${AWAY_MS}`);
    }
    ledger.close();
  }
}

it(`survives ${KILLS} kill(s)`, { timeout: 120_000 + KILLS * 40_000 }, async () => {
  const random = seeded("export crash");
  const [project] = await call<{ id: string }[]>("/api/v1/sessions?name=crash");
  const bucket = new Bucket(localR2(server.url));
  const { endpoint, bucket: bucket_name, accessKeyId, secretAccessKey } = bucket.server;
  const destination = await call<{ id: string }>("/api/v1/bulk-exports/destinations", {
    display_name: "crash",
    config: { bucket_name, endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  const { id } = await call<{ id: string }>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: project?.id,
    start_time: new Date(START).toISOString(),
    end_time: new Date(START + DAYS * 86_400_000).toISOString(),
    compression: "gzip",
  });
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, random.between(50, 900)));
    await server.kill();
    letTimePass();
    await server.restart();
    await fetch(`${server.url}/cdn-cgi/handler/scheduled`);
  }
  await expect
    .poll(async () => (await call<{ status: string }>(`/api/v1/bulk-exports/${id}`)).status, { timeout: 60_000 })
    .toBe("COMPLETED");
  const ids: string[] = [];
  const compressors = { GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)) };
  for (const key of (await bucket.list(`export_id=${id}/`)).filter((name) => name.endsWith(".parquet"))) {
    const file = (await bucket.get(key)).slice().buffer;
    const rows = await parquetReadObjects({ file, columns: ["id"], compressors });
    ids.push(...rows.map((row) => String(row.id)));
  }
  expect(ids.length).toBe(DAYS * ROWS_PER_DAY);
  expect(new Set(ids)).toEqual(sent);
});
