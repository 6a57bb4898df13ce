/** The columns of an exported file: specification section 2.6, and raw feedback rows on request. */
import type { RowGroup, SchemaElement } from "hyparquet";

type Kind = "text" | "time" | "boolean" | "integer" | "double" | "texts";

/** Every column in file order. Its type never depends on the data, so all files of all exports fit together. */
const COLUMNS = {
  id: "text",
  tenant_id: "text",
  session_id: "text",
  trace_id: "text",
  parent_run_id: "text",
  parent_run_ids: "texts",
  reference_example_id: "text",
  name: "text",
  run_type: "text",
  start_time: "time",
  end_time: "time",
  status: "text",
  is_root: "boolean",
  dotted_order: "text",
  trace_tier: "text",
  inputs: "text",
  outputs: "text",
  error: "text",
  extra: "text",
  events: "text",
  tags: "texts",
  feedback_stats: "text",
  total_tokens: "integer",
  prompt_tokens: "integer",
  completion_tokens: "integer",
  total_cost: "double",
  prompt_cost: "double",
  completion_cost: "double",
  first_token_time: "time",
  feedbacks: "text",
} as const satisfies Record<string, Kind>;

export type ExportField = keyof typeof COLUMNS;

/** The names that `export_fields` may hold, in file order. */
export const EXPORT_FIELDS = Object.keys(COLUMNS) as [ExportField, ...ExportField[]];

/** What is exported when `export_fields` is absent: all of specification section 2.6. */
export const DEFAULT_FIELDS: readonly ExportField[] = EXPORT_FIELDS.filter((field) => field !== "feedbacks");

/** The asked fields in file order, each once. */
export function chosenFields(asked: readonly ExportField[] | null): ExportField[] {
  const wanted = new Set(asked ?? DEFAULT_FIELDS);
  return EXPORT_FIELDS.filter((field) => wanted.has(field));
}

/**
 * The Parquet schema of these columns. Text and JSON are strings (the JSON logical type would make the writer encode
 * twice); times are microseconds in UTC, the widest type that DuckDB, Spark, Athena and BigQuery all read.
 */
export function parquetSchema(fields: readonly ExportField[]): SchemaElement[] {
  return [{ name: "root", num_children: fields.length }, ...fields.flatMap(columnSchema)];
}

function columnSchema(name: ExportField): SchemaElement[] {
  const optional = { name, repetition_type: "OPTIONAL" } as const;
  switch (COLUMNS[name]) {
    case "text":
      return [{ ...optional, type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } }];
    case "texts":
      return [
        { ...optional, converted_type: "LIST", logical_type: { type: "LIST" }, num_children: 1 },
        { name: "list", repetition_type: "REPEATED", num_children: 1 },
        {
          name: "element",
          repetition_type: "OPTIONAL",
          type: "BYTE_ARRAY",
          converted_type: "UTF8",
          logical_type: { type: "STRING" },
        },
      ];
    case "time":
      return [
        {
          ...optional,
          type: "INT64",
          converted_type: "TIMESTAMP_MICROS",
          logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
        },
      ];
    case "boolean":
      return [{ ...optional, type: "BOOLEAN" }];
    case "integer":
      return [{ ...optional, type: "INT64" }];
    case "double":
      return [{ ...optional, type: "DOUBLE" }];
  }
}

/** Columns of ids that readers look runs up by. */
const BLOOMED: ReadonlySet<ExportField> = new Set(["id", "trace_id"]);

/** Whether the column has a bloom filter in each row group. */
export function hasBloom(field: ExportField): boolean {
  return BLOOMED.has(field);
}

/** The order of a row group's rows, as far as these columns tell it: `start_time`, then `id`. */
export function sortingColumns(fields: readonly ExportField[]): RowGroup["sorting_columns"] {
  const order = (["start_time", "id"] as const).map((field) => fields.indexOf(field));
  const known = order[0] === -1 ? [] : order.filter((column) => column !== -1);
  // A list has one column of values, too, so the place among the fields is that among the columns.
  return known.length === 0
    ? undefined
    : known.map((column_idx) => ({ column_idx, descending: false, nulls_first: false }));
}

export function columnKind(field: ExportField): Kind {
  return COLUMNS[field];
}

/** The element that holds a column's values, and the names that lead to it. */
export function findLeaf(field: ExportField): { element: SchemaElement; path: string[] } {
  const elements = columnSchema(field);
  return { element: elements.at(-1) as SchemaElement, path: elements.map(({ name }) => name) };
}
