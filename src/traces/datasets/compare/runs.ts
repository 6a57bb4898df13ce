/** The root runs of experiments, reduced to what is compared. */
import { isObject, parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { type Find, findRuns } from "../../query/find.ts";
import type { QueriedRun } from "../../types.ts";
import type { ComparedRun } from "./compare.ts";

/** The most runs of an experiment. A compared run takes about 500 bytes of memory. */
const MOST_RUNS = 10_000;
const PAGE = 1_000;

/** The root runs of an experiment that refer to an example. @throws Problem 422 when there are too many */
export async function experimentRuns(env: Env, workspaceId: string, projectId: string): Promise<ComparedRun[]> {
  const compared: ComparedRun[] = [];
  const find = {
    projectIds: [projectId],
    selection: { isRoot: true },
    order: "asc" as const,
    limit: PAGE,
    payloads: [],
  };
  let after: Find["after"] = null;
  do {
    const page: Awaited<ReturnType<typeof findRuns>> = await findRuns(env, workspaceId, { ...find, after });
    compared.push(...page.runs.flatMap(comparedRun));
    if (compared.length > MOST_RUNS) {
      throw new Problem(422, `An experiment of more than ${MOST_RUNS} runs cannot be compared. Use an export.`);
    }
    after = page.next;
  } while (after);
  return compared;
}

function comparedRun(run: QueriedRun): ComparedRun[] {
  if (run.reference_example_id === null) return [];
  return [
    {
      id: run.id,
      exampleId: run.reference_example_id,
      startTime: run.start_time,
      failed: run.status === "error",
      latency: run.end_time === null ? null : Math.max(0, run.end_time - run.start_time),
      tokens: run.total_tokens ?? 0,
      cost: run.total_cost ?? 0,
      scores: readScores(run.feedback_stats),
    },
  ];
}

function readScores(feedbackStats: string | null): Record<string, number> {
  const stats = feedbackStats === null ? undefined : parseJson(feedbackStats);
  if (!isObject(stats)) return {};
  return Object.fromEntries(
    Object.entries(stats).flatMap(([key, sum]) =>
      isObject(sum) && typeof sum["avg"] === "number" ? [[key, sum["avg"]]] : [],
    ),
  );
}
