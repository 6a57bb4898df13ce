/** The shapes of datasets in requests. */
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../../lib/bytes.ts";
import { choosing, many, optional, pagingQuery, Uuid } from "../../../http/shapes.ts";
import { JsonFilter, JsonMembers } from "../../../lib/json.ts";
import { findSchemaFault } from "../../../lib/json-schema.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(500));
const description = optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters")));
const Members = v.pipe(JsonMembers, maxBytes(METADATA_BYTES));
const DataType = v.picklist(["kv", "llm", "chat"]);
const Definition = v.pipe(
  Members,
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? findSchemaFault(dataset.value) : undefined;
    if (message !== undefined) addIssue({ message });
  }),
);
const schemas = { inputs_schema_definition: optional(Definition), outputs_schema_definition: optional(Definition) };

export const CreateDataset = v.looseObject({
  id: optional(Uuid),
  name,
  description,
  data_type: optional(DataType),
  metadata: optional(Members),
  /** The JavaScript SDK sends the metadata here. */
  extra: optional(v.looseObject({ metadata: optional(Members) })),
  ...schemas,
});

export const UpdateDataset = v.looseObject({
  name: optional(name),
  description,
  metadata: optional(Members),
  ...schemas,
});

export const ListDatasets = choosing({
  id: many(Uuid),
  name: v.optional(v.string()),
  name_contains: v.optional(v.string()),
  data_type: many(DataType),
  metadata: v.optional(v.pipe(v.string(), v.parseJson(undefined, "expected a JSON object"), JsonFilter)),
  ...pagingQuery(100),
});
