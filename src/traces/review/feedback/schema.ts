import * as v from "valibot";
import { choosing, Flag, many, optional, pagingQuery, unread, unserved, Uuid } from "../../../http/shapes.ts";
import { JsonMembers } from "../../../lib/json.ts";
import { Time } from "../../time.ts";

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
  metadata: v.nullish(JsonMembers),
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
  id: v.optional(Uuid),
  key,
  run_id: v.nullish(Uuid),
  trace_id: v.nullish(Uuid),
  session_id: v.nullish(Uuid),
  /** The run's start time, which determines its partition. */
  start_time: v.nullish(time),
  created_at: v.nullish(time),
  feedback_source: v.nullish(source),
  feedback_group_id: v.nullish(Uuid),
  comparative_experiment_id: v.nullish(Uuid),
  extra: v.nullish(v.record(v.string(), v.unknown())),
});

export const UpdateFeedback = v.looseObject(body);

/** Milliseconds. */
const moment = v.optional(
  v.pipe(
    Time,
    v.transform((micros) => micros / 1000),
  ),
);

export const ListFeedback = choosing({
  run: many(Uuid),
  session: many(Uuid),
  key: many(v.string()),
  source: many(v.string()),
  user: many(v.string()),
  has_comment: v.optional(Flag),
  has_score: v.optional(Flag),
  level: v.optional(v.picklist(["run", "session"])),
  min_created_at: moment,
  max_created_at: moment,
  include_user_names: unread,
  comparative_experiment_id: unserved("feedback of one comparison"),
  ...pagingQuery(100),
});

export const FeedbackId = v.object({ feedback_id: Uuid });

const label = v.pipe(v.string(), v.maxLength(200));
const Category = v.object({ value: v.number(), label: v.nullish(label) });
const Config = v.pipe(
  v.object({
    type: v.picklist(["continuous", "categorical", "freeform"]),
    min: v.nullish(v.number()),
    max: v.nullish(v.number()),
    categories: v.nullish(v.pipe(v.array(Category), v.maxLength(100))),
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
  add_categories: optional(v.pipe(v.array(Category), v.maxLength(100))),
  /** Their values. */
  remove_categories: optional(v.pipe(v.array(v.number()), v.maxLength(100))),
});
export const ConfigKey = choosing({ feedback_key: key });
export const ListConfigs = choosing({
  key: many(v.string()),
  name_contains: v.optional(v.pipe(v.string(), v.maxLength(180))),
  // A key has one config.
  include_all_configs: unread,
  is_enforced: unserved("configs that are not enforced. Leave is_enforced out"),
  ...pagingQuery(100),
});

const count = v.optional(v.pipe(v.number(), v.minValue(0)), 0);
const CreateToken = v.pipe(
  v.object({
    run_id: Uuid,
    feedback_key: key,
    feedback_config: v.nullish(Config),
    expires_in: v.nullish(v.object({ days: count, hours: count, minutes: count })),
    expires_at: v.nullish(Time),
  }),
  v.check(
    ({ expires_in, expires_at }) => expires_in == null || expires_at == null,
    "give either expires_in or expires_at",
  ),
);
export type CreateToken = v.InferOutput<typeof CreateToken>;
/** One, or a list of them. */
export const CreateTokens = v.union([CreateToken, v.pipe(v.array(CreateToken), v.minLength(1), v.maxLength(50))]);
export const ListTokens = choosing({ run_id: Uuid, ...pagingQuery(100) });
export const TokenParam = v.object({ token: Uuid });

/** What the holder of a link gives. */
export const TokenFeedback = v.object({
  score: body.score,
  value: body.value,
  comment: body.comment,
  correction: body.correction,
  metadata: v.nullish(JsonMembers),
});
export type TokenFeedback = v.InferOutput<typeof TokenFeedback>;

const word = v.optional(v.pipe(v.string(), v.maxLength(10_000)));
const scoreText = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^(true|false|[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/i, "must be a number, true or false"),
    v.transform((text) => (/^[tf]/i.test(text) ? /^t/i.test(text) : Number(text))),
  ),
);
export const TokenFeedbackQuery = v.object({ score: scoreText, value: word, comment: word, correction: word });
