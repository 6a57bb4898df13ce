/** Tracing projects: `/sessions`. */
import { AnyObject, Count, Id, ResultMessage, Time } from "../../http/shapes.ts";
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { CHANGED, isTaken, untilUnchanged } from "../../db/writes.ts";
import { METADATA_BYTES, withinBytes } from "../../lib/bytes.ts";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { isUuid } from "../../lib/uuid.ts";
import { body, param, query } from "../../http/validate.ts";
import { sessionFeedbackStats } from "../review/feedback/sums.ts";
import { type QueryBudget, newQueryBudget, projectStats, RunStats } from "../query/stats.ts";
import type { RunSelection } from "../rpc.ts";
import { lastRunTime } from "./partitions.ts";
import {
  findProject,
  findProjectByName,
  insertProject,
  listProjects,
  type ProjectRow,
  updateProject,
} from "./store.ts";
import { type DeletionHooks, destroyProjects } from "../delete.ts";
import { checkExpiry, refuseLegalHold } from "./retention.ts";
import { forgetProjects, newProject } from "./resolve.ts";
import {
  CreateProject,
  DeleteProjects,
  ListProjects,
  ProjectId,
  ReadProject,
  ResolveProject,
  UpdateProject,
} from "./schema.ts";

const doc = createDoc("Projects");

const text = v.nullable(v.string());
const time = v.nullable(Time);
/** With `include_stats`, and `run_count` of an experiment always. */
const Stats = v.partial(
  v.object({
    ...RunStats.entries,
    stats_complete: v.boolean(),
  }),
);
const Project = v.pipe(
  v.object({
    ...Stats.entries,
    id: Id,
    tenant_id: v.string(),
    name: v.string(),
    description: text,
    start_time: Time,
    end_time: time,
    extra: AnyObject,
    default_dataset_id: text,
    reference_dataset_id: text,
    trace_tier: v.picklist(["longlived", "shortlived"]),
    retention_days: v.nullable(Count),
    legal_hold: v.boolean(),
    last_run_start_time: time,
    last_run_start_time_live: time,
    test_run_number: v.null(),
  }),
  v.title("Project"),
);

/** `hooks`: what other folders do when a request deletes projects. */
export const projects = ({ onProjectDeleted, isListed }: DeletionHooks) =>
  new Hono<App>()
    .post("/sessions", doc("Create a project", Project), body(CreateProject), async (c) => {
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const given = c.req.valid("json");
      const { name, metadata, extra = {}, start_time, end_time } = given;
      const row = newProject(workspaceId, name, {
        ...(given.id === undefined ? {} : { id: given.id }),
        ...(given.trace_tier === undefined ? {} : { traceTier: given.trace_tier }),
        retentionDays: given.retention_days ?? null,
        legalHold: given.legal_hold ?? false,
        ...(start_time === undefined ? {} : { startTime: Math.floor(start_time / 1000) }),
        description: given.description ?? null,
        extra: mergeExtra(extra, metadata && { metadata }),
        referenceDatasetId: given.reference_dataset_id ?? null,
        defaultDatasetId: given.default_dataset_id ?? null,
        endTime: end_time === undefined ? null : Math.floor(end_time / 1000),
      });
      const made = await insertProject(db, row);
      if (made) return c.json(await toWire(c, made), 200);
      const find = async () => {
        const existing = await findProjectByName(db, workspaceId, name);
        if (existing && c.req.query("upsert") === "true") return existing;
        throw new Problem(409, "A project with this name or id exists.");
      };
      const changes = {
        description: given.description ?? undefined,
        retentionDays: given.retention_days,
        legalHold: given.legal_hold,
      };
      const { id } = await find();
      await audit(c, { action: "project.updated", targetId: id, detail: auditDetails(given) });
      return c.json(await toWire(c, await change(c, find, row.extra, changes)));
    })
    .get("/sessions", doc("List projects", v.array(Project)), query(ListProjects), async (c) => {
      const wanted = c.req.valid("query");
      const rows = await listProjects(database(c.env.DB), c.get("principal").workspaceId, wanted);
      const named = wanted.name !== undefined;
      const stats = wanted.include_stats ? { startTime: wanted.stats_start_time, budget: newQueryBudget() } : undefined;
      const items = await Promise.all(rows.map((row) => (named ? toWireOne : toWire)(c, row, stats)));
      return c.json(items, 200, { "x-pagination-total": String(wanted.offset + rows.length) });
    })
    .get(
      "/sessions/resolutions",
      doc("The project that an address names", v.object({ session_id: Id })),
      query(ResolveProject),
      async (c) => {
        const { kind, id = "" } = c.req.valid("query");
        if (kind !== "EXPERIMENT") throw new Problem(501, "Weir does not serve addresses of agents and evaluators.");
        const project = isUuid(id)
          ? await findProject(database(c.env.DB), c.get("principal").workspaceId, id)
          : undefined;
        if (!project?.referenceDatasetId) throw new Problem(404, "There is no experiment with this id.");
        return c.json({ session_id: project.id });
      },
    )
    .get("/sessions/:session_id", doc("Read a project", Project), param(ProjectId), query(ReadProject), async (c) => {
      const { include_stats, stats_start_time: startTime } = c.req.valid("query");
      const row = await existingProject(c, c.req.valid("param").session_id);
      return c.json(await toWireOne(c, row, include_stats ? { startTime, budget: newQueryBudget() } : undefined));
    })
    .patch(
      "/sessions/:session_id",
      doc("Change a project", Project),
      param(ProjectId),
      body(UpdateProject),
      async (c) => {
        const given = c.req.valid("json");
        const { name, description, extra, default_dataset_id, trace_tier, end_time } = given;
        const find = () => existingProject(c, c.req.valid("param").session_id);
        const { id: targetId } = await find();
        await audit(c, { action: "project.updated", targetId, detail: auditDetails(given) });
        const changed = await change(c, find, extra, {
          name,
          description,
          defaultDatasetId: default_dataset_id,
          traceTier: trace_tier,
          retentionDays: given.retention_days,
          legalHold: given.legal_hold,
          endTime: end_time === undefined ? undefined : Math.floor(end_time / 1000),
        });
        return c.json(await toWire(c, changed));
      },
    )
    .delete(
      "/sessions/:session_id",
      doc("Delete a project with its traces", ResultMessage),
      param(ProjectId),
      async (c) => {
        const { workspaceId, id, name, legalHold } = await existingProject(c, c.req.valid("param").session_id);
        refuseLegalHold(legalHold);
        await audit(c, { action: "project.deleted", targetId: id, detail: { name } });
        await destroyProjects(c.env, workspaceId, [id], onProjectDeleted, undefined, isListed);
        return c.json({ message: "Project deleted" });
      },
    )
    .delete("/sessions", doc("Delete projects with their traces", ResultMessage), query(DeleteProjects), async (c) => {
      const ids = c.req.valid("query").session_ids ?? [];
      const projects = await Promise.all(ids.map((id) => existingProject(c, id)));
      for (const { legalHold } of projects) refuseLegalHold(legalHold);
      for (const { id, name } of projects)
        await audit(c, { action: "project.deleted", targetId: id, detail: { name } });
      await destroyProjects(c.env, c.get("principal").workspaceId, ids, onProjectDeleted, undefined, isListed);
      return c.json({ message: "Projects deleted" });
    });

