/** How far the reviewers of completed runs agree. */
import type { Given, QueuedRun } from "./queries.ts";

/** What each reviewer gave a run for a key. */
export interface Judged {
  run: QueuedRun;
  key: string;
  scores: { reviewer: string; score: number | string; comment: string | null }[];
  /** Undefined with fewer than two reviewers. */
  agrees: boolean | undefined;
}

/** The scores by run and key. Those on which reviewers differ come first. */
export function collectJudged(runs: QueuedRun[], given: Given[]): Judged[] {
  const byRun = Map.groupBy(given, ({ run_id }) => run_id);
  const all = runs.flatMap((run) => {
    const own = (byRun.get(run.id) ?? []).filter(({ feedback_source }) =>
      run.completed_by.includes(feedback_source.user_id ?? ""),
    );
    return [...Map.groupBy(own, ({ key }) => key)].flatMap(([key, some]): Judged[] => {
      const scores = some.flatMap(({ score, value, comment, feedback_source }) => {
        const said = score === null ? value : Number(score);
        if (typeof said !== "number" && typeof said !== "string") return [];
        return [{ reviewer: feedback_source.user_id ?? "", score: said, comment }];
      });
      const agrees = scores.length < 2 ? undefined : scores.every(({ score }) => score === scores[0]?.score);
      return scores.length === 0 ? [] : [{ run, key, scores, agrees }];
    });
  });
  const rank = ({ agrees }: Judged) => (agrees === false ? 0 : agrees === undefined ? 2 : 1);
  return all.toSorted((a, b) => rank(a) - rank(b));
}

export interface Agreement {
  key: string;
  /** Runs that two reviewers or more have scored, and those of them with one score. */
  of: number;
  agreed: number;
}

export function computeAgreements(judged: Judged[]): Agreement[] {
  const compared = judged.filter(({ agrees }) => agrees !== undefined);
  return [...Map.groupBy(compared, ({ key }) => key)].map(([key, some]) => ({
    key,
    of: some.length,
    agreed: some.filter(({ agrees }) => agrees).length,
  }));
}
