/** A deployment whose database, buckets and queues have other names than `wrangler.toml` gives them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type KillableServer, startKillable, withOtherNames } from "../support/server.ts";

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable({ EXPORTS_BUCKET_NAME: "acme-weir-exports" }, { config: withOtherNames("acme") });
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

async function waitUntil<T>(look: () => Promise<T>, isDone: (seen: T) => boolean): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const seen = await look();
    if (isDone(seen) || attempt === 300) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it("exports by its own queue into its own bucket", async () => {
  const start_time = "2026-01-01T10:00:00.000Z";
  const run = {
    id: crypto.randomUUID(),
    name: "r",
    run_type: "chain",
    session_name: "p",
    start_time,
    inputs: { a: 1 },
  };
  await call("/api/v1/runs/batch", { post: [run] });
  const [project] = await call<{ id: string }[]>("/api/v1/sessions?name=p");
  const destination = await call<{ id: string; config: object }>("/api/v1/bulk-exports/destinations", {
    destination_type: "r2",
    display_name: "here",
    config: {},
  });
  expect(destination.config).toMatchObject({ bucket_name: "acme-weir-exports" });
  const job = await call<{ id: string }>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: project?.id,
    start_time: "2026-01-01T00:00:00Z",
    end_time: "2026-01-02T00:00:00Z",
  });
  const look = () => call<{ status: string }>(`/api/v1/bulk-exports/${job.id}`);
  expect(await waitUntil(look, ({ status }) => !["CREATED", "RUNNING"].includes(status))).toMatchObject({
    status: "COMPLETED",
    progress: { rows_written: 1 },
  });
  const [done] = await call<{ metadata: { result: { exported_files: string[] } } }[]>(
    `/api/v1/bulk-exports/${job.id}/runs`,
  );
  expect(done?.metadata.result.exported_files[0]).toMatch(/^acme-weir-exports\//);
});

it("starts runs of crons by its own queue", async () => {
  const metadata = { from: "the second deployment" };
  await call("/runs/crons", {
    assistant_id: "echo",
    schedule: "* * * * *",
    input: { messages: [{ role: "user", content: "hi" }] },
    metadata,
    on_run_completed: "keep",
  });
  await fetch(`${server.url}/cdn-cgi/handler/scheduled?time=${Date.now() + 120_000}`);
  const look = () => call<{ status: string }[]>("/threads/search", { metadata });
  const [thread] = await waitUntil(look, ([first]) => first?.status === "idle");
  expect(thread?.status).toBe("idle");
});
