/** Experiments side by side: their figures, and example by example what each gave. The first is the baseline. */
import { Link, useSearchParams } from "wouter";
import { costText, durationText } from "../../trace/format.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Back } from "../../page/Back.tsx";
import { Page } from "../../page/Page.tsx";
import { Empty, Loaded } from "../../page/states.tsx";
import css from "./experiments.module.css";
import { type ComparedRow, type Comparison, PAGE, type Result, useComparison } from "./queries.ts";

export function Compare({ dataset }: { dataset: string }) {
  const [params, setParams] = useSearchParams();
  const change = params.get("change") ?? "";
  const offset = Number(params.get("offset") ?? 0) || 0;
  const ids = params.getAll("experiment");
  const comparison = useComparison(dataset, ids, change, offset);
  const set = (name: string, value: string) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      next.delete("offset");
      next.delete(name);
      if (value !== "") next.set(name, value);
      return next;
    });
  return (
    <Page
      title="Compare experiments"
      purpose="The first experiment is the baseline of the others."
      back={<Back href="/console/experiments" name="Experiments" />}
      tools={
        ids.length > 1 && (
          <select
            className={`${controls.field} ${css.change}`}
            aria-label="Examples"
            value={change}
            onChange={(event) => set("change", event.target.value)}
          >
            <option value="">All examples</option>
            <option value="improved">Improved</option>
            <option value="regressed">Regressed</option>
          </select>
        )
      }
    >
      {ids.length === 0 ? (
        <Empty title="No experiment is chosen." text="Choose two or more of one dataset in the list of experiments." />
      ) : (
        <Loaded query={comparison} what="comparison">
          {(data) => (
            <>
              <Sides data={data} />
              {data.total > PAGE && (
                <div className={css.pages}>
                  <Button disabled={offset === 0} onClick={() => set("offset", String(Math.max(0, offset - PAGE)))}>
                    Previous
                  </Button>
                  <span>
                    {offset + 1}–{Math.min(offset + PAGE, data.total)} of {data.total.toLocaleString()}
                  </span>
                  <Button disabled={offset + PAGE >= data.total} onClick={() => set("offset", String(offset + PAGE))}>
                    Next
                  </Button>
                </div>
              )}
            </>
          )}
        </Loaded>
      )}
    </Page>
  );
}

function Sides({ data: { experiments, rows } }: { data: Comparison }) {
  const base = experiments[0];
  return (
    // What scrolls must be reachable by keyboard.
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
                  {one.run_count} runs
                  {one.error_count > 0 && ` · ${one.error_count} failed`}
                  {one.latency_p50 !== null && ` · p50 ${durationText(one.latency_p50)}`}
                  {one.total_cost > 0 && ` · ${costText(String(one.total_cost))}`}
                </span>
                {Object.entries(one.scores).map(([key, score]) => (
                  <span key={key} className={css.score}>
                    {key} {Number(score.toFixed(3))}
                    {i > 0 && <Difference by={score - (base?.scores[key] ?? score)} />}
                    {i > 0 && (
                      <span className={css.meta}>
                        {one.improved[key] ?? 0} better, {one.regressed[key] ?? 0} worse
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

/** The sign and the word say what the colour says. */
function Difference({ by }: { by: number }) {
  if (Math.abs(by) < 0.0005) return null;
  return (
    <span className={css.difference}>
      {by > 0 ? "+" : "−"}
      {Number(Math.abs(by).toFixed(3))}
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
            {key} {Number(score.toFixed(3))}
            {improved.includes(key) && ", better"}
            {regressed.includes(key) && ", worse"}
          </span>
        ))}
      </p>
    </>
  );
}

const CLIP = 400;

/** A value in a few lines: the only text of an object, else its JSON. */
function Text({ value }: { value: unknown }) {
  const only = typeof value === "object" && value !== null ? Object.values(value) : [value];
  const text = only.length === 1 && typeof only[0] === "string" ? only[0] : JSON.stringify(value);
  const shown = text ?? "";
  return <p className={css.text}>{shown.length > CLIP ? `${shown.slice(0, CLIP)}…` : shown}</p>;
}
