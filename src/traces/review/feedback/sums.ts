/** Sums of feedback by key, of which statistics are made. Sums of several partitions can be added. */
import { clip } from "../../text.ts";
import { addCount } from "../../../limits/prices/usage.ts";
import type { FeedbackSum } from "../../types.ts";
import { database } from "../../../db/client.ts";
import { loadFeedback } from "./create.ts";
import { listFeedbackLocations } from "./store.ts";

const MAX_LABELS = 100;
/** The most characters of a label. */
export const MAX_LABEL = 250;

/** The columns of feedback that statistics need. */
export interface LightFeedback extends Record<string, SqlStorageValue> {
  key: string;
  score: number | null;
  /** The first characters of a string value. */
  label: string | null;
  error: number | null;
}

/** Feedback summed by key, so that sums of several partitions can be added. */
export function sumFeedback(rows: Iterable<LightFeedback>): Record<string, FeedbackSum> {
  const sums = new Map<string, FeedbackSum>();
  for (const row of rows) addFeedback(sums, row);
  return Object.fromEntries(sums);
}

export function addFeedback(sums: Map<string, FeedbackSum>, { key, score, label, error }: LightFeedback): void {
  const sum = sums.get(key) ?? { n: 0, scored: 0, sum: 0, squares: 0, min: null, max: null, errors: 0, values: {} };
  sums.set(key, sum);
  sum.n++;
  if (error === 1) sum.errors++;
  if (score !== null) addScore(sum, score);
  if (label !== null) addLabel(sum, label);
}

function addScore(sum: FeedbackSum, score: number): void {
  sum.scored++;
  sum.sum += score;
  sum.squares += score * score;
  sum.min = Math.min(sum.min ?? score, score);
  sum.max = Math.max(sum.max ?? score, score);
}

function addLabel(sum: FeedbackSum, value: string): void {
  const label = clip(value, MAX_LABEL);
  if (!Object.hasOwn(sum.values, label) && Object.keys(sum.values).length >= MAX_LABELS) return;
  addCount(sum.values, label, 1);
}

export function showSum({ n, scored, sum, squares, min, max, errors, values }: FeedbackSum) {
  const avg = scored === 0 ? null : sum / scored;
  const variance = avg === null ? null : Math.max(0, squares / scored - avg * avg);
  return { n, avg, stdev: variance === null ? null : Math.sqrt(variance), min, max, errors, values };
}

export function addSums(a: FeedbackSum, b: FeedbackSum): FeedbackSum {
  const values = { ...a.values };
  for (const [label, count] of Object.entries(b.values)) addCount(values, label, count);
  const extreme = (pick: (...values: number[]) => number, x: number | null, y: number | null) =>
    x === null || y === null ? (x ?? y) : pick(x, y);
  return {
    n: a.n + b.n,
    scored: a.scored + b.scored,
    sum: a.sum + b.sum,
    squares: a.squares + b.squares,
    min: extreme(Math.min, a.min, b.min),
    max: extreme(Math.max, a.max, b.max),
    errors: a.errors + b.errors,
    values,
  };
}

// Feedback on a project as a whole, such as what summary evaluators of the SDKs give.

/** Older feedback is left out. */
const MAX_FEEDBACK = 1_000;

/** `session_feedback_stats` of a project: the statistics of each key. */
export async function sessionFeedbackStats(
  env: Env,
  workspaceId: string,
  projectId: string,
): Promise<Record<string, object>> {
  const wanted = { session: [projectId], level: "session" as const, limit: MAX_FEEDBACK, offset: 0 };
  const places = await listFeedbackLocations(database(env.DB), workspaceId, wanted);
  const given = await loadFeedback(env, workspaceId, places);
  const sums = sumFeedback(
    given.map(({ key, score, value, error }) => ({
      key,
      score: score === null ? null : Number(score),
      label: typeof value === "string" ? value : null,
      error: error ? 1 : 0,
    })),
  );
  return Object.fromEntries(Object.entries(sums).map(([key, sum]) => [key, showSum(sum)]));
}
