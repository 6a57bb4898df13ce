import * as v from "valibot";

const uuid = v.pipe(v.string(), v.uuid(), v.toLowerCase());
const scalar = v.union([v.number(), v.boolean()]);
const value = v.union([
  v.number(),
  v.boolean(),
  v.pipe(v.string(), v.maxLength(100_000)),
  v.record(v.string(), v.unknown()),
]);
const time = v.union([v.number(), v.string()]);
const source = v.looseObject({
  type: v.optional(v.pipe(v.string(), v.maxLength(60)), "api"),
  metadata: v.nullish(v.record(v.string(), v.unknown())),
  user_id: v.nullish(v.string()),
});

const body = {
  score: v.nullish(scalar),
  value: v.nullish(value),
  comment: v.nullish(v.pipe(v.string(), v.maxLength(100_000))),
  correction: v.nullish(v.union([v.record(v.string(), v.unknown()), v.string()])),
  error: v.nullish(v.boolean()),
  feedback_config: v.nullish(v.record(v.string(), v.unknown())),
};

export const CreateFeedback = v.looseObject({
  ...body,
  id: v.optional(uuid),
  key: v.pipe(v.string(), v.minLength(1), v.maxLength(180)),
  run_id: v.nullish(uuid),
  trace_id: v.nullish(uuid),
  session_id: v.nullish(uuid),
  /** The run's start time, which tells its partition. */
  start_time: v.nullish(time),
  created_at: v.nullish(time),
  feedback_source: v.nullish(source),
  feedback_group_id: v.nullish(uuid),
  comparative_experiment_id: v.nullish(uuid),
  extra: v.nullish(v.record(v.string(), v.unknown())),
});

export const UpdateFeedback = v.looseObject(body);

const many = <S extends v.GenericSchema>(item: S) =>
  v.optional(
    v.pipe(
      v.unknown(),
      v.transform((given) => (Array.isArray(given) ? given : [given])),
      v.array(item),
      v.maxLength(100),
    ),
  );
const flag = v.optional(
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
);
const integer = (min: number, max: number, fallback: number) =>
  v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number), v.minValue(min), v.maxValue(max)),
    String(fallback),
  );

export const ListFeedback = v.object({
  run: many(uuid),
  session: many(uuid),
  key: many(v.string()),
  source: many(v.string()),
  has_comment: flag,
  has_score: flag,
  level: v.optional(v.picklist(["run", "session"])),
  limit: integer(1, 100, 100),
  offset: integer(0, 1_000_000, 0),
});

export const FeedbackId = v.object({ feedback_id: uuid });
