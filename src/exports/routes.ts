/** Export jobs and their runs: `/api/v1/bulk-exports`. */
import * as v from "valibot";
import { Hono } from "hono";
import { audit } from "../access/audit/record.ts";
import { database } from "../db/client.ts";
import { createDoc } from "../http/route.ts";
import { cutPage } from "../http/shapes.ts";
import { Problem } from "../lib/problem.ts";
import { type App, newOrEarlier } from "../http/context.ts";
import { body, param, query } from "../http/validate.ts";
import { createExport } from "./create.ts";
import { type ExportDeps, createExportDeps } from "./deps.ts";
import { destinations, requirePlan, requireScope } from "./destinations/routes.ts";
import { startNext } from "./finish.ts";
import { CreateExport, ExportId, ExportRunId, Paging, PatchExport, SpawnedQuery } from "./schema.ts";
import { Export, ExportRun, toWireExport, toWireRun } from "./row.ts";
import {
  type ExportRow,
  NO_PROGRESS,
  cancelExport,
  findExport,
  findExportRun,
  listExportRuns,
  listExports,
  listSpawnedRuns,
  readProgress,
} from "./store.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { changedWindows } from "./ledger/jobs.ts";

const doc = createDoc("Bulk export");

/** The export of this id in the caller's workspace, or 404. */
async function requireExport(
  c: { env: Env; get(name: "principal"): { workspaceId: string } },
  id: string,
): Promise<ExportRow> {
  const row = await findExport(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Export not found.");
  return row;
}

async function toWireWithProgress(env: Env, row: ExportRow) {
  const progress = await readProgress(database(env.DB), [row.id]);
  return toWireExport(row, progress.get(row.id) ?? NO_PROGRESS, await countLate(createExportDeps(env), row));
}

export const bulkExports = new Hono<App>()
  .use(requireScope)
  .route("/destinations", destinations)
  .post(
    "/",
    doc("Create an export, or with interval_hours a schedule of exports", Export),
    requirePlan,
    body(CreateExport),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const deps = createExportDeps(c.env);
      const { id, earlier } = await newOrEarlier(c, (one) => findExport(deps.db, workspaceId, one));
      const row = earlier ?? (await createExport(deps, workspaceId, c.req.valid("json"), id));
      const detail = { destination_id: row.destinationId };
      await audit(c, { action: "export.created", targetId: row.id, detail });
      return c.json(await toWireWithProgress(c.env, row));
    },
  )
  .get("/", doc("List exports, newest first", v.array(Export)), query(Paging), async (c) => {
    const { limit, offset } = c.req.valid("query");
    const db = database(c.env.DB);
    const rows = await listExports(db, c.get("principal").workspaceId, { limit: limit + 1, offset });
    const { items, headers } = cutPage(rows, limit, offset);
    const progress = await readProgress(
      db,
      items.map(({ id }) => id),
    );
    return c.json(
      items.map((row) => toWireExport(row, progress.get(row.id) ?? NO_PROGRESS)),
      200,
      headers,
    );
  })
  .get(
    "/runs",
    doc("List the runs of every export that a schedule has spawned", v.array(ExportRun)),
    query(SpawnedQuery),
    async (c) => {
      const { limit, offset, source_bulk_export_id } = c.req.valid("query");
      const schedule = await requireExport(c, source_bulk_export_id);
      const rows = await listSpawnedRuns(database(c.env.DB), schedule.id, { limit: limit + 1, offset });
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(items.map(toWireRun), 200, headers);
    },
  )
  .get("/:id", doc("Get an export and its progress", Export), param(ExportId), async (c) =>
    c.json(await toWireWithProgress(c.env, await requireExport(c, c.req.valid("param").id))),
  )
  .patch(
    "/:id",
    doc("Cancel an export or a schedule; exports that it has started continue", Export),
    param(ExportId),
    body(PatchExport),
    async (c) => {
      const row = await requireExport(c, c.req.valid("param").id);
      const deps = createExportDeps(c.env);
      const cancelled = await cancelExport(deps.db, row.id, deps.now());
      const after = await requireExport(c, row.id);
      if (!cancelled && after.status !== "CANCELLED") {
        throw new Problem(409, `The export has ended as ${after.status} and cannot be cancelled.`);
      }
      if (cancelled) await audit(c, { action: "export.cancelled", targetId: row.id });
      await startNext(deps, row.workspaceId);
      return c.json(await toWireWithProgress(c.env, after));
    },
  )
  .get(
    "/:id/runs",
    doc("List the runs of an export: one for each project and UTC day", v.array(ExportRun)),
    param(ExportId),
    query(Paging),
    async (c) => {
      const { limit, offset } = c.req.valid("query");
      const row = await requireExport(c, c.req.valid("param").id);
      const rows = await listExportRuns(database(c.env.DB), row.id, { limit: limit + 1, offset });
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(items.map(toWireRun), 200, headers);
    },
  )
  .get("/:id/runs/:run_id", doc("Get a run of an export", ExportRun), param(ExportRunId), async (c) => {
    const { id, run_id } = c.req.valid("param");
    const row = await findExportRun(database(c.env.DB), (await requireExport(c, id)).id, run_id);
    if (!row) throw new Problem(404, "Export run not found.");
    return c.json(toWireRun(row));
  });

/** Null for a schedule and for an export that is not complete. Partitions are counted up to 2 seconds ago. */
async function countLate(deps: ExportDeps, job: ExportRow): Promise<number | null> {
  if (job.status !== "COMPLETED") return null;
  const windows = await changedWindows(deps.db, job.id);
  const counts = await inParallel(windows, CONNECTIONS, (window) =>
    deps.partition(job.workspaceId, window).countChanged({ ...window, filter: job.filter }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
