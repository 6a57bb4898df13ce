/** The comparison of experiments: which examples are shown, and which experiment is the baseline. */
import { useSearchParams } from "wouter";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Back, Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import css from "./experiments.module.css";
import { PAGE, useComparison } from "./queries.ts";
import { Sides } from "./Sides.tsx";
import { countText } from "../../ui/format.ts";

export function Compare({ id: dataset }: { id: string }) {
  const [params, setParams] = useSearchParams();
  const change = params.get("change") ?? "";
  const offset = Number(params.get("offset") ?? 0) || 0;
  // The LangSmith SDKs print addresses that name the experiments in `selectedSessions`.
  const ids = [...params.getAll("experiment"), ...(params.get("selectedSessions")?.split(",") ?? [])];
  const comparison = useComparison(dataset, ids, change, offset);
  const set = (name: string, value: string) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      next.delete("offset");
      next.delete(name);
      if (value !== "") next.set(name, value);
      return next;
    });
  const setBaseline = (id: string) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      next.delete("offset");
      next.delete("experiment");
      next.delete("selectedSessions");
      for (const one of new Set([id, ...ids])) next.append("experiment", one);
      return next;
    });
  return (
    <Page
      title="Compare experiments"
      purpose="Each experiment is compared with the baseline."
      back={<Back href="/console/experiments" name="Experiments" />}
      tools={
        ids.length > 1 && (
          <>
            {comparison.data && (
              <select
                className={`${controls.field} ${css.change}`}
                aria-label="Baseline"
                value={ids[0]}
                onChange={(event) => setBaseline(event.target.value)}
              >
                {comparison.data.experiments.map(({ id, name }) => (
                  <option key={id} value={id}>
                    Baseline: {name}
                  </option>
                ))}
              </select>
            )}
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
          </>
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
                    {countText(offset + 1)}–{countText(Math.min(offset + PAGE, data.total))} of {countText(data.total)}
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
