import * as v from "valibot";
import { choosing, Flag, optional, paging, unread, unserved, Uuid, whole } from "../../http/shapes.ts";
import { RANKED, PROPERTIES } from "../rpc.ts";
import { Time } from "../time.ts";

const Uuids = v.pipe(v.array(Uuid), v.maxLength(1000));
const Filter = v.pipe(v.string(), v.maxLength(20_000));
/** On a run, on the root of its trace, on any run of its trace. */
const filters = { filter: optional(Filter), trace_filter: optional(Filter), tree_filter: optional(Filter) };
/** Queries in plain language. They need a model. */
const plain = {
  ai_search: unserved("searches in plain language. Send a filter"),
  ai_query: unserved("queries in plain language. Send a filter"),
};
/** When feedback was changed, as a condition. */
const feedbackTimes = {
  min_feedback_modified_at: unserved("conditions on the time of feedback"),
  max_feedback_modified_at: unserved("conditions on the time of feedback"),
};
const Names = v.pipe(v.array(v.string()), v.maxLength(200));

/** Over the limit the platform answers 400 in its own words, so the schema lets larger ones pass. */
export const QueryV1 = choosing({
  id: optional(Uuids),
  trace: optional(Uuid),
  parent_run: optional(Uuid),
  run_type: optional(v.string()),
  session: optional(v.pipe(v.array(Uuid), v.maxLength(100))),
  /** One project. The Python SDK names that of a run whose children it reads. */
  session_id: optional(Uuid),
  reference_example: optional(Uuids),
  execution_order: optional(v.number()),
  start_time: optional(Time),
  end_time: optional(Time),
  error: optional(v.boolean()),
  query: optional(v.string()),
  ...filters,
  search_filter: optional(Filter),
  is_root: optional(v.boolean()),
  cursor: optional(v.string()),
  limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  select: optional(Names),
  order: optional(v.picklist(["asc", "desc"])),
  /** All runs are here, whichever kind is named. */
  data_source_type: unread,
  skip_pagination: unread,
  skip_prev_cursor: unread,
  ...plain,
});

/** `sort_by`: the order of the runs; `order` is its direction. */
export const FindRunsBody = choosing({
  ...QueryV1.entries,
  sort_by: optional(v.picklist(["start_time", ...RANKED])),
});

/** `/runs/stats/series`: which runs, as `/runs/query` has it, and how they are counted. */
export const SeriesQuery = choosing({
  ...QueryV1.entries,
  interval: optional(v.picklist(["minute", "hour", "day"])),
  by: optional(v.picklist(PROPERTIES)),
  max_groups: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
});

export const QueryV2 = choosing({
  project_ids: optional(v.pipe(v.array(Uuid), v.maxLength(100))),
  reference_dataset_id: optional(Uuid),
  reference_examples: optional(Uuids),
  min_start_time: optional(Time),
  max_start_time: optional(Time),
  ...filters,
  ids: optional(Uuids),
  is_root: optional(v.boolean()),
  has_error: optional(v.boolean()),
  run_type: optional(v.string()),
  trace_id: optional(Uuid),
  selects: optional(Names),
  page_size: paging.limit,
  cursor: optional(v.string()),
  sort_order: optional(v.picklist(["ASC", "DESC", "asc", "desc"])),
  include_subtree_usage: unread,
  ...plain,
  ...feedbackTimes,
});

/** `project_id` is what the SDKs send; `project_ids` and the conditions of runs are further ones. */
export const QueryTraces = choosing({
  ...QueryV2.entries,
  project_id: optional(Uuid),
  trace_ids: optional(v.pipe(v.array(Uuid), v.maxLength(1000))),
});

export const RunId = v.object({ run_id: Uuid });

const list = v.union([v.string(), v.array(v.string())]);

export const ReadV1 = v.object({
  session_id: v.optional(Uuid),
  start_time: v.optional(Time),
  include_messages: v.optional(Flag, "false"),
});

export const ReadV2 = v.object({
  project_id: v.optional(Uuid),
  start_time: v.optional(Time),
  selects: v.optional(list),
  "selects[]": v.optional(list),
});

/** At most this many runs of a trace are read. */
export const MAX_RUNS_OF_TRACE = 25_000;

/** `page_size`: only the first runs, in the order of the tree. */
export const ReadTrace = choosing({
  ...ReadV2.entries,
  filter: v.optional(Filter),
  min_start_time: v.optional(Time),
  max_start_time: v.optional(Time),
  page_size: v.optional(whole(1, MAX_RUNS_OF_TRACE), String(MAX_RUNS_OF_TRACE)),
});

export const GroupRuns = choosing({
  session_id: Uuid,
  group_by: optional(v.literal("conversation")),
  filter: optional(Filter),
  start_time: optional(Time),
  end_time: optional(Time),
  ...paging,
});

export const QueryThreads = choosing({
  project_id: Uuid,
  ...filters,
  /** On the figures of a thread. */
  thread_filter: unserved("filters of threads. Send a filter, a trace_filter or a tree_filter"),
  min_start_time: optional(Time),
  max_start_time: optional(Time),
  page_size: paging.limit,
  cursor: optional(v.string()),
  ...plain,
});

export const QueryThreadStats = choosing({
  project_id: Uuid,
  select: Names,
  ...filters,
  thread_filter: QueryThreads.entries.thread_filter,
  min_start_time: optional(Time),
  max_start_time: optional(Time),
});

export const ReadThreadStats = choosing({
  session_id: Uuid,
  filter: v.optional(Filter),
  selects: v.optional(list),
  "selects[]": v.optional(list),
});

export const QueryThreadTraces = choosing({
  project_id: Uuid,
  filter: v.optional(Filter),
  trace_filter: v.optional(Filter),
  tree_filter: v.optional(Filter),
  selects: v.optional(list),
  "selects[]": v.optional(list),
  cursor: v.optional(v.string()),
  page_size: v.optional(whole(1, 1000)),
});

export const ThreadId = v.object({ thread_id: v.pipe(v.string(), v.maxLength(500)) });
