/**
 * Shapes of requests about threads, their states and their runs. Unknown members are let through and ignored, because clients
 * of many versions call.
 */
import * as v from "valibot";
import { choosing, Flag, optional, paging, Uuid, whole, pagingQuery } from "../../http/shapes.ts";
import { JsonFilter, JsonMembers, jsonList, JsonObject, toNumbers } from "../../lib/json.ts";
import { pathsFrom } from "./search.ts";
import { CLASSIC_MODES } from "../log/classic.ts";

export const ThreadParam = v.object({ thread_id: Uuid });
export const CheckpointParam = v.object({ thread_id: Uuid, checkpoint_id: Uuid });

/** A list in a query string: repeated, comma-separated, or a JSON array in one. */
export const list = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((text) =>
    (Array.isArray(text) ? text : text.startsWith("[") ? (jsonList(text) ?? [text]) : text.split(",")).map((item) =>
      item.replace(/^"|"$/g, ""),
    ),
  ),
);

/** A checkpoint as clients name it. */
export const Checkpoint = v.object({
  thread_id: v.nullish(v.string()),
  checkpoint_id: v.nullish(Uuid),
  checkpoint_ns: v.nullish(v.string()),
  checkpoint_map: v.nullish(JsonObject),
});

/** A value that a graph reads or its state has: it has JavaScript's numbers. */
const GraphValue = v.optional(v.pipe(v.unknown(), v.transform(toNumbers)));

const Send = v.object({ node: v.string(), input: GraphValue });
/** Fields that resume a paused graph, or change its next node. */
export const Command = v.object({
  update: GraphValue,
  resume: GraphValue,
  goto: v.nullish(v.union([v.string(), Send, v.array(v.union([v.string(), Send]))])),
});

const minutes = v.pipe(v.number(), v.minValue(0), v.maxValue(52_560_000));
const ttl = v.object({
  strategy: v.optional(v.picklist(["delete", "keep_latest"]), "delete"),
  ttl: minutes,
});
const Ttl = v.pipe(
  v.union([
    v.pipe(
      minutes,
      v.transform((ttl) => ({ strategy: "delete" as const, ttl })),
    ),
    ttl,
  ]),
  v.transform(({ strategy, ttl }) => ({ strategy, ttl_minutes: ttl })),
);

const Update = v.object({
  values: GraphValue,
  command: optional(Command),
  as_node: optional(v.string()),
});

export const ThreadCreate = v.object({
  thread_id: optional(Uuid),
  metadata: optional(JsonMembers),
  if_exists: optional(v.picklist(["raise", "do_nothing"])),
  ttl: optional(Ttl),
  supersteps: optional(v.array(v.object({ updates: v.array(v.object({ ...Update.entries, as_node: v.string() })) }))),
});

export const ThreadPatch = v.object({ metadata: optional(JsonMembers), ttl: optional(Ttl) });

const filter = {
  ids: optional(v.pipe(v.array(Uuid), v.maxLength(1_000))),
  metadata: optional(JsonFilter),
  values: optional(v.pipe(JsonFilter, v.transform(toNumbers))),
  status: optional(v.picklist(["idle", "busy", "interrupted", "error"])),
  query: optional(
    v.pipe(
      v.string(),
      v.maxLength(200),
      v.transform((text) => text.trim().split(/\s+/).filter(Boolean)),
      v.maxLength(10, "at most 10 words"),
    ),
  ),
};
const FIELDS = [
  "thread_id",
  "created_at",
  "updated_at",
  "state_updated_at",
  "metadata",
  "config",
  "status",
  "values",
  "interrupts",
  "error",
] as const;
export const ThreadSearch = choosing({
  ...filter,
  ...paging,
  sort_by: v.nullish(v.picklist(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]), "created_at"),
  sort_order: v.nullish(v.picklist(["asc", "desc"]), "desc"),
  select: optional(v.array(v.picklist(FIELDS))),
  extract: optional(pathsFrom(["values", "metadata", "config", "interrupts"])),
});
export const ThreadCount = choosing(filter);

export const ThreadPrune = choosing({
  thread_ids: v.pipe(v.array(Uuid), v.maxLength(1_000)),
  strategy: v.nullish(v.picklist(["delete", "keep_latest"]), "delete"),
});

const stateFields = v.pipe(
  list,
  v.array(
    v.pipe(
      v.string(),
      v.regex(
        /^(values(\..+)?|next|tasks|metadata|created_at|checkpoint|parent_checkpoint|interrupts)$/,
        "must be a field of a state, or values.<key>",
      ),
    ),
  ),
);
export const StateQuery = v.object({ subgraphs: v.optional(Flag, "false"), select: v.optional(stateFields) });
export const StateAtCheckpoint = v.object({
  checkpoint: Checkpoint,
  subgraphs: v.nullish(v.boolean(), false),
  select: optional(stateFields),
});
export const StateUpdate = v.object({
  ...Update.entries,
  checkpoint: optional(Checkpoint),
  checkpoint_id: optional(Uuid),
});

export const StatePatch = v.object({ metadata: JsonMembers });

const before = optional(
  v.pipe(
    v.union([Uuid, v.object({ checkpoint_id: Uuid }), v.object({ configurable: v.object({ checkpoint_id: Uuid }) })]),
    v.transform((at) =>
      typeof at === "string" ? at : "configurable" in at ? at.configurable.checkpoint_id : at.checkpoint_id,
    ),
  ),
);
export const HistoryBody = choosing({
  limit: paging.limit,
  before,
  metadata: optional(JsonMembers),
  checkpoint: optional(Checkpoint),
  select: optional(stateFields),
  extract: optional(pathsFrom(["values", "metadata"])),
});
export const HistoryQuery = v.object({ limit: v.optional(whole(1, 1_000), "10"), before: v.optional(Uuid) });

const threadModes = v.optional(v.pipe(list, v.array(v.picklist(["lifecycle", "run_modes", "state_update"]))));
export const ThreadStreamQuery = v.object({ stream_modes: threadModes, stream_mode: threadModes });
export const ThreadQuery = v.object({ include: v.optional(list) });

// Shapes of requests about runs. Unknown members are ignored, because clients of many versions call.

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
  max_concurrency: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
  run_name: v.nullish(v.pipe(v.string(), v.maxLength(1_000))),
  metadata: v.nullish(JsonMembers),
  configurable: v.nullish(JsonMembers),
});

const FeedbackKey = v.pipe(v.string(), v.minLength(1), v.maxLength(180));

export const RunCreate = v.object({
  assistant_id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  input: GraphValue,
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
