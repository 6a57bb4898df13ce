/** The completed runs: what each reviewer gave, and how far they agree. Differences come first. */
import { Link } from "wouter";
import { useMe } from "../../api/me.ts";
import { Empty, Loaded } from "../../resources/states.tsx";
import { briefly } from "../../traces/trace/messages.ts";
import { type Queue, useCompleted, type Feedback, type QueuedRun } from "./queries.ts";
import css from "./queues.module.css";
import { listChoices } from "./rubric.ts";
import { countText } from "../../ui/format.ts";
import { shareText } from "../../ui/shares.ts";

export function Completed({ queue }: { queue: Queue }) {
  const completed = useCompleted(queue.id);
  return (
    <Loaded query={completed} what="completed runs">
      {({ runs, given, size }) => {
        const judged = collectJudged(runs, given);
        const agreements = computeAgreements(judged);
        if (judged.length === 0)
          return <Empty title="No run is completed." text="A run is completed when enough people have scored it." />;
        return (
          <>
            {agreements.length > 0 && (
              <dl className={css.agreement} aria-label="Agreement">
                {agreements.map(({ key, of, agreed }) => (
                  <div key={key}>
                    <dt>{key}</dt>
                    <dd>
                      {shareText(agreed / of)}{" "}
                      <small>
                        agree on {agreed} of {of}
                      </small>
                    </dd>
                  </div>
                ))}
              </dl>
            )}
            {/* A box that scrolls must be reachable by keyboard. */}
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
            <div className={css.scroller} role="region" aria-label="Scores by reviewer" tabIndex={0}>
              <table className={css.scores} aria-label="Completed runs">
                <thead>
                  <tr>
                    <th scope="col">Run</th>
                    <th scope="col">Key, agreement</th>
                    <th scope="col">Scores</th>
                  </tr>
                </thead>
                <tbody>
                  {judged.map((one) => (
                    <Row key={`${one.run.id} ${one.key}`} judged={one} queue={queue} />
                  ))}
                </tbody>
              </table>
            </div>
            {size > runs.length && (
              <p className={css.more}>
                The newest {countText(runs.length)} of {countText(size)}.
              </p>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Row({ judged: { run, key, scores, agrees }, queue }: { judged: Judged; queue: Queue }) {
  const { data: me } = useMe();
  const item = queue.rubric_items.find(({ feedback_key }) => feedback_key === key);
  const choices = item && listChoices(item);
  const labelScore = (score: number | string) =>
    choices?.find((choice) => choice.score === score)?.label ?? String(score);
  return (
    <tr>
      <td>
        <Link href={`/traces/${run.trace_id}?run=${run.id}`}>{briefly(run.inputs)}</Link>
      </td>
      <td>
        {key}
        <span className={css.agrees} data-agrees={agrees}>
          {agrees === undefined ? "One reviewer" : agrees ? "Agree" : "Differ"}
        </span>
      </td>
      <td>
        <ul>
          {scores.map(({ reviewer, score, comment }) => (
            <li key={reviewer} title={reviewer}>
              {labelScore(score)} <small>{reviewer === me?.id ? "you" : reviewer.slice(-6)}</small>
              {comment && <q>{comment}</q>}
            </li>
          ))}
        </ul>
      </td>
    </tr>
  );
}

// How far the reviewers of completed runs agree.

/** The score of each reviewer for a key of a run. */
interface Judged {
  run: QueuedRun;
  key: string;
  scores: { reviewer: string; score: number | string; comment: string | null }[];
  /** Undefined with fewer than two reviewers. */
  agrees: boolean | undefined;
}

/** The scores by run and key. Those on which reviewers differ come first. */
function collectJudged(runs: QueuedRun[], given: Feedback[]): Judged[] {
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

interface Agreement {
  key: string;
  /** Runs that two reviewers or more have scored, and those of them with one score. */
  of: number;
  agreed: number;
}

function computeAgreements(judged: Judged[]): Agreement[] {
  const compared = judged.filter(({ agrees }) => agrees !== undefined);
  return [...Map.groupBy(compared, ({ key }) => key)].map(([key, some]) => ({
    key,
    of: some.length,
    agreed: some.filter(({ agrees }) => agrees).length,
  }));
}
