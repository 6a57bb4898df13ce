import * as v from "valibot";
import { maxBytes, METADATA_BYTES, PAYLOAD_BYTES, byteLength } from "../../lib/bytes.ts";
import { JsonFilter, JsonMembers } from "../../lib/json.ts";
import { choosing, Flag, optional, paging, Uuid } from "../../http/shapes.ts";

const graphId = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const name = v.pipe(v.string(), v.maxLength(1000));
const description = v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"));

const Config = v.pipe(
  v.looseObject({
    tags: optional(v.pipe(v.array(v.string()), v.maxLength(1_000, "at most 1,000 tags"))),
    recursion_limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    max_concurrency: optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    run_name: optional(v.pipe(v.string(), v.maxLength(1_000))),
    metadata: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
    configurable: optional(JsonMembers),
  }),
  v.metadata({ description: "LangGraph run configuration" }),
);

const configuration = {
  config: optional(Config),
  context: optional(JsonMembers),
  metadata: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
};

/** One D1 row holds both, together with the metadata. */
const fitsOneRow = <T extends { config?: object; context?: object }>() =>
  v.check<T, string>(
    ({ config = {}, context = {} }) => byteLength(config) + byteLength(context) <= PAYLOAD_BYTES,
    `config and context together must be at most ${PAYLOAD_BYTES} bytes as JSON`,
  );

export const CreateAssistant = v.pipe(
  v.object({
    graph_id: graphId,
    assistant_id: optional(Uuid),
    ...configuration,
    if_exists: optional(v.picklist(["raise", "do_nothing"])),
    name: optional(name),
    description: optional(description),
  }),
  fitsOneRow(),
);

export const UpdateAssistant = v.pipe(
  v.object({
    graph_id: optional(graphId),
    ...configuration,
    name: optional(name),
    description: v.optional(v.nullable(description)),
  }),
  fitsOneRow(),
);

const filter = { metadata: optional(JsonFilter), graph_id: optional(graphId), name: optional(name) };

const FIELDS = [
  "assistant_id",
  "graph_id",
  "version",
  "name",
  "description",
  "config",
  "context",
  "metadata",
  "created_at",
  "updated_at",
] as const;

export const SearchAssistants = choosing({
  ...filter,
  ...paging,
  sort_by: optional(v.picklist(["assistant_id", "created_at", "updated_at", "name", "graph_id"])),
  sort_order: optional(
    v.pipe(
      v.string(),
      v.transform((order) => order.toLowerCase()),
      v.picklist(["asc", "desc"]),
    ),
  ),
  select: optional(v.array(v.picklist(FIELDS))),
});

export const CountAssistants = choosing(filter);

export const ListVersions = choosing({ metadata: optional(JsonFilter), ...paging });

export const ActivateVersion = v.object({ version: v.pipe(v.number(), v.integer(), v.minValue(1)) });

export const AssistantPath = v.object({ assistant_id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) });

/** `xray`: false, true for every level of subgraphs, or how many levels. */
export const GraphQuery = v.object({
  xray: v.optional(
    v.union([
      v.pipe(v.string(), v.regex(/^(true|false)$/i), Flag),
      v.pipe(
        v.string(),
        v.regex(/^[1-9]\d{0,3}$/, "xray must be true, false or a number above 0"),
        v.transform(Number),
      ),
    ]),
    "false",
  ),
});

export const SubgraphsQuery = v.object({ recurse: v.optional(Flag, "false") });

export const SubgraphPath = v.object({ ...AssistantPath.entries, namespace: v.pipe(v.string(), v.maxLength(1000)) });

export const DeleteQuery = v.object({ delete_threads: v.optional(Flag, "false") });
