/** The shapes of annotation queues in requests. */
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../../lib/bytes.ts";
import { choosing, Flag, many, optional, pagingQuery, unread, unserved, Uuid, whole } from "../../../http/shapes.ts";
import { JsonMembers } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { Time } from "../../time.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(500, "must be at most 500 characters"));
const text = optional(v.pipe(v.string(), v.maxLength(20_000, "must be at most 20000 characters")));
const Metadata = v.pipe(JsonMembers, maxBytes(METADATA_BYTES));
/** Milliseconds. */
const Moment = v.pipe(
  Time,
  v.transform((micros) => Math.floor(micros / 1000)),
);

const Descriptions = optional(v.record(v.string(), v.pipe(v.string(), v.maxLength(2_000))));
const Condition = optional(
  v.looseObject({
    join: v.picklist(["all", "any"]),
    rules: v.pipe(
      v.array(
        v.looseObject({
          key: v.string(),
          op: v.picklist(["is", "is_one_of", "is_empty", "is_not_empty"]),
          values: optional(v.array(v.number())),
        }),
      ),
      v.maxLength(50),
    ),
  }),
);
/** A key of feedback that reviewers fill in. Its config is what `/feedback-configs` has for the key. */
const RubricItem = v.looseObject({
  feedback_key: v.pipe(v.string(), v.minLength(1), v.maxLength(180)),
  description: text,
  value_descriptions: Descriptions,
  score_descriptions: Descriptions,
  is_required: optional(v.boolean()),
  is_assertion: optional(v.boolean()),
  regex_validator: optional(v.pipe(v.string(), v.maxLength(1_000))),
  required_if: Condition,
  visible_if: Condition,
});
const RUBRIC_BYTES = 128 * 1024;
const Rubric = v.pipe(v.array(RubricItem), v.maxLength(100), maxBytes(RUBRIC_BYTES));

function refuseTrue(what: string) {
  return v.check<boolean, string>((given) => {
    if (given) throw new Problem(501, `Weir does not serve ${what}.`);
    return true;
  }, "");
}

/** A flag of which only false is served. */
function unservedFlag(what: string) {
  return v.pipe(Flag, refuseTrue(what));
}

const assigned = unserved("assigned reviewers. Any reviewer may complete an item");
const settings = {
  description: text,
  default_dataset: optional(Uuid),
  num_reviewers_per_item: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
  enable_reservations: optional(v.boolean()),
  reservation_minutes: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_080))),
  reviewer_access_mode: v.optional(v.union([v.null(), v.literal("any"), assigned])),
  rubric_instructions: text,
  rubric_items: optional(Rubric),
  metadata: optional(Metadata),
};

export const CreateQueue = v.looseObject({
  id: optional(Uuid),
  name,
  ...settings,
  session_ids: unserved("queues of experiments at once. Send the queue to /annotation-queues/populate"),
});
export const UpdateQueue = v.looseObject({ name: optional(name), ...settings });

const Kind = v.picklist(["single", "pairwise"]);
export const ListQueues = choosing({
  ids: many(Uuid),
  name: v.optional(v.string()),
  name_contains: v.optional(v.string()),
  dataset_id: v.optional(Uuid),
  queue_type: v.optional(Kind),
  assigned_to_me: v.optional(unservedFlag("assigned reviewers")),
  sort_by: v.optional(v.picklist(["created_at", "name"])),
  sort_by_desc: v.optional(Flag),
  tag_value_id: v.optional(unserved("tags")),
  ...pagingQuery(100),
});

