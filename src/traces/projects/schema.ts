import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../lib/bytes.ts";
import { choosing, Flag, many, optional, pagingQuery, unread, unserved, Uuid } from "../../http/shapes.ts";
import { JsonFilter, JsonMembers } from "../../lib/json.ts";
import { Time } from "../time.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(500));
const extra = v.pipe(JsonMembers, maxBytes(METADATA_BYTES));
const tier = v.picklist(["longlived", "shortlived"]);

/** Own fields: null for the days of the tier. A project on hold keeps everything. */
const retention = {
  retention_days: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(36_500)))),
  legal_hold: optional(v.boolean()),
};

export const CreateProject = v.looseObject({
  id: optional(Uuid),
  name,
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  extra: optional(extra),
  metadata: optional(extra),
  reference_dataset_id: optional(Uuid),
  default_dataset_id: optional(Uuid),
  trace_tier: optional(tier),
  ...retention,
  start_time: optional(Time),
  end_time: optional(Time),
});

export const UpdateProject = v.looseObject({
  name: optional(name),
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  extra: optional(extra),
  default_dataset_id: optional(Uuid),
  trace_tier: optional(tier),
  ...retention,
  end_time: optional(Time),
});

export const ListProjects = choosing({
  id: many(Uuid),
  name: v.optional(v.string()),
  name_contains: v.optional(v.string()),
  reference_dataset: many(Uuid),
  reference_free: v.optional(Flag),
  metadata: v.optional(v.pipe(v.string(), v.parseJson(undefined, "expected a JSON object"), JsonFilter)),
  sort_by: v.optional(v.picklist(["name", "start_time", "last_run_start_time"]), "start_time"),
  sort_by_desc: v.optional(Flag, "true"),
  include_stats: v.optional(Flag, "false"),
  stats_start_time: v.optional(Time),
  stats_select: unread,
  use_approx_stats: unread,
  facets: unread,
  dataset_version: unserved("lists of experiments by version of their dataset"),
  filter: unserved("filters of projects. Send name_contains or metadata"),
  stats_filter: unserved("filters of a project's statistics. Send them to /runs/stats"),
  tag_value_id: unserved("tags of projects"),
  sort_by_feedback_key: unserved("projects in the order of their feedback"),
  sort_by_feedback_source: unserved("projects in the order of their feedback"),
  ...pagingQuery(100),
});

export const ReadProject = v.object({ include_stats: v.optional(Flag, "false"), stats_start_time: v.optional(Time) });
/** The address of a project: experiments have one by their id. */
export const ResolveProject = choosing({
  kind: v.pipe(v.string(), v.toUpperCase(), v.picklist(["EXPERIMENT", "AGENT", "EVALUATOR"])),
  id: v.optional(v.string()),
  environment: v.optional(v.string()),
});

export const ProjectId = v.object({ session_id: Uuid });
export const DeleteProjects = choosing({ session_ids: many(Uuid) });
