/** The shapes of examples in requests. */
import * as v from "valibot";
import { maxBytes } from "../../../lib/bytes.ts";
import { choosing, Flag, many, optional, pagingQuery, unread, Uuid } from "../../../http/shapes.ts";
import { JsonFilter, JsonMembers, JsonObject } from "../../../lib/json.ts";
import { parseTime } from "../../time.ts";

// Limits of examples, bytes of UTF-8. A row of D1 holds 2,000,000 bytes, and a page of 100 examples is read at once.

/** A larger body is stored in R2. */
export const INLINE_BYTES = 32 * 1024;
/** The most bytes of `inputs` or `outputs`. */
export const BODY_BYTES = 10 * 1024 * 1024;
/** Bodies of one request that are not in R2, together. While they are written they take about five times as much memory. */
export const INLINE_TOTAL_BYTES = 8 * 1024 * 1024;
/** What examples of one request have besides their bodies, together. It is parsed, and a value takes more memory than its text. */
export const HEADS_BYTES = 4 * 1024 * 1024;
export const EXAMPLE_METADATA_BYTES = 64 * 1024;
/** The list of an example's attachments: their names, types and sizes. */
export const ATTACHMENT_LIST_BYTES = 64 * 1024;
/** The most examples of one request. */
export const EXAMPLES = 10_000;

const Split = v.pipe(v.string(), v.minLength(1), v.maxLength(255, "must be at most 255 characters"));
/** One name or several. */
export const Splits = v.pipe(
  v.union([Split, v.pipe(v.array(Split), v.maxLength(100))]),
  v.transform((given) => (typeof given === "string" ? [given] : given)),
);
const Metadata = v.pipe(JsonMembers, maxBytes(EXAMPLE_METADATA_BYTES));
/** A time as milliseconds: ISO 8601, or a number. */
const When = v.pipe(
  v.union([v.string(), v.number()]),
  v.check((given) => parseTime(given) !== undefined, "expected a time such as 2026-11-20T15:49:54Z"),
  v.transform((given) => Math.floor((parseTime(given) ?? 0) / 1000)),
);
const Name = v.pipe(v.string(), v.maxLength(500, "must be at most 500 characters"));

/** What an example has besides its bodies and attachments: the JSON of the part that its id names. */
export const ExampleHead = v.looseObject({
  name: optional(Name),
  created_at: optional(When),
  metadata: optional(Metadata),
  split: optional(Splits),
  source_run_id: optional(Uuid),
  use_source_run_io: optional(v.boolean()),
  use_source_run_attachments: optional(v.pipe(v.array(v.string()), v.maxLength(100))),
});
export type ExampleHead = v.InferOutput<typeof ExampleHead>;

/** Which attachments of an example stay, and under which names. Others are removed. */
export const AttachmentOperations = v.looseObject({
  rename: optional(v.record(v.string(), Name)),
  retain: optional(v.pipe(v.array(v.string()), v.maxLength(1000))),
});
export type AttachmentOperations = v.InferOutput<typeof AttachmentOperations>;

const bodies = { inputs: optional(JsonObject), outputs: optional(JsonObject) };

export const CreateExample = v.looseObject({
  ...ExampleHead.entries,
  ...bodies,
  id: optional(Uuid),
  dataset_id: Uuid,
});
export const CreateExamples = v.pipe(v.array(CreateExample), v.minLength(1), v.maxLength(EXAMPLES));

export const UpdateExample = v.looseObject({
  ...ExampleHead.entries,
  ...bodies,
  attachments_operations: optional(AttachmentOperations),
});
export const UpdateExamples = v.pipe(
  v.array(v.looseObject({ ...UpdateExample.entries, id: Uuid })),
  v.minLength(1),
  v.maxLength(EXAMPLES),
);

export const ExampleId = v.object({ example_id: Uuid });
export const ExampleOfDataset = v.object({ dataset_id: Uuid, example_id: Uuid });
export const DatasetId = v.object({ dataset_id: Uuid });

/** A time, or the name of a version. */
export const AsOf = v.pipe(v.string(), v.maxLength(255));

export const ListExamples = choosing({
  dataset: v.optional(Uuid),
  id: many(Uuid),
  splits: many(Split),
  metadata: v.optional(v.pipe(v.string(), v.parseJson(undefined, "expected a JSON object"), JsonFilter)),
  as_of: v.optional(AsOf),
  select: many(v.string()),
  inline_s3_urls: v.optional(Flag),
  exclude_default_fields: unread,
  filter: v.optional(v.string()),
  ...pagingQuery(1000),
});

export const ReadExample = v.object({ as_of: v.optional(AsOf), dataset: v.optional(Uuid) });
export const CountExamples = choosing({ dataset: Uuid, as_of: v.optional(AsOf), id: many(Uuid), splits: many(Split) });
export const DeleteExamples = choosing({
  example_ids: v.pipe(
    v.union([v.string(), v.array(v.string())]),
    v.transform((given) => (Array.isArray(given) ? given : [given])),
    v.array(Uuid),
    v.maxLength(1000),
  ),
});
export const EraseExamples = choosing({
  example_ids: v.pipe(v.array(Uuid), v.minLength(1), v.maxLength(1000)),
  hard_delete: optional(v.boolean()),
});

const Operation = v.looseObject({
  key: v.pipe(v.string(), v.minLength(1), maxBytes<string>(255)),
  operation: v.pipe(v.string(), v.toUpperCase(), v.picklist(["SET", "ARRAY_ADD", "ARRAY_REMOVE"])),
  value: v.optional(v.unknown()),
  values: optional(v.pipe(v.array(v.pipe(v.string(), maxBytes<string>(255))), v.maxLength(1000))),
});
export type MetadataOperation = v.InferOutput<typeof Operation>;

export const ChangeMetadata = v.looseObject({
  example_ids: v.pipe(v.array(Uuid), v.minLength(1), v.maxLength(EXAMPLES)),
  operations: v.pipe(v.array(Operation), v.minLength(1), v.maxLength(50)),
});

export const ChangeSplit = v.looseObject({
  split_name: Split,
  examples: v.pipe(v.array(Uuid), v.maxLength(EXAMPLES)),
  remove: optional(v.boolean()),
});
