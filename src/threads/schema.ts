/** Shapes of requests about threads and runs. Unknown members are let through and ignored: clients of many ages call. */
import * as v from "valibot";
import { Offset, Uuid } from "../http/fields.ts";
import { JsonFilter, JsonObject } from "../http/json.ts";
import { CLASSIC_MODES } from "./classic.ts";

export const ThreadParam = v.object({ thread_id: Uuid });
export const RunParam = v.object({ thread_id: Uuid, run_id: Uuid });
export const StatelessRunParam = v.object({ run_id: Uuid });
export const CheckpointParam = v.object({ thread_id: Uuid, checkpoint_id: Uuid });

const limit = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most));
/** A number in a query string. */
const digits = (schema: v.GenericSchema<number, number>) =>
  v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number), schema);
/** `0`, `1`, `true`, `false`: what clients of several languages send. */
const flag = v.pipe(
  v.picklist(["0", "1", "true", "false", ""]),
  v.transform((text) => text === "1" || text === "true"),
);
const nodes = v.nullish(v.union([v.literal("*"), v.array(v.string()), v.string()]));
const oneOrMany = (value: string | string[]): string[] => (Array.isArray(value) ? value : [value]);

const Mode = v.picklist(CLASSIC_MODES);
const Modes = v.pipe(v.union([Mode, v.array(Mode)]), v.transform(oneOrMany));

const Checkpoint = v.object({
  thread_id: v.nullish(v.string()),
  checkpoint_id: v.nullish(Uuid),
  checkpoint_ns: v.nullish(v.string()),
  checkpoint_map: v.nullish(JsonObject),
});

const Send = v.object({ node: v.string(), input: v.optional(v.unknown()) });
const Command = v.object({
  update: v.optional(v.unknown()),
  resume: v.optional(v.unknown()),
  goto: v.nullish(v.union([v.string(), Send, v.array(v.union([v.string(), Send]))])),
});

/** LangChain compares each tag with each. */
const Tags = v.pipe(v.array(v.string()), v.maxLength(1_000, "at most 1,000 tags"));

const Config = v.object({
  tags: v.nullish(Tags),
  recursion_limit: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000))),
  configurable: v.nullish(JsonObject),
});

const FeedbackKey = v.pipe(v.string(), v.minLength(1), v.maxLength(180));

export const RunCreate = v.object({
  assistant_id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  input: v.optional(v.unknown()),
  command: v.nullish(Command),
  metadata: v.nullish(JsonObject),
  config: v.nullish(Config),
  context: v.nullish(JsonObject),
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
export type RunCreate = v.InferOutput<typeof RunCreate>;

export const RunBatch = v.pipe(v.array(RunCreate), v.minLength(1), v.maxLength(100));

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
  values: v.optional(v.unknown()),
  command: v.nullish(Command),
  as_node: v.nullish(v.string()),
});

export const ThreadCreate = v.object({
  thread_id: v.nullish(Uuid),
  metadata: v.nullish(JsonObject),
  if_exists: v.nullish(v.picklist(["raise", "do_nothing"])),
  ttl: v.nullish(Ttl),
  supersteps: v.nullish(v.array(v.object({ updates: v.array(v.object({ ...Update.entries, as_node: v.string() })) }))),
});

export const ThreadPatch = v.object({ metadata: v.nullish(JsonObject), ttl: v.nullish(Ttl) });

const filter = {
  ids: v.nullish(v.pipe(v.array(Uuid), v.maxLength(1_000))),
  metadata: v.nullish(JsonFilter),
  values: v.nullish(JsonFilter),
  status: v.nullish(v.picklist(["idle", "busy", "interrupted", "error"])),
};
export const THREAD_FIELDS = [
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
const path = v.pipe(
  v.string(),
  v.regex(
    /^(values|metadata|config|interrupts)(\.[\w-]+|\[-?\d+\])*$/,
    "must start at values, metadata, config or interrupts, as in values.messages[-1]",
  ),
);

export const ThreadSearch = v.object({
  ...filter,
  limit: v.nullish(limit(1_000), 10),
  offset: v.nullish(Offset, 0),
  sort_by: v.nullish(v.picklist(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]), "created_at"),
  sort_order: v.nullish(v.picklist(["asc", "desc"]), "desc"),
  select: v.nullish(v.array(v.picklist(THREAD_FIELDS))),
  extract: v.nullish(
    v.pipe(
      v.record(v.string(), path),
      v.check((paths) => Object.keys(paths).length <= 10, "at most 10 paths"),
    ),
  ),
});
export const ThreadCount = v.object(filter);

