/** Starts an experiment of an assistant over a dataset, and follows it. The page sends the runs, so it must stay open. */
import { useEffect, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import {
  containsExpected,
  type Evaluator,
  exactMatch,
  createJudge,
  type SendRequest,
} from "../../../../src/agents/evaluation/evaluators.ts";
import { type ExperimentProgress, runExperiment } from "../../../../src/agents/evaluation/experiment.ts";
import { authFetch } from "../../api/http.ts";
import { queryClient, useAssistants } from "../../api/queries.ts";
import type { Assistant } from "../../api/types.ts";
import { NewPage } from "../../resources/NewPage.tsx";
import { Loaded } from "../../resources/states.tsx";
import { useAction } from "../../api/me.ts";
import { Form, Input, Select } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import work from "../../resources/work.module.css";
import css from "./experiments.module.css";
import { EXPERIMENT_NEEDS, RESOURCE, type Dataset, type Experiment, useExperiments, useSplits } from "./queries.ts";

const send: SendRequest = (method, path, body) =>
  authFetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });

/** A browser has six connections to a server: some stay free for the page. */
const CONCURRENCY = 4;

/** `?dataset=<id>` chooses the dataset. */
export function New() {
  const experiments = useExperiments();
  const assistants = useAssistants();
  return (
    <NewPage resource={RESOURCE} purpose="Run an assistant on each example of a dataset.">
      <Loaded query={experiments} what="datasets">
        {(data) => (
          <Loaded query={assistants} what="assistants">
            {(all) => <Start datasets={data.datasets} experiments={data.experiments} assistants={all} />}
          </Loaded>
        )}
      </Loaded>
    </NewPage>
  );
}

