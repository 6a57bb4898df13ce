/** A rule as the platform's clients send it (RunRulesCreateSchema of LangSmith's API). */
import * as v from "valibot";
import { ReceiverHeaders } from "../../deliveries/receiver.ts";
import { choosing, many, optional, pagingQuery, unread, unserved, Uuid } from "../../http/shapes.ts";
import { JsonMembers } from "../../lib/json.ts";
import { Time } from "../../traces/time.ts";
import { LOG_STATUS } from "./wire.ts";

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const filter = optional(text(10_000));
const address = v.pipe(v.string(), v.url("must be a URL"), v.maxLength(2_000));

const Webhook = v.object({ url: address, headers: optional(ReceiverHeaders) });

const temperature = optional(v.pipe(v.number(), v.minValue(0), v.maxValue(2)));
const model = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
/** A model, an assistant, or LangChain's serialized ChatOpenAI, as LangSmith's page saves it. */
const Model = v.union(
  [
    v.object({ provider: v.literal("workers-ai"), model, temperature }),
    v.object({
      provider: v.literal("openai"),
      model,
      temperature,
      base_url: optional(address),
      api_key: optional(text(500)),
    }),
    v.object({ provider: v.literal("assistant"), assistant_id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) }),
    v.looseObject({
      lc: v.number(),
      id: v.pipe(
        v.array(v.string()),
        v.check((id) => id.at(-1) === "ChatOpenAI", "only ChatOpenAI is known"),
      ),
      kwargs: v.looseObject({
        model: optional(model),
        model_name: optional(model),
        temperature,
        base_url: optional(address),
        openai_api_base: optional(address),
      }),
    }),
  ],
  'expected {"provider": "workers-ai", "model": …}, {"provider": "openai", "model": …} or {"provider": "assistant", "assistant_id": …}',
);

/** A role and a text. JSON Schema describes no tuple in the version of OpenAPI's. */
const Line = v.pipe(
  v.array(text(50_000)),
  v.length(2, "expected a role and a text"),
  v.transform(([role = "", content = ""]): [string, string] => [role, content]),
);

const Structured = v.object({
  prompt: v.pipe(v.array(Line), v.minLength(1), v.maxLength(20)),
  template_format: optional(v.picklist(["f-string", "mustache"])),
  schema: optional(JsonMembers),
  variable_mapping: optional(v.record(text(100), text(200))),
  model: optional(Model),
  hub_ref: unserved("prompts of a hub. Give the prompt itself"),
  playground_settings_id: unserved("model configurations. Give the model itself"),
});
export type Structured = v.InferOutput<typeof Structured>;

const off = (what: string) =>
  optional(
    v.pipe(
      v.boolean(),
      v.check((is) => !is, `Weir does not serve ${what}`),
    ),
  );

export const RuleBody = v.pipe(
  v.strictObject({
    display_name: name,
    session_id: optional(Uuid),
    dataset_id: unserved("rules on a dataset's experiments. Give session_id"),
    is_enabled: v.optional(v.boolean(), true),
    sampling_rate: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    filter,
    trace_filter: filter,
    tree_filter: filter,
    backfill_from: optional(Time),
    add_to_annotation_queue_id: optional(Uuid),
    add_to_dataset_id: optional(Uuid),
    add_to_dataset_prefer_correction: off("corrections as outputs"),
    evaluators: optional(v.pipe(v.array(v.object({ structured: Structured })), v.maxLength(5))),
    code_evaluators: optional(
      v.pipe(v.array(v.object({ code: text(100), language: optional(v.string()) })), v.maxLength(10)),
    ),
    webhooks: optional(v.pipe(v.array(Webhook), v.maxLength(5))),
    alerts: unserved("alerts of PagerDuty in rules. Use a webhook or an alert"),
    evaluator_id: unserved("evaluators apart from rules. Give evaluators or code_evaluators"),
    spend_limit: unserved("limits of spending of rules. Use a smaller sampling_rate"),
    group_by: unserved("rules on threads"),
    use_corrections_dataset: off("few-shot examples of corrections"),
    num_few_shot_examples: unread,
    extend_only: optional(v.boolean()),
    extend_evaluator_trace_retention: optional(v.boolean()),
    extend_dataset_trace_retention: optional(v.boolean()),
    extend_annotation_queue_trace_retention: optional(v.boolean()),
    extend_webhook_trace_retention: optional(v.boolean()),
    transient: off("transient rules"),
    create_alignment_queue: off("alignment queues"),
    include_extended_stats: unread,
    evaluator_version: unread,
    tracer_session_issue_id: unread,
  }),
  v.check(({ session_id }) => session_id !== undefined, "give session_id, the project of the runs"),
  v.check(
    (given) => given.extend_only === true || isActive(given),
    "give an action: evaluators, code_evaluators, webhooks, add_to_annotation_queue_id, add_to_dataset_id or extend_only",
  ),
  v.check(
    (given) => given.extend_only !== true || !isActive(given),
    "extend_only goes with no other action. Set extend_…_trace_retention of the action",
  ),
);
export type RuleBody = v.InferOutput<typeof RuleBody>;

interface Active {
  add_to_annotation_queue_id?: string | undefined;
  add_to_dataset_id?: string | undefined;
  evaluators?: unknown[] | undefined;
  code_evaluators?: unknown[] | undefined;
  webhooks?: unknown[] | undefined;
}

/** Whether a rule does more than to extend the retention. */
function isActive(given: Active): boolean {
  const lists = [given.evaluators, given.code_evaluators, given.webhooks];
  return (
    given.add_to_annotation_queue_id !== undefined ||
    given.add_to_dataset_id !== undefined ||
    lists.some((list) => (list?.length ?? 0) > 0)
  );
}

export const RuleId = v.object({ rule_id: Uuid });

export const ListRules = choosing({
  session_id: v.optional(Uuid),
  dataset_id: unserved("rules on a dataset's experiments"),
  type: unread,
  name_contains: v.optional(text(200)),
  id: many(Uuid),
  evaluator_id: unserved("evaluators apart from rules"),
  include_backfill_progress: unread,
  ...pagingQuery(100),
});

const moment = v.optional(
  v.pipe(
    Time,
    v.transform((micros) => micros / 1000),
  ),
);
/** Partitions give the runs before a page, too. */
const MAX_SKIPPED = 20_000;

export const ListLogs = v.pipe(
  choosing({
    /** Left out: the runs that have failed, also those that are tried again. */
    status: v.optional(v.picklist(LOG_STATUS)),
    start_time: moment,
    end_time: moment,
    ...pagingQuery(720),
  }),
  v.check(
    ({ status = "failed", start_time, end_time }) =>
      status === "failed" || (start_time === undefined && end_time === undefined),
    "start_time and end_time go with the failed runs: of the others no time is stored",
  ),
  v.check(
    ({ status = "failed", offset }) => status === "failed" || offset <= MAX_SKIPPED,
    `offset of runs that wait or are done is at most ${MAX_SKIPPED}`,
  ),
);
export type ListLogs = v.InferOutput<typeof ListLogs>;

export const BackfillBody = v.pipe(
  v.strictObject({ start_time: Time, end_time: optional(Time) }),
  v.check(({ start_time, end_time }) => (end_time ?? Infinity) > start_time, "end_time must be after start_time"),
);
