/** Feedback on a project as a whole, such as what summary evaluators of the SDKs give. */
import { database } from "../../db/client.ts";
import { showSum, sumFeedback } from "../review/feedback/sums.ts";
import { loadFeedback } from "./load.ts";
import { listPlaces } from "./store.ts";

/** Older feedback is left out. */
const MOST = 1_000;

/** `session_feedback_stats` of a project: the statistics of each key. */
export async function sessionFeedbackStats(
  env: Env,
  workspaceId: string,
  projectId: string,
): Promise<Record<string, object>> {
  const wanted = { session: [projectId], level: "session" as const, limit: MOST, offset: 0 };
  const places = await listPlaces(database(env.DB), workspaceId, wanted);
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
