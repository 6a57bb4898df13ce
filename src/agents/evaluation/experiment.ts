/** Runs an assistant over the examples of a dataset, as one experiment with scores. */
import { type Evaluator, type EvaluatorScore, readResponse, runAssistant, type SendRequest } from "./evaluators.ts";

export interface ExperimentExample {
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown> | null;
  metadata?: Record<string, unknown>;
}

export interface ExperimentOptions {
  dataset: string;
  /** Only this split. */
  split?: string;
  assistant: string;
  /** The experiment's name begins with it. */
  prefix: string;
  evaluators: Evaluator[];
  /** Runs at the same time. */
  concurrency: number;
  signal?: AbortSignal;
  onProgress?: (progress: ExperimentProgress) => void;
}

export interface ExperimentProgress {
  experiment: Experiment;
  of: number;
  done: number;
  /** Runs that failed, and evaluators that did. */
  failed: number;
  unscored: number;
  /** Runs that the server did not start, or whose answer was lost. */
  refused: number;
  /** The first refusal, or fault of an evaluator. */
  trouble?: string;
}

export interface Experiment {
  id: string;
  name: string;
}

const PAGE = 100;
/** After this many refusals in a row no more runs are sent. */
const MAX_REFUSALS = 5;

async function readExamples(
  send: SendRequest,
  dataset: string,
  split: string | undefined,
): Promise<ExperimentExample[]> {
  const all: ExperimentExample[] = [];
  // One version of the dataset, so that examples which are added or deleted meanwhile do not move the pages.
  const versions = `/api/v1/datasets/${encodeURIComponent(dataset)}/versions?limit=1`;
  const [version] = await readResponse<{ as_of: string }[]>(send, "GET", versions);
  if (!version) return all;
  for (;;) {
    const page = { dataset, as_of: version.as_of, limit: String(PAGE), offset: String(all.length) };
    const query = new URLSearchParams(page);
    if (split !== undefined) query.set("splits", split);
    const examples = await readResponse<ExperimentExample[]>(send, "GET", `/api/v1/examples?${String(query)}`);
    all.push(...examples);
    if (examples.length < PAGE) return all;
  }
}

/**
 * A run that is refused is counted, and the others continue.
 *
 * @throws Error when the dataset has no example, or the server refuses all runs or `MAX_REFUSALS` of them in a row
 */
export async function runExperiment(send: SendRequest, wanted: ExperimentOptions): Promise<ExperimentProgress> {
  const { dataset, split, assistant, prefix, evaluators, concurrency, signal, onProgress } = wanted;
  const examples = await readExamples(send, dataset, split);
  if (examples.length === 0) throw new Error("The dataset has no example here.");
  const experiment = await readResponse<Experiment>(send, "POST", "/api/v1/sessions", {
    name: `${prefix}-${crypto.randomUUID().slice(0, 8)}`,
    reference_dataset_id: dataset,
    start_time: new Date().toISOString(),
    extra: { metadata: { assistant_id: assistant, ...(split !== undefined && { dataset_split: split }) } },
  });
  let progress: ExperimentProgress = { experiment, of: examples.length, done: 0, failed: 0, unscored: 0, refused: 0 };
  const say = (change: Partial<ExperimentProgress>) => {
    progress = { ...progress, ...change };
    onProgress?.(progress);
  };
  say({});
  /** Keeps the first fault. */
  const note = (error: unknown) =>
    say({ trouble: progress.trouble ?? (error instanceof Error ? error.message : String(error)) });
  let refusal: unknown;
  let refusals = 0;
  const waiting = examples.values();
  const work = async (): Promise<void> => {
    for (const example of waiting) {
      if (signal?.aborted || refusals >= MAX_REFUSALS) return;
      const run = await runAssistant(send, assistant, example.inputs, {
        langsmith_tracer: { project_name: experiment.name, example_id: example.id },
      }).catch((error: unknown) => {
        refusal = error;
        note(error);
        return undefined;
      });
      refusals = run ? 0 : refusals + 1;
      if (!run) say({ refused: progress.refused + 1 });
      else if (run.error !== undefined) say({ failed: progress.failed + 1 });
      else
        for (const evaluate of evaluators)
          await evaluate({
            inputs: example.inputs,
            outputs: run.outputs,
            referenceOutputs: example.outputs ?? undefined,
            example: { id: example.id, metadata: example.metadata ?? {} },
            run: { id: run.id },
          })
            .then((scores) => store(send, experiment, run.id, scores))
            .catch((error: unknown) => {
              note(error);
              say({ unscored: progress.unscored + 1 });
            });
      say({ done: progress.done + 1 });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, examples.length) }, work));
  await readResponse(send, "PATCH", `/api/v1/sessions/${experiment.id}`, { end_time: new Date().toISOString() });
  if (refusals >= MAX_REFUSALS || (refusals > 0 && progress.refused === progress.done)) throw refusal;
  await waitUntilStored(send, experiment, progress.done - progress.refused);
  return progress;
}

async function store(send: SendRequest, experiment: Experiment, run: string, scores: EvaluatorScore[]): Promise<void> {
  for (const score of scores)
    await readResponse(send, "POST", "/api/v1/feedback", {
      ...score,
      id: crypto.randomUUID(),
      run_id: run,
      trace_id: run,
      session_id: experiment.id,
      feedback_source: { type: "model" },
    });
}

const AGAIN_MS = 500;
const LOOKS = 60;

/** Waits until the traces of the runs are stored: that is after the runs. */
async function waitUntilStored(send: SendRequest, { id }: Experiment, runs: number): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const { run_count } = await readResponse<{ run_count?: number }>(send, "GET", `/api/v1/sessions/${id}`);
    if ((run_count ?? 0) >= runs) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  throw new Error(
    "The traces of the experiment are not stored. A server with an empty TRACE_PROJECT does not trace its own runs.",
  );
}
