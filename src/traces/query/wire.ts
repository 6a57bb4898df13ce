/** Runs in the answers of the two generations of the query API. */
import * as v from "valibot";
import { AnyObject, Count, Time } from "../../http/shapes.ts";
import { Attachments } from "./attachments.ts";

const text = v.nullable(v.string());
const time = v.nullable(Time);
const object = v.nullable(AnyObject);
const dollars = v.nullable(v.number());
/** US dollars as decimal text, which keeps small amounts exact. */
const decimal = text;
/** Kinds of tokens or costs, whose names senders choose. */
const details = v.nullable(v.object({ raw: AnyObject }));

/** Members that both generations have. Ids are texts, because senders choose them. */
const shared = {
  id: v.string(),
  name: v.string(),
  run_type: v.string(),
  trace_id: v.string(),
  dotted_order: v.string(),
  app_path: v.string(),
  parent_run_ids: v.array(v.string()),
  thread_id: text,
  reference_example_id: text,
  reference_dataset_id: text,
  start_time: time,
  end_time: time,
  first_token_time: time,
  last_queued_at: v.null(),
  inputs: v.unknown(),
  outputs: v.unknown(),
  inputs_preview: text,
  outputs_preview: text,
  error: text,
  extra: v.unknown(),
  events: v.unknown(),
  tags: v.array(v.string()),
  feedback_stats: object,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  price_model_id: v.null(),
};

/** The first generation. */
export const Run = v.pipe(
  v.object({
    ...shared,
    status: v.picklist(["success", "error", "pending"]),
    session_id: v.string(),
    parent_run_id: text,
    execution_order: v.number(),
    serialized: v.unknown(),
    manifest_id: v.null(),
    manifest_s3_id: v.null(),
    prompt_token_details: object,
    completion_token_details: object,
    total_cost: decimal,
    prompt_cost: decimal,
    completion_cost: decimal,
    prompt_cost_details: object,
    completion_cost_details: object,
    in_dataset: v.literal(false),
    trace_tier: v.picklist(["longlived", "shortlived"]),
    share_token: v.null(),
    s3_urls: v.nullable(Attachments),
    inputs_s3_urls: v.null(),
    outputs_s3_urls: v.null(),
  }),
  v.title("TracedRun"),
);

/** The second generation. */
const RunV2 = v.object({
  ...shared,
  status: v.picklist(["SUCCESS", "ERROR", "PENDING"]),
  latency_seconds: v.nullable(v.number()),
  project_id: v.string(),
  error_preview: text,
  metadata: AnyObject,
  manifest: v.unknown(),
  is_root: v.boolean(),
  total_cost: dollars,
  prompt_cost: dollars,
  completion_cost: dollars,
  prompt_token_details: details,
  completion_token_details: details,
  prompt_cost_details: details,
  completion_cost_details: details,
  attachments: v.record(v.string(), v.string()),
  thread_evaluation_time: v.null(),
  is_in_dataset: v.literal(false),
  share_url: v.null(),
});
export type RunV2 = v.InferOutput<typeof RunV2>;

/** The members of a run that a request selects; without a selection its id. */
export const SelectedRun = v.pipe(v.object({ ...v.partial(RunV2).entries, id: shared.id }), v.title("SelectedRun"));
