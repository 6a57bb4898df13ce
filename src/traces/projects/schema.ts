import * as v from "valibot";
import { Flag, optional } from "../../http/fields.ts";
import { JsonObject } from "../../http/json.ts";
import { Time, Uuid } from "../query/schema.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(500));
const extra = v.record(v.string(), v.unknown());
const tier = v.picklist(["longlived", "shortlived"]);

export const CreateProject = v.looseObject({
  id: optional(Uuid),
  name,
  description: optional(v.pipe(v.string(), v.maxLength(10_000))),
  extra: optional(extra),
  metadata: optional(extra),
  reference_dataset_id: optional(Uuid),
  default_dataset_id: optional(Uuid),
  trace_tier: optional(tier),
  start_time: optional(Time),
  end_time: optional(Time),
});

export const UpdateProject = v.looseObject({
  name: optional(name),
  description: optional(v.pipe(v.string(), v.maxLength(10_000))),
  extra: optional(extra),
  default_dataset_id: optional(Uuid),
  trace_tier: optional(tier),
  end_time: optional(Time),
});

const many = v.optional(
  v.pipe(
    v.unknown(),
    v.transform((given) => (Array.isArray(given) ? given : [given])),
    v.array(Uuid),
    v.maxLength(90),
  ),
);
const integer = (min: number, max: number, fallback: number) =>
  v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, "expected a whole number"),
      v.transform(Number),
      v.minValue(min),
      v.maxValue(max),
    ),
    String(fallback),
  );

export const ListProjects = v.object({
  id: many,
  name: v.optional(v.string()),
  name_contains: v.optional(v.string()),
  reference_dataset: many,
  reference_free: v.optional(Flag),
  metadata: v.optional(v.pipe(v.string(), v.parseJson(undefined, "expected a JSON object"), JsonObject)),
  sort_by: v.optional(v.picklist(["name", "start_time", "last_run_start_time"]), "start_time"),
  sort_by_desc: v.optional(Flag, "true"),
  include_stats: v.optional(Flag, "false"),
  stats_start_time: v.optional(Time),
  limit: integer(1, 100, 100),
  offset: integer(0, 1_000_000, 0),
});

export const ReadProject = v.object({ include_stats: v.optional(Flag, "false"), stats_start_time: v.optional(Time) });
export const ProjectId = v.object({ session_id: Uuid });
export const DeleteProjects = v.object({ session_ids: many });