/** The most items that one request adds or removes. */
const MAX_ITEMS_AT_ONCE = 1_000;
const Ids = v.pipe(v.array(Uuid), v.maxLength(MAX_ITEMS_AT_ONCE));
const Proposed = optional(v.pipe(v.string(), v.maxLength(100)));
const RunToAdd = v.looseObject({
  run_id: Uuid,
  session_id: optional(Uuid),
  start_time: optional(Time),
  source_proposed_example_id: Proposed,
});
export const AddRuns = v.pipe(
  v.array(
    v.union([
      RunToAdd,
      v.pipe(
        Uuid,
        v.transform((run_id): v.InferOutput<typeof RunToAdd> => ({ run_id })),
      ),
    ]),
  ),
  v.maxLength(MAX_ITEMS_AT_ONCE),
);
export const AddRunsByKey = v.pipe(
  v.array(v.looseObject({ ...RunToAdd.entries, session_id: Uuid, start_time: Time })),
  v.maxLength(MAX_ITEMS_AT_ONCE),
);
const AddItem = v.looseObject({
  item_type: optional(v.picklist(["RUN", "THREAD"])),
  run_id: optional(Uuid),
  thread_id: optional(v.pipe(v.string(), v.minLength(1), v.maxLength(500))),
  project_id: optional(Uuid),
  session_id: optional(Uuid),
  start_time: optional(Time),
  source_proposed_example_id: Proposed,
});
export type AddItem = v.InferOutput<typeof AddItem>;
export const AddItems = v.looseObject({
  items: v.pipe(v.array(AddItem), v.minLength(1), v.maxLength(MAX_ITEMS_AT_ONCE)),
});

/** Whether the traces of the added runs are kept for longer than their project does. */
export const Retention = choosing({ extend_trace_retention: v.optional(Flag) });

export const Populate = choosing({
  queue_id: Uuid,
  session_ids: v.pipe(v.array(Uuid), v.minLength(1), v.maxLength(10)),
  extend_trace_retention: optional(v.boolean()),
});

const SECTIONS = ["needs_my_review", "needs_others_review"] as const;
export const ListRuns = choosing({
  status: v.optional(v.picklist([...SECTIONS, "completed"])),
  archived: v.optional(Flag),
  include_stats: unread,
  ...pagingQuery(100),
});
export const Size = choosing({ status: v.optional(v.picklist([...SECTIONS, "completed"])) });
export const Archived = choosing({ start_time: v.optional(Moment), end_time: v.optional(Moment) });
export const ReadRun = choosing({ include_extra: unread });

const traceTimes = { min_start_time: v.optional(Time), max_start_time: v.optional(Time) };
export const ListItems = choosing({
  status: v.picklist([...SECTIONS, "archived"]),
  item_type: v.optional(v.picklist(["RUN", "THREAD"])),
  direction: v.optional(v.picklist(["forward", "backward"])),
  cursor: v.optional(v.string()),
  page_size: v.optional(whole(1, 100), "20"),
  ...traceTimes,
});
export const CountItems = choosing({
  status: v.picklist([...SECTIONS, "archived", "all"]),
  start_time: v.optional(Moment),
  end_time: v.optional(Moment),
  ...traceTimes,
});

export const UpdateItem = v.looseObject({ added_at: optional(Moment), last_reviewed_time: optional(Moment) });
export type ItemChanges = v.InferOutput<typeof UpdateItem>;
export const SetStatus = v.looseObject({
  status: optional(v.picklist(["viewed", "completed"])),
  override_added_at: optional(Moment),
});
export type ReviewInput = v.InferOutput<typeof SetStatus>;
export const RemoveItems = choosing({ item_ids: v.pipe(Ids, v.minLength(1)) });
export const RemoveRuns = choosing({
  run_ids: optional(Ids),
  delete_all: optional(v.boolean()),
  exclude_run_ids: optional(Ids),
});

export const QueueId = v.object({ queue_id: Uuid });
export const RunId = v.object({ run_id: Uuid });
export const ItemId = v.object({ item_id: Uuid });
export const ItemOfQueue = v.object({ queue_id: Uuid, item_id: Uuid });
export const IndexOfQueue = v.object({ queue_id: Uuid, index: whole(0) });
