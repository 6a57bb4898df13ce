/** Creating an export: the checks that the schema cannot do. */
import { Problem } from "../lib/problem.ts";
import { checkFilters, requireReadable } from "../traces/partition/read/condition.ts";
import { findProject } from "../traces/projects/store.ts";
import type { ExportDeps } from "./deps.ts";
import { findDestination } from "./destinations/store.ts";
import { startNext } from "./finish.ts";
import type { CreateExportInput } from "./schema.ts";
import { countForQuota, type ExportRow, findExport, insertExport } from "./store.ts";

const HOUR = 3_600_000;

/**
 * Creates an export (or a schedule) and starts it when the workspace has room.
 * @throws Problem 404 for a destination or project that is not the workspace's, 400 for a filter, 429 for a quota.
 */
export async function createExport(
  deps: ExportDeps,
  workspaceId: string,
  input: CreateExportInput,
  id: string = deps.newId(),
): Promise<ExportRow> {
  checkFilters([input.filter]);
  await requireReadable(deps.keys, workspaceId, [input.filter]);
  const missing = new Problem(404, "Destination not found.");
  if (!(await findDestination(deps.db, workspaceId, input.bulk_export_destination_id))) throw missing;
  if (input.session_id !== undefined && !(await findProject(deps.db, workspaceId, input.session_id))) {
    throw new Problem(404, "Project not found: no project has this session_id.");
  }
  await checkQuota(deps, workspaceId, input.interval_hours !== undefined);
  const row = { ...newExportRow(deps, workspaceId, input), id };
  if (!(await insertExport(deps.db, row))) throw missing;
  if (row.intervalHours === null) await startNext(deps, workspaceId);
  return (await findExport(deps.db, workspaceId, row.id)) ?? row;
}

async function checkQuota({ db, limits, now }: ExportDeps, workspaceId: string, scheduled: boolean): Promise<void> {
  const { recent, schedules } = await countForQuota(db, workspaceId, now() - HOUR);
  if (recent >= limits.exportsPerHour) {
    throw new Problem(429, `A workspace may create ${limits.exportsPerHour} exports an hour. Try again later.`, {
      headers: { "retry-after": "600" },
    });
  }
  if (scheduled && schedules >= limits.schedules) {
    throw new Problem(429, `A workspace may have ${limits.schedules} active schedules. Cancel one first.`);
  }
}

function newExportRow({ now }: ExportDeps, workspaceId: string, input: CreateExportInput): Omit<ExportRow, "id"> {
  const at = now();
  return {
    workspaceId,
    destinationId: input.bulk_export_destination_id,
    sessionId: input.session_id ?? null,
    allExperiments: input.all_experiments ?? false,
    startTime: input.start_time,
    endTime: input.end_time ?? null,
    filter: input.filter ?? null,
    formatVersion: input.format_version ?? "v2_beta",
    compression: input.compression ?? "zstandard",
    intervalHours: input.interval_hours ?? null,
    exportFields: input.export_fields ?? null,
    status: "CREATED",
    error: null,
    sourceExportId: null,
    spawned: 0,
    plannedAt: null,
    retries: 0,
    nextAttemptAt: 0,
    startedAt: null,
    createdAt: at,
    updatedAt: at,
    finishedAt: null,
    deletionsBy: null,
  };
}
