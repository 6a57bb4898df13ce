/** Sums of runs by hour, name, type, status, place and model: what statistics and charts are made of. */
import { HOUR_MICROS } from "../../time.ts";
import type { RunSums } from "../../types.ts";
import { USAGE_COLUMNS } from "./counted.ts";
import { clip } from "../../text.ts";
import { toStep } from "./durations.ts";

/** How many durations took each step. */
export type Sketch = Record<string, number>;

export interface GroupSums extends RunSums {
  latencies: Sketch;
  first_tokens: Sketch;
  /** The sums of `USAGE_COLUMNS` over the runs whose totals are their own (tables.ts). */
  own: number[];
}

export interface GroupKey {
  /** The first microsecond of the hour. */
  hour: number;
  name: string;
  run_type: string;
  status: string;
  is_root: number;
  model: string | null;
}

/** The most characters of a name or a model by which statistics are grouped. */
export const MAX_KEY_LENGTH = 200;

export type Group = GroupKey & GroupSums;
export type Groups = Map<string, Group>;

/** The columns that a group needs of `runs r`, in the order of `addRun`. */
export const GROUPED_COLUMNS = [
  "r.start_time",
  "r.name",
  "r.run_type",
  "r.status",
  "r.is_root",
  "r.spends",
  "r.metadata ->> '$.ls_model_name'",
  "r.end_time",
  "r.first_token_time",
  "r.total_tokens",
  "r.prompt_tokens",
  "r.completion_tokens",
  "r.total_cost",
  "r.prompt_cost",
  "r.completion_cost",
] as const;
export const GROUPED = GROUPED_COLUMNS.join(", ");

export const NO_SUMS: RunSums = {
  run_count: 0,
  error_count: 0,
  streaming_count: 0,
  total_tokens: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_cost: 0,
  prompt_cost: 0,
  completion_cost: 0,
  last_run_start_time: null,
};

/** Adds one row of `GROUPED`. `formatKey` says which group it belongs to. `isCounted`: whether its tokens and costs count. */
export function addRun(
  groups: Groups,
  row: SqlStorageValue[],
  formatKey: (key: GroupKey) => string,
  isCounted: (spends: boolean) => boolean = () => true,
): void {
  const [start, name, run_type, status, is_root, spends, model, end, first, ...counts] = row as [
    number,
    string,
    string,
    string,
    number,
    number,
    string | number | null,
    number | null,
    number | null,
    ...(number | null)[],
  ];
  const key = {
    hour: start - (start % HOUR_MICROS),
    name,
    run_type,
    status,
    is_root,
    model: model === null ? null : clip(String(model), MAX_KEY_LENGTH),
  };
  const group = findGroup(groups, formatKey(key), key);
  group.run_count++;
  if (status === "error") group.error_count++;
  if (first !== null) group.streaming_count++;
  USAGE_COLUMNS.forEach((name, i) => {
    const amount = counts[i] ?? 0;
    if (isCounted(spends === 1)) group[name] += amount;
    if (spends === 1) group.own[i] = (group.own[i] ?? 0) + amount;
  });
  group.last_run_start_time = Math.max(group.last_run_start_time ?? 0, start);
  // SDKs give beginnings by the microsecond and ends by the millisecond, so an end may seem to come first.
  if (end !== null) count(group.latencies, toStep(end - start), 1);
  if (first !== null) count(group.first_tokens, toStep(first - start), 1);
}

export function findGroup(groups: Groups, id: string, key: GroupKey): Group {
  const known = groups.get(id);
  if (known) return known;
  const group = { ...key, ...NO_SUMS, latencies: {}, first_tokens: {}, own: [] };
  groups.set(id, group);
  return group;
}

export function addSums(to: GroupSums, from: GroupSums): void {
  to.run_count += from.run_count;
  to.error_count += from.error_count;
  to.streaming_count += from.streaming_count;
  to.total_tokens += from.total_tokens;
  to.prompt_tokens += from.prompt_tokens;
  to.completion_tokens += from.completion_tokens;
  to.total_cost += from.total_cost;
  to.prompt_cost += from.prompt_cost;
  to.completion_cost += from.completion_cost;
  if (from.last_run_start_time !== null) {
    to.last_run_start_time = Math.max(to.last_run_start_time ?? 0, from.last_run_start_time);
  }
  from.own.forEach((sum, i) => (to.own[i] = (to.own[i] ?? 0) + sum));
  addSketch(to.latencies, from.latencies);
  addSketch(to.first_tokens, from.first_tokens);
}

export function addSketch(to: Sketch, from: Sketch): void {
  for (const step of Object.keys(from)) count(to, step, from[step] ?? 0);
}

function count(sketch: Sketch, step: string | number, n: number): void {
  sketch[step] = (sketch[step] ?? 0) + n;
}