/** What of a change of a project decides how long traces are kept, and the names of everything that changes. */
function auditDetails(given: { retention_days?: unknown; legal_hold?: unknown; trace_tier?: unknown }) {
  const { retention_days, legal_hold, trace_tier } = given;
  return { fields: Object.keys(given), retention_days, legal_hold, trace_tier };
}

/** Merges changes into a project's `extra`. 422 when the result is too large. */
function mergeExtra(extra: ProjectRow["extra"], changes: ProjectRow["extra"] | undefined): ProjectRow["extra"] {
  return withinBytes({ ...extra, ...changes }, METADATA_BYTES, "extra, with metadata and what is stored,");
}

/**
 * Changes a project and merges `extra` into what it has. Its partitions compare their age with a retention that can be
 * shorter now. `find` reads the project, and throws when there is none.
 */
async function change(
  c: Context<App>,
  find: () => Promise<ProjectRow>,
  extra: ProjectRow["extra"] | undefined,
  changes: Partial<Omit<ProjectRow, "extra">>,
): Promise<ProjectRow> {
  const db = database(c.env.DB);
  const changed = await untilUnchanged(async () => {
    const row = await find();
    const merged = extra && mergeExtra(row.extra, extra);
    return (await updateProject(db, row, { ...changes, extra: merged })) ?? CHANGED;
  }).catch((error: unknown) => {
    throw isTaken(error) ? new Problem(409, "A project with this name exists.") : error;
  });
  forgetProjects();
  if (changes.traceTier !== undefined || changes.retentionDays !== undefined || changes.legalHold === false)
    await checkExpiry(c.env, changed);
  return changed;
}

async function existingProject(c: Context<App>, id: string): Promise<ProjectRow> {
  const row = await findProject(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Project not found.");
  return row;
}

interface StatsChoice {
  /** Microseconds. */
  startTime: number | undefined;
  /** For all projects of the answer. */
  budget: QueryBudget;
}

/** A project as the platform calls it: a tracer session. */
async function toWire(c: Context<App>, row: ProjectRow, wanted?: StatsChoice) {
  const last = await lastRunTime(database(c.env.DB), row.workspaceId, row.id);
  const lastRun = last === null ? null : new Date(last).toISOString();
  const session = {
    id: row.id,
    tenant_id: row.workspaceId,
    name: row.name,
    description: row.description,
    start_time: new Date(row.startTime).toISOString(),
    end_time: row.endTime === null ? null : new Date(row.endTime).toISOString(),
    extra: row.extra,
    default_dataset_id: row.defaultDatasetId,
    reference_dataset_id: row.referenceDatasetId,
    trace_tier: row.traceTier,
    retention_days: row.retentionDays,
    legal_hold: row.legalHold,
    last_run_start_time: lastRun,
    last_run_start_time_live: lastRun,
    test_run_number: null,
  };
  if (!wanted) return session;
  const selection = { ...toCounted(row), startTime: wanted.startTime };
  const [{ complete: stats_complete, ...stats }, session_feedback_stats] = await Promise.all([
    projectStats(c.env, row.workspaceId, [row.id], selection, wanted.budget),
    sessionFeedbackStats(c.env, row.workspaceId, row.id),
  ]);
  return { ...session, ...stats, session_feedback_stats, stats_complete };
}

/**
 * A project that is read by its id or name. An experiment has its `run_count` also without statistics, because
 * `evaluateComparative` of the SDKs reads the project until it counts every run.
 */
async function toWireOne(c: Context<App>, row: ProjectRow, wanted?: StatsChoice) {
  const session = await toWire(c, row, wanted);
  if (wanted || row.referenceDatasetId === null) return session;
  const { run_count } = await projectStats(c.env, row.workspaceId, [row.id], toCounted(row));
  return { ...session, run_count };
}

/** An experiment counts one run an example: the root of its trace. */
function toCounted({ referenceDatasetId }: ProjectRow): RunSelection {
  return referenceDatasetId === null ? {} : { isRoot: true };
}
