/** Validates filters: their syntax, and the number of values that one SQL statement can bind. */
import { type KeySource, loadRing } from "../../access/encryption/keys.ts";
import { Problem } from "../../lib/problem.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { compileFilter } from "../partition/read/condition.ts";

/** The platform binds at most 100 parameters per statement, and a query has some besides its filters. */
const MAX_VALUES = 80;

/** Whether a filter tests what a run was given or said. */
function readsContent(filter: Filter): boolean {
  switch (filter.op) {
    case "and":
    case "or":
      return filter.args.some(readsContent);
    case "not":
      return readsContent(filter.arg);
    case "compare":
    case "in":
      return filter.field === "error";
    case "search":
      return filter.fields.some((field) => field !== "name");
    case "pair":
      return filter.kind === "input" || filter.kind === "output";
    case "tag":
    case "contains":
    case "exists":
      return false;
  }
}

/**
 * 422 for a filter on content in a workspace that encrypts: an answer without the encrypted runs would look complete. The filters
 * must have been checked.
 */
export async function requireReadable(
  env: KeySource,
  workspaceId: string,
  texts: (string | null | undefined)[],
): Promise<void> {
  if (!texts.some((text) => text && readsContent(parseFilter(text)))) return;
  if (!(await loadRing(env, workspaceId)).isOn) return;
  throw new Problem(
    422,
    "This workspace encrypts inputs, outputs and errors of traces, so filters cannot read them. Filter by name, metadata, tags or figures.",
  );
}

/**
 * Checks the filters of one query.
 * @throws Problem 400 for a syntax error, or for more than 80 values in all filters. A condition has one value, `search` up to
 * four, and `has(metadata, …)` two for each entry.
 */
export function checkFilters(texts: (string | undefined)[]): void {
  let values = 0;
  for (const text of texts) {
    if (text === undefined) continue;
    values += compileFilter(parseFilter(text), "r", { session_id: "", trace_tier: "longlived" }).values.length;
  }
  if (values > MAX_VALUES) {
    throw new Problem(
      400,
      `Invalid filter: the filters of a query hold at most ${MAX_VALUES} values, and these ${values}.`,
    );
  }
}
