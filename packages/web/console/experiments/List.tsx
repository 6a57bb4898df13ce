/** The experiments by dataset. Two to five of one dataset can be compared; the oldest of them is the baseline. */
import { useState } from "react";
import { useLocation } from "wouter";
import { useMay } from "../../api/me.ts";
import { SERVER } from "../../api/server.ts";
import { countText, durationText, scoreText } from "../../ui/format.ts";
import { shareText } from "../../ui/shares.ts";
import { Button } from "../../ui/Button.tsx";
import { NewLink } from "../../resources/ListPage.tsx";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import css from "./experiments.module.css";
import { EXPERIMENT_NEEDS, RESOURCE, type Dataset, type Experiment, useExperiments } from "./queries.ts";

const MOST = 5;

const EVALUATE = `import { evaluate } from "langsmith/evaluation";

// LANGSMITH_ENDPOINT=${SERVER}
await evaluate(target, {
  data: "questions",
  evaluators: [correct],
  experimentPrefix: "first",
});`;

export function List() {
  const experiments = useExperiments();
  const may = useMay();
  return (
    <Page
      title="Experiments"
      purpose="Results of your agent on a dataset, compared across changes."
      actions={EXPERIMENT_NEEDS.every(may) && <NewLink {...RESOURCE} />}
    >
      <Loaded query={experiments} what="experiments">
        {({ datasets, experiments: all }) =>
          all.length === 0 ? (
            <Empty
              title="No experiments yet."
              text="An experiment runs an assistant, or your own code, on every example of a dataset. Start one with the button above, with weir eval, or with the LangSmith SDK:"
              command={EVALUATE}
            />
          ) : (
            <>
              {datasets.map((dataset) => {
                const own = all.filter(({ reference_dataset_id }) => reference_dataset_id === dataset.id);
                return own.length > 0 && <OfDataset key={dataset.id} dataset={dataset} experiments={own} />;
              })}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function OfDataset({ dataset, experiments }: { dataset: Dataset; experiments: Experiment[] }) {
  const [, navigate] = useLocation();
  const [chosen, setChosen] = useState<string[]>([]);
  const address = (ids: string[]) =>
    `/console/experiments/${dataset.id}?${new URLSearchParams(ids.map((id) => ["experiment", id]))}`;
  const toggle = (id: string) =>
    setChosen((now) => {
      if (now.includes(id)) return now.filter((one) => one !== id);
      // Past the most, the baseline stays.
      const next = now.length < MOST ? [...now, id] : [...now.toSpliced(1, 1), id];
      return oldestFirst(experiments, next);
    });
  return (
    <section aria-label={dataset.name}>
      <div className={css.head}>
        <h2>{dataset.name}</h2>
        {experiments.length > 1 && (
          <>
            <span className={css.hint}>
              {chosen.length < 2 ? `Select 2 to ${MOST} to compare` : "The oldest is the baseline"}
            </span>
            <Button disabled={chosen.length < 2} onClick={() => navigate(address(chosen))}>
              {chosen.length < 2 ? "Compare" : `Compare ${chosen.length}`}
            </Button>
          </>
        )}
      </div>
      <Table
        label={`Experiments of ${dataset.name}`}
        columns={buildColumns(chosen, toggle)}
        rows={experiments}
        rowKey={({ id }) => id}
        onOpen={({ id }) => navigate(address(withOlder(experiments, id)))}
      />
    </section>
  );
}

/** A change is read against what was before it, in whichever order the two were selected. */
function oldestFirst(experiments: Experiment[], ids: string[]): string[] {
  const chosen = experiments.filter(({ id }) => ids.includes(id));
  return chosen.toSorted((a, b) => Date.parse(a.start_time) - Date.parse(b.start_time)).map(({ id }) => id);
}

/** An experiment with the one before it, which is its baseline. */
function withOlder(experiments: Experiment[], id: string): string[] {
  const byAge = oldestFirst(
    experiments,
    experiments.map((one) => one.id),
  );
  const at = byAge.indexOf(id);
  return byAge.slice(Math.max(0, at - 1), at + 1);
}

function buildColumns(chosen: string[], toggle: (id: string) => void): Column<Experiment>[] {
  return [
    {
      id: "chosen",
      name: "",
      width: 40,
      kept: true,
      cell: ({ id, name }) => (
        <input
          type="checkbox"
          className={css.check}
          aria-label={`Compare ${name}`}
          checked={chosen.includes(id)}
          onChange={() => toggle(id)}
        />
      ),
    },
    {
      id: "name",
      name: "Experiment",
      width: 140,
      kept: true,
      grows: true,
      cell: ({ id, name }) => (
        <>
          {name}
          {chosen[0] === id && chosen.length > 1 && <span className={css.baseline}> baseline</span>}
        </>
      ),
    },
    {
      id: "scores",
      name: "Scores",
      width: 150,
      kept: true,
      cell: ({ feedback_stats }) =>
        Object.entries(feedback_stats ?? {})
          .map(
            ([key, { avg, n }]) => `${key} ${avg === null || avg === undefined ? `${countText(n)}×` : scoreText(avg)}`,
          )
          .join(", "),
    },
    {
      id: "runs",
      name: "Runs",
      width: 64,
      end: true,
      cell: ({ run_count }) => typeof run_count === "number" && countText(run_count),
    },
    {
      id: "errors",
      name: "Error rate",
      width: 88,
      end: true,
      cell: ({ error_rate }) => shareText(error_rate ?? 0),
    },
    {
      id: "latency",
      name: "Latency p50",
      width: 96,
      detail: true,
      end: true,
      cell: ({ latency_p50 }) => typeof latency_p50 === "number" && durationText(latency_p50),
    },
    {
      id: "time",
      name: "Started",
      width: 88,
      detail: true,
      end: true,
      cell: ({ start_time }) => <Time at={start_time} />,
    },
  ];
}