function Start({
  datasets,
  experiments,
  assistants,
}: {
  datasets: Dataset[];
  experiments: Experiment[];
  assistants: Assistant[];
}) {
  const [, navigate] = useLocation();
  const given = new URLSearchParams(useSearch()).get("dataset");
  const first = assistants[0]?.assistant_id ?? "";
  const [draft, setDraft] = useState({
    dataset: given ?? datasets[0]?.id ?? "",
    split: "",
    assistant: first,
    prefix: "",
    baseline: "newest",
    exact: true,
    contains: false,
    judge: "",
    criteria: "",
  });
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const splits = useSplits(draft.dataset);
  const action = useAction(...EXPERIMENT_NEEDS);
  const [progress, setProgress] = useState<ExperimentProgress>();
  const stop = useRef<AbortController>(undefined);
  const older = experiments
    .filter(({ reference_dataset_id }) => reference_dataset_id === draft.dataset)
    .toSorted((a, b) => Date.parse(b.start_time) - Date.parse(a.start_time));
  useEffect(() => () => stop.current?.abort(), []);
  useEffect(() => {
    if (!action.busy) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [action.busy]);
  const run = async () => {
    if (draft.judge !== "" && draft.criteria.trim() === "")
      throw new Error("Write what is a good answer, for the judge.");
    const evaluators: Evaluator[] = [
      ...(draft.exact ? [exactMatch] : []),
      ...(draft.contains ? [containsExpected] : []),
      ...(draft.judge !== ""
        ? [createJudge(send, { assistant: draft.judge, criteria: draft.criteria.trim(), key: "judge" })]
        : []),
    ];
    const controller = (stop.current = new AbortController());
    const name = assistants.find(({ assistant_id }) => assistant_id === draft.assistant)?.name ?? "experiment";
    const { experiment, unscored, refused } = await runExperiment(send, {
      dataset: draft.dataset,
      assistant: draft.assistant,
      prefix: draft.prefix.trim() === "" ? name : draft.prefix.trim(),
      evaluators,
      concurrency: CONCURRENCY,
      signal: controller.signal,
      onProgress: setProgress,
      ...(draft.split !== "" && { split: draft.split }),
    });
    await queryClient.invalidateQueries({ queryKey: ["experiments"] });
    // Errors stay in view.
    if (unscored > 0 || refused > 0 || controller.signal.aborted) return;
    const before = draft.baseline === "newest" ? older[0]?.id : draft.baseline;
    const ids = [...(before ? [before] : []), experiment.id].map((id) => ["experiment", id]);
    navigate(`/console/experiments/${draft.dataset}?${new URLSearchParams(ids)}`);
  };
  return (
    <div className={work.form}>
      <Form
        action={action}
        submit="Run experiment"
        onSubmit={run}
        onCancel={() => (action.busy ? stop.current?.abort() : navigate("/console/experiments"))}
      >
        <Select
          label="Dataset"
          value={draft.dataset}
          onChange={({ target }) => set({ dataset: target.value, split: "" })}
        >
          {datasets.map(({ id, name, example_count }) => (
            <option key={id} value={id}>
              {name} ({example_count ?? 0})
            </option>
          ))}
        </Select>
        <div className={parts.pair}>
          <Select label="Split" value={draft.split} onChange={({ target }) => set({ split: target.value })}>
            <option value="">All examples</option>
            {splits.data?.map((split) => (
              <option key={split}>{split}</option>
            ))}
          </Select>
          <Select
            label="Compare with"
            value={draft.baseline}
            onChange={({ target }) => set({ baseline: target.value })}
          >
            <option value="newest">The newest experiment</option>
            {older.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
            <option value="">No experiment</option>
          </Select>
        </div>
        <div className={parts.pair}>
          <Select label="Assistant" value={draft.assistant} onChange={({ target }) => set({ assistant: target.value })}>
            {assistants.map(({ assistant_id, name }) => (
              <option key={assistant_id} value={assistant_id}>
                {name}
              </option>
            ))}
          </Select>
          <Input
            label="Name"
            help="The experiment’s name begins with it."
            value={draft.prefix}
            onChange={({ target }) => set({ prefix: target.value })}
          />
        </div>
        <fieldset className={css.evaluators}>
          <legend>Scores</legend>
          <label className={parts.choice}>
            <input type="checkbox" checked={draft.exact} onChange={({ target }) => set({ exact: target.checked })} />
            <span>
              exact_match <small>The answer is the expected one.</small>
            </span>
          </label>
          <label className={parts.choice}>
            <input
              type="checkbox"
              checked={draft.contains}
              onChange={({ target }) => set({ contains: target.checked })}
            />
            <span>
              contains_expected <small>The answer contains the expected one.</small>
            </span>
          </label>
          <Select
            label="Judge"
            help="An assistant that scores each answer from 0 to 1. It runs once for each example."
            value={draft.judge}
            onChange={({ target }) => set({ judge: target.value })}
          >
            <option value="">No judge</option>
            {assistants.map(({ assistant_id, name }) => (
              <option key={assistant_id} value={assistant_id}>
                {name}
              </option>
            ))}
          </Select>
          {draft.judge !== "" && (
            <Input
              label="What is a good answer"
              value={draft.criteria}
              onChange={({ target }) => set({ criteria: target.value })}
            />
          )}
        </fieldset>
        {progress && <Followed progress={progress} />}
        {action.busy && <p className={work.note}>Keep this page open until the experiment has ended.</p>}
      </Form>
    </div>
  );
}

function Followed({
  progress: { experiment, of, done, failed, unscored, refused, trouble },
}: {
  progress: ExperimentProgress;
}) {
  return (
    <div className={css.progress}>
      <progress max={of} value={done} aria-label="Examples that are done" />
      <p role="status">
        {experiment.name}: {done} of {of} done
        {failed > 0 && `, ${failed} failed`}
        {refused > 0 && `, ${refused} refused`}
        {unscored > 0 && `, ${unscored} scores missing`}
      </p>
      {trouble !== undefined && <p className={work.trouble}>{trouble}</p>}
    </div>
  );
}
