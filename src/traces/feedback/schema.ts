import * as v from "valibot";
import { microsFromIso } from "../time.ts";

/** Python leaves the zone out, and means UTC. */
const isTime = (text: string) => microsFromIso(text) !== undefined;

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

const key = v.pipe(v.string(), v.minLength(1), v.maxLength(180));

export const CreateFeedback = v.looseObject({
  ...body,
  id: v.optional(uuid),
  key,
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

/** Milliseconds. */
const moment = v.optional(
  v.pipe(
    v.string(),
    v.check(isTime, "must be a time in ISO 8601"),
    v.transform((text) => (microsFromIso(text) ?? 0) / 1000),
  ),
);

export const ListFeedback = v.object({
  run: many(uuid),
  session: many(uuid),
  key: many(v.string()),
  source: many(v.string()),
  has_comment: flag,
  has_score: flag,
  level: v.optional(v.picklist(["run", "session"])),
  min_created_at: moment,
  max_created_at: moment,
  limit: integer(1, 100, 100),
  offset: integer(0, 1_000_000, 0),
});

export const FeedbackId = v.object({ feedback_id: uuid });

const label = v.pipe(v.string(), v.maxLength(200));
export const Config = v.pipe(
  v.object({
    type: v.picklist(["continuous", "categorical", "freeform"]),
    min: v.nullish(v.number()),
    max: v.nullish(v.number()),
    categories: v.nullish(v.pipe(v.array(v.object({ value: v.number(), label: v.nullish(label) })), v.maxLength(100))),
  }),
  v.check(({ min, max }) => (min ?? -Infinity) <= (max ?? Infinity), "min must not be greater than max"),
  v.check(
    ({ type, categories }) => type !== "categorical" || (categories?.length ?? 0) > 0,
    "categorical feedback needs categories",
  ),
);

export const CreateConfig = v.object({
  feedback_key: key,
  feedback_config: Config,
  is_lower_score_better: v.nullish(v.boolean(), false),
});
export const UpdateConfig = v.object({
  feedback_key: key,
  feedback_config: v.nullish(Config),
  is_lower_score_better: v.optional(v.nullable(v.boolean())),
});
export const ConfigKey = v.object({ feedback_key: key });
export const ListConfigs = v.object({
  key: many(v.string()),
  name_contains: v.optional(v.pipe(v.string(), v.maxLength(180))),
  limit: integer(1, 100, 100),
  offset: integer(0, 1_000_000, 0),
});

const count = v.optional(v.pipe(v.number(), v.minValue(0)), 0);
const CreateToken = v.pipe(
  v.object({
    run_id: uuid,
    feedback_key: key,
    feedback_config: v.nullish(Config),
    expires_in: v.nullish(v.object({ days: count, hours: count, minutes: count })),
    expires_at: v.nullish(v.pipe(v.string(), v.check(isTime, "must be a time in ISO 8601"))),
  }),
  v.check(
    ({ expires_in, expires_at }) => expires_in == null || expires_at == null,
    "give either expires_in or expires_at",
  ),
);
export type CreateToken = v.InferOutput<typeof CreateToken>;
/** One, or a list of them. */
export const CreateTokens = v.union([CreateToken, v.pipe(v.array(CreateToken), v.minLength(1), v.maxLength(50))]);
export const ListTokens = v.object({ run_id: uuid, limit: integer(1, 100, 100), offset: integer(0, 1_000_000, 0) });
export const TokenParam = v.object({ token: uuid });

/** What the holder of a link gives. */
export const Given = v.object({
  score: body.score,
  value: body.value,
  comment: body.comment,
  correction: body.correction,
  metadata: v.nullish(v.record(v.string(), v.unknown())),
});
export type Given = v.InferOutput<typeof Given>;

/** An empty field of a form says nothing. */
const word = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(10_000),
    v.transform((text) => text || undefined),
  ),
);
const scoreText = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^(true|false|[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?$/i, "must be a number, true or false"),
    v.transform((text) => (text === "" ? undefined : /^[tf]/i.test(text) ? /^t/i.test(text) : Number(text))),
  ),
);
export const GivenInQuery = v.object({ score: scoreText, value: word, comment: word, correction: word });
