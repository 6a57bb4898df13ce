/** Shapes of requests about runs. Unknown members are ignored, because clients of many versions call. */
import * as v from "valibot";
import { choosing, Flag, optional, pagingQuery, Uuid } from "../../../http/shapes.ts";
import { jsonList, JsonMembers } from "../../../lib/json.ts";
import { CLASSIC_MODES } from "../../log/classic.ts";
import { Checkpoint, Command, list } from "../../api/schema.ts";

export const RunParam = v.object({ thread_id: Uuid, run_id: Uuid });
export const StatelessRunParam = v.object({ run_id: Uuid });

const nodes = v.nullish(v.union([v.literal("*"), v.array(v.string()), v.string()]));

const Mode = v.picklist(CLASSIC_MODES);
const Modes = v.pipe(
  v.union([Mode, v.array(Mode)]),
  v.transform((given) => [given].flat()),
);

/** LangChain compares each tag with each. */
const Tags = v.pipe(v.array(v.string()), v.maxLength(1_000, "at most 1,000 tags"));

const Config = v.object({
  tags: v.nullish(Tags),
  recursion_limit: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000))),
  configurable: v.nullish(JsonMembers),
});

const FeedbackKey = v.pipe(v.string(), v.minLength(1), v.maxLength(180));

export const RunCreate = v.object({
  assistant_id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  input: v.optional(v.unknown()),
  command: v.nullish(Command),
  metadata: v.nullish(JsonMembers),
  config: v.nullish(Config),
  context: v.nullish(JsonMembers),
  checkpoint: v.nullish(Checkpoint),
  checkpoint_id: v.nullish(Uuid),
  webhook: v.nullish(v.pipe(v.string(), v.maxLength(2_000), v.check(isWebhook, "must be an http(s) URL or a path"))),
  interrupt_before: nodes,
  interrupt_after: nodes,
  stream_mode: v.nullish(Modes),
  stream_subgraphs: v.nullish(v.boolean()),
  stream_resumable: v.nullish(v.boolean()),
  feedback_keys: v.nullish(v.union([FeedbackKey, v.pipe(v.array(FeedbackKey), v.maxLength(50))])),
  multitask_strategy: v.nullish(v.picklist(["reject", "rollback", "interrupt", "enqueue"])),
  strict_resume: v.nullish(v.boolean()),
  if_not_exists: v.nullish(v.picklist(["reject", "create"])),
  after_seconds: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(31_536_000))),
  durability: v.nullish(v.picklist(["sync", "async", "exit"])),
  checkpoint_during: v.nullish(v.boolean()),
  on_disconnect: v.nullish(v.picklist(["cancel", "continue"])),
  on_completion: v.nullish(v.picklist(["delete", "keep"])),
  langsmith_tracer: v.nullish(v.object({ project_name: v.nullish(v.string()), example_id: v.nullish(v.string()) })),
});
/** Names of a run's members. A member that resembles one of them is refused as misspelt. */
export const RUN_MEMBERS = Object.keys(RunCreate.entries);
export type RunCreate = v.InferOutput<typeof RunCreate>;

export const RunBatch = v.pipe(v.array(RunCreate), v.minLength(1), v.maxLength(100));

export const RunsQuery = v.object({
  ...pagingQuery(1_000, 10),
  status: v.optional(v.picklist(["pending", "running", "error", "success", "timeout", "interrupted"])),
  select: v.optional(list),
});
export const CancelQuery = v.object({
  wait: v.optional(Flag, "false"),
  action: v.optional(v.picklist(["interrupt", "rollback"]), "interrupt"),
});
/** Namespaces are repeated or in a JSON array; a single value is one namespace, including its commas. */
const namespaces = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((text) => (Array.isArray(text) ? text : (jsonList(text) ?? [text]))),
);
export const StreamQuery = v.object({ namespace: v.optional(namespaces) });
export const JoinQuery = v.object({
  namespace: v.optional(namespaces),
  checkpoint_id: v.optional(Uuid),
  cancel_on_disconnect: v.optional(Flag, "false"),
  stream_mode: v.optional(v.pipe(list, v.array(Mode))),
});
export const BulkCancel = choosing({
  status: optional(v.picklist(["pending", "running", "all"])),
  thread_id: optional(Uuid),
  run_ids: optional(v.array(Uuid)),
});

function isWebhook(text: string): boolean {
  return text.startsWith("/") || (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol));
}
