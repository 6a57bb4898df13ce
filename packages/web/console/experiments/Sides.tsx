/** Experiments side by side: their figures, and example by example what each gave. The first is the baseline. */
import { Link } from "wouter";
import { costText, countText, durationText, scoreText } from "../../ui/format.ts";
import { briefly } from "../../traces/trace/messages.ts";
import css from "./experiments.module.css";
import type { ComparedRow, Comparison, Result } from "./queries.ts";

export function Sides({ data: { experiments, rows } }: { data: Comparison }) {
  const base = experiments[0];
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.scroller} role="region" aria-label="Examples side by side" tabIndex={0}>
      <table className={css.sides} aria-label="Comparison">
        <thead>
          <tr>
            <th scope="col">Example</th>
            {experiments.map((one, i) => (
              <th key={one.id} scope="col">
                <strong title={one.name}>{one.name}</strong>
                <span className={css.meta}>
                  {i === 0 && "baseline · "}
                  {countText(one.run_count)} runs
                  {one.error_count > 0 && ` · ${countText(one.error_count)} failed`}
                  {one.latency_p50 !== null && ` · p50 ${durationText(one.latency_p50)}`}
                  {one.total_cost > 0 && ` · ${costText(one.total_cost)}`}
                </span>
                {Object.entries(one.scores).map(([key, score]) => (
                  <span key={key} className={css.score}>
                    {key} {scoreText(score)}
                    {i > 0 && <Difference by={score - (base?.scores[key] ?? score)} />}
                    <Bar score={score} base={i > 0 ? base?.scores[key] : undefined} />
                    {i > 0 && (
                      <span className={css.meta}>
                        {countText(one.improved[key] ?? 0)} better, {countText(one.regressed[key] ?? 0)} worse
                      </span>
                    )}
                  </span>
                ))}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Example key={row.example_id} row={row} />
          ))}
          {rows.length === 0 && (
            <tr>
              <td colSpan={experiments.length + 1}>No example differs in this way.</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** A score from 0 to 1 as a bar, with a mark at the baseline's. Other scores have no bar. */
function Bar({ score, base }: { score: number; base: number | undefined }) {
  if (score < 0 || score > 1) return null;
  return (
    <svg className={css.bar} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden>
      <rect className={css.track} width={100} height={6} />
      <rect className={css.filled} width={score * 100} height={6} />
      {base !== undefined && base >= 0 && base <= 1 && (
        <rect className={css.mark} x={Math.min(98, base * 100)} width={2} height={6} />
      )}
    </svg>
  );
}

/** The sign and the word say what the colour says. */
function Difference({ by }: { by: number }) {
  if (Math.abs(by) < 0.0005) return null;
  return (
    <span className={css.difference}>
      {by > 0 ? "+" : "−"}
      {scoreText(Math.abs(by))}
    </span>
  );
}

function Example({ row: { example, results } }: { row: ComparedRow }) {
  return (
    <tr>
      <td>
        {example ? (
          <>
            <Text value={example.inputs} />
            <span className={css.meta}>Expected</span>
            <Text value={example.outputs} />
          </>
        ) : (
          <span className={css.meta}>The example is no longer in the dataset.</span>
        )}
      </td>
      {results.map((result) => (
        <td key={result.experiment_id}>
          <Given result={result} />
        </td>
      ))}
    </tr>
  );
}

function Given({ result: { runs, scores, improved, regressed, newly_failed } }: { result: Result }) {
  if (runs.length === 0) return <span className={css.meta}>Not run.</span>;
  return (
    <>
      {runs.map((run) => (
        <div key={run.id} className={css.run}>
          {run.error ? <p className={css.failed}>{run.error.split("\n")[0]}</p> : <Text value={run.outputs} />}
          <Link href={`/traces/${run.trace_id}`}>Trace{run.latency !== null && ` · ${durationText(run.latency)}`}</Link>
        </div>
      ))}
      {newly_failed && <p className={css.failed}>Fails, where the baseline does not.</p>}
      <p className={css.scores}>
        {Object.entries(scores).map(([key, score]) => (
          <span
            key={key}
            data-change={improved.includes(key) ? "better" : regressed.includes(key) ? "worse" : undefined}
          >
            {key} {scoreText(score)}
            {improved.includes(key) && ", better"}
            {regressed.includes(key) && ", worse"}
          </span>
        ))}
      </p>
    </>
  );
}

const CLIP = 400;

function Text({ value }: { value: unknown }) {
  return <p className={css.text}>{briefly(value, CLIP)}</p>;
}
