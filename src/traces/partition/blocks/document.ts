/** The text of a run that the grams of a block index. Filters use the same words (wanted.ts). */

/** The columns of a run whose whole value is known, each with the letter that marks it. */
const MARKS = {
  name: "n",
  run_type: "y",
  status: "s",
  thread_id: "h",
  parent_run_id: "p",
  reference_example_id: "x",
} as const;

export type MarkedColumn = keyof typeof MARKS;
export const MARKED = Object.keys(MARKS) as MarkedColumn[];

export function isMarked(column: string): column is MarkedColumn {
  return Object.hasOwn(MARKS, column);
}

/** The text of a whole value: the marks around it distinguish `step` from `steps`. */
export function markValue(column: MarkedColumn, value: string): string {
  return `\u0001${MARKS[column]}:${value}\u0002`;
}

/**
 * The columns whose text is known as it is stored. Tags, metadata and pairs are JSON as `JSON.stringify` writes it; inputs and
 * outputs are as their sender wrote them.
 */
export const RUN_TEXTS = ["error", "tags", "metadata"] as const;
export const PAYLOAD_TEXTS = ["inputs", "outputs", "input_pairs", "output_pairs"] as const;