export const ThreadPrune = v.object({
  thread_ids: v.pipe(v.array(Uuid), v.maxLength(1_000)),
  strategy: v.nullish(v.picklist(["delete", "keep_latest"]), "delete"),
});

/** A list in a query string: repeated, comma-separated, or a JSON array in one. */
const list = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((text) =>
    (Array.isArray(text) ? text : text.startsWith("[") ? (jsonList(text) ?? [text]) : text.split(",")).map((item) =>
      item.replace(/^"|"$/g, ""),
    ),
  ),
);

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
export const StateQuery = v.object({ subgraphs: v.optional(flag, "false"), select: v.optional(stateFields) });
export const StateAtCheckpoint = v.object({
  checkpoint: Checkpoint,
  subgraphs: v.nullish(v.boolean(), false),
  select: v.nullish(stateFields),
});
export const StateUpdate = v.object({
  ...Update.entries,
  checkpoint: v.nullish(Checkpoint),
  checkpoint_id: v.nullish(Uuid),
});

export const StatePatch = v.object({ metadata: JsonObject });

const before = v.nullish(
  v.pipe(
    v.union([Uuid, v.object({ checkpoint_id: Uuid }), v.object({ configurable: v.object({ checkpoint_id: Uuid }) })]),
    v.transform((at) =>
      typeof at === "string" ? at : "configurable" in at ? at.configurable.checkpoint_id : at.checkpoint_id,
    ),
  ),
);
export const HistoryBody = v.object({
  limit: v.nullish(limit(1_000), 10),
  before,
  metadata: v.nullish(JsonObject),
  checkpoint: v.nullish(Checkpoint),
  select: v.nullish(stateFields),
});
export const HistoryQuery = v.object({ limit: v.optional(digits(limit(1_000)), "10"), before: v.optional(Uuid) });

export const RunsQuery = v.object({
  limit: v.optional(digits(limit(1_000)), "10"),
  offset: v.optional(digits(Offset), "0"),
  status: v.optional(v.picklist(["pending", "running", "error", "success", "timeout", "interrupted"])),
  select: v.optional(list),
});
export const CancelQuery = v.object({
  wait: v.optional(flag, "0"),
  action: v.optional(v.picklist(["interrupt", "rollback"]), "interrupt"),
});
/** Namespaces are repeated or in a JSON array; one alone is itself, commas and all. */
const namespaces = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((text) => (Array.isArray(text) ? text : (jsonList(text) ?? [text]))),
);
export const StreamQuery = v.object({ namespace: v.optional(namespaces) });
export const JoinQuery = v.object({
  namespace: v.optional(namespaces),
  checkpoint_id: v.optional(Uuid),
  cancel_on_disconnect: v.optional(flag, "0"),
  stream_mode: v.optional(v.pipe(list, v.array(Mode))),
});
export const BulkCancel = v.object({
  status: v.nullish(v.picklist(["pending", "running", "all"])),
  thread_id: v.nullish(Uuid),
  run_ids: v.nullish(v.array(Uuid)),
});
const threadModes = v.optional(v.pipe(list, v.array(v.picklist(["lifecycle", "run_modes", "state_update"]))));
export const ThreadStreamQuery = v.object({ stream_modes: threadModes, stream_mode: threadModes });
export const ThreadQuery = v.object({ include: v.optional(list) });

function jsonList(text: string): string[] | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWebhook(text: string): boolean {
  return text.startsWith("/") || (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol));
}
