/** Facets narrow the list of traces without a filter to write: each is a member of the address and a condition. */

export const FACETS = ["status", "name", "model", "tag", "user", "feedback", "latency"] as const;

export type Facet = (typeof FACETS)[number];
export type Chosen = Readonly<Partial<Record<Facet, string>>>;

export const LATENCIES = ["1s", "5s", "30s", "60s"];

/** The facets that an address names. */
export const readFacets = (params: URLSearchParams): Chosen =>
  Object.fromEntries(FACETS.flatMap((facet) => (params.get(facet) ? [[facet, params.get(facet)]] : [])));

const text = (value: string) => JSON.stringify(value);
const metadata = (key: string, value: string) =>
  `and(eq(metadata_key, ${text(key)}), eq(metadata_value, ${text(value)}))`;

/** Feedback is a key, or a key with a bound: "correct", "correct>=0.5", "correct<0.5". */
function feedbackCondition(value: string): string {
  const [, key = value, operator, bound] = /^(.*?)(>=|<)(-?\d+(?:\.\d+)?)$/.exec(value) ?? [];
  const given = `eq(feedback_key, ${text(key)})`;
  if (operator === undefined) return given;
  return `and(${given}, ${operator === "<" ? "lt" : "gte"}(feedback_score, ${bound}))`;
}

/** Conditions on the run that is listed. */
const CONDITIONS: Record<Exclude<Facet, "model">, (value: string) => string> = {
  status: (value) => `eq(status, ${text(value)})`,
  name: (value) => `eq(name, ${text(value)})`,
  tag: (value) => `has(tags, ${text(value)})`,
  user: (value) => metadata("user_id", value),
  feedback: feedbackCondition,
  latency: (value) => `gt(latency, ${text(value)})`,
};

/** The conditions of the facets and the filter that was written, as the trace API takes them. A model is that of any run of the trace. */
export function writeConditions(chosen: Chosen, filter: string): { filter?: string; tree_filter?: string } {
  const conditions = filter === "" ? [] : [filter];
  for (const facet of FACETS) {
    const value = chosen[facet];
    if (facet !== "model" && value !== undefined) conditions.push(CONDITIONS[facet](value));
  }
  const [first, ...more] = conditions;
  return {
    ...(first !== undefined && { filter: more.length === 0 ? first : `and(${conditions.join(", ")})` }),
    ...(chosen.model !== undefined && { tree_filter: metadata("ls_model_name", chosen.model) }),
  };
}

/** The facets but one: its own values are counted without it. */
export const withoutFacet = (chosen: Chosen, facet: Facet): Chosen => ({ ...chosen, [facet]: undefined });

/** Statuses as the API names them; the list has them in upper case. */
export const STATUSES = ["success", "error", "pending"] as const;
