/** The completed runs: what each reviewer gave, and how far they agree. Differences come first. */
import { Link } from "wouter";
import { useMe } from "../../api/me.ts";
import { Empty, Loaded } from "../../resources/states.tsx";
import { briefly } from "../datasets/briefly.ts";
import { computeAgreements, type Judged, collectJudged } from "./agreement.ts";
import { type Queue, useCompleted } from "./queries.ts";
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
            {/* What scrolls must be reachable by keyboard. */}
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
