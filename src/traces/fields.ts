/** What can be filtered: every field with its type, and which operators a type takes. */

export type Comparison = "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "like";

/** `error`: a text, of which true and false ask whether there is one. `value`: any scalar of JSON, compared as text. */
export type FieldType = "id" | "text" | "error" | "value" | "time" | "duration" | "number" | "boolean";

/** Fields of the run itself. */
export const FIELDS = {
  id: "id",
  trace_id: "id",
  parent_run_id: "id",
  session_id: "id",
  reference_example_id: "id",
  thread_id: "text",
  name: "text",
  run_type: "text",
  status: "text",
  error: "error",
  trace_tier: "text",
  dotted_order: "text",
  start_time: "time",
  end_time: "time",
  first_token_time: "time",
  latency: "duration",
  total_tokens: "number",
  prompt_tokens: "number",
  completion_tokens: "number",
  total_cost: "number",
  prompt_cost: "number",
  completion_cost: "number",
  execution_order: "number",
  is_root: "boolean",
} as const satisfies Record<string, FieldType>;

export type Field = keyof typeof FIELDS;

/** Entries of a run that are tested by key and value together, inside one `and`. */
export const PAIR_FIELDS = {
  metadata_key: { kind: "metadata", part: "key" },
  metadata_value: { kind: "metadata", part: "value" },
  input_key: { kind: "input", part: "key" },
  input_value: { kind: "input", part: "value" },
  output_key: { kind: "output", part: "key" },
  output_value: { kind: "output", part: "value" },
  feedback_key: { kind: "feedback", part: "key" },
  feedback_score: { kind: "feedback", part: "score" },
  feedback_value: { kind: "feedback", part: "value" },
  feedback_source: { kind: "feedback", part: "source" },
} as const;

export type PairField = keyof typeof PAIR_FIELDS;
export type PairKind = (typeof PAIR_FIELDS)[PairField]["kind"];
export type PairPart = (typeof PAIR_FIELDS)[PairField]["part"];

export type Operator = Comparison | "in";

/** The types of the parts of entries. */
export const PART_TYPES = { key: "text", value: "value", source: "text", score: "number" } as const satisfies Record<
  PairPart,
  FieldType
>;

const ORDERED: Operator[] = ["eq", "neq", "gt", "gte", "lt", "lte"];

export const OPERATORS: Record<FieldType, readonly Operator[]> = {
  id: ["eq", "neq", "in"],
  text: ["eq", "neq", "in", "like"],
  error: ["eq", "neq", "in", "like"],
  value: ["eq", "neq", "in", "like"],
  time: ORDERED,
  duration: ORDERED,
  number: [...ORDERED, "in"],
  boolean: ["eq", "neq"],
};

export const PAIR_OPERATORS: Record<PairPart, readonly Operator[]> = {
  key: ["eq", "neq", "in", "like"],
  value: ["eq", "neq", "in", "like"],
  source: ["eq", "neq", "in"],
  score: [...ORDERED, "in"],
};

/** Fields that `search(field, text)` looks into. */
export const SEARCH_FIELDS = ["inputs", "outputs", "error", "name"] as const;
export type SearchField = (typeof SEARCH_FIELDS)[number];

export function isField(name: string): name is Field {
  return Object.hasOwn(FIELDS, name);
}

export function isPairField(name: string): name is PairField {
  return Object.hasOwn(PAIR_FIELDS, name);
}
