/** `list_experiments` and `read_experiment`. */
import * as v from "valibot";
import { Problem } from "../../../lib/problem.ts";
import { between, describe, Text, Uuid, findDatasetId, defineTool } from "./tool.ts";
import { cutValue, joinLines, type ServerApi } from "./api.ts";
import { isUuid } from "../../../lib/uuid.ts";

interface Project {
  id: string;
  name: string;
  start_time: string;
  reference_dataset_id: string | null;
}

type Scores = Record<string, number>;

interface Comparison {
  experiments: {
    id: string;
    name: string;
    run_count: number;
    error_count: number;
    latency_p50: number | null;
    total_tokens: number;
    total_cost: number;
    scores: Scores;
    improved: Scores;
    regressed: Scores;
    newly_failed: number;
  }[];
  total: number;
  rows: {
    example_id: string;
    example: { inputs: unknown; outputs: unknown } | null;
    results: { scores: Scores; newly_failed: boolean; runs: { id: string; status: string; outputs: unknown }[] }[];
  }[];
}

/** The most characters of each of an example's values. */
const VALUE = 250;

export const listExperiments = defineTool({
  name: "list_experiments",
  title: "List experiments",
  description: "Lists the experiments of a dataset, the newest first.",
  cost: "one query of the database.",
  permissions: ["datasets.read"],
  input: v.object({
    dataset: describe(Text, "The dataset, by name or id."),
    limit: v.optional(between(1, 100), 20),
  }),
  async run(api, { dataset, limit }) {
    const reference_dataset = await findDatasetId(api, dataset);
    const found = await api.get<Project[]>("/api/v1/sessions", { reference_dataset, limit });
    if (found.length === 0) return "The dataset has no experiments.";
    const lines = found.map(({ id, name, start_time }) => `${JSON.stringify(name)}  ${id}  ${start_time}`);
    return joinLines(lines, "Use a smaller limit.");
  },
});

export const readExperiment = defineTool({
  name: "read_experiment",
  title: "Read an experiment",
  description:
    "Reads an experiment: figures, mean scores, and for each example its inputs, expected outputs, outputs and scores, each cut. With baseline it also says what improved, regressed and newly failed; change chooses these examples.",
  cost: "reads all runs of each experiment, at most 10,000. No model is called.",
  permissions: ["datasets.read", "traces.read"],
  input: v.object({
    experiment: describe(Uuid, "The id of the experiment."),
    baseline: v.optional(describe(Uuid, "The id of an experiment to compare with.")),
    change: v.optional(v.picklist(["improved", "regressed"])),
    limit: v.optional(between(1, 20), 10),
    offset: v.optional(between(0, 10_000), 0),
  }),
  async run(api, { experiment, baseline, change, limit, offset }) {
    const project = await api.get<Project>(`/api/v1/sessions/${experiment}`);
    const dataset = project.reference_dataset_id;
    if (dataset === null) throw new Problem(422, `${JSON.stringify(project.name)} is a project and no experiment.`);
    const ids = baseline === undefined ? [experiment] : [baseline, experiment];
    const compared = await api.get<Comparison>(`/api/v1/datasets/${dataset}/compare`, {
      experiment: ids,
      change,
      limit,
      offset,
    });
    const shown = offset + compared.rows.length;
    const more = shown < compared.total ? `There are more examples: offset ${shown} of ${compared.total}.` : "";
    const lines = [...compared.experiments.map(formatSummary), ...compared.rows.flatMap(formatRow), more];
    return joinLines(lines.filter(Boolean), "Use a smaller limit.");
  },
});

function formatSummary(one: Comparison["experiments"][number]): string {
  const { name, id, run_count, error_count, latency_p50, total_tokens, total_cost } = one;
  const figures = `${run_count} runs, ${error_count} failed, p50 ${latency_p50 ?? "?"} s, ${total_tokens} tokens, $${total_cost}`;
  const changes = (["improved", "regressed"] as const).flatMap((change) =>
    Object.keys(one[change]).length > 0 ? [`${change} ${JSON.stringify(one[change])}`] : [],
  );
  const failed = one.newly_failed > 0 ? [`newly failed ${one.newly_failed}`] : [];
  const parts = [
    `${JSON.stringify(name)} ${id}: ${figures}`,
    `scores ${JSON.stringify(one.scores)}`,
    ...changes,
    ...failed,
  ];
  return parts.join("; ");
}

function formatRow({ example_id, example, results }: Comparison["rows"][number]): string[] {
  return [
    `example ${example_id}`,
    `  inputs: ${cutValue(example?.inputs ?? null, VALUE)}`,
    `  expected: ${cutValue(example?.outputs ?? null, VALUE)}`,
    ...results.flatMap(({ scores, runs, newly_failed }) =>
      runs.map(
        ({ id, status, outputs }) =>
          `  run ${id} ${status}${newly_failed ? " (newly failed)" : ""} ${JSON.stringify(scores)}: ${cutValue(outputs, VALUE)}`,
      ),
    ),
  ];
}

// `add_example`: a case that must not fail again.

const Members = v.record(v.string(), v.unknown());

export const addExample = defineTool({
  name: "add_example",
  title: "Add an example to a dataset",
  description:
    "Adds an example to a dataset: inputs with the outputs that are expected. With source_run_id and no inputs, the example has the inputs and outputs of that run.",
  cost: "writes one example, which makes a new version of the dataset. No model is called.",
  permissions: ["datasets.write"],
  writes: { destructive: false },
  input: v.object({
    dataset: describe(Text, "The dataset, by name or id."),
    inputs: v.optional(Members),
    outputs: v.optional(describe(Members, "What is expected.")),
    source_run_id: v.optional(describe(Uuid, "The run that the example comes from.")),
    split: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(255))),
    metadata: v.optional(Members),
    create_dataset: v.optional(describe(v.boolean(), "Creates the dataset where no dataset has this name."), false),
  }),
  async run(api, { dataset, create_dataset, inputs, outputs, source_run_id, split, metadata }) {
    if (!inputs && source_run_id === undefined)
      throw new Problem(422, "Invalid arguments: give inputs, or source_run_id to take over those of a run.");
    const dataset_id = await datasetFor(api, dataset, create_dataset);
    const { id } = await api.change<{ id: string }>("/api/v1/examples", {
      dataset_id,
      ...(inputs ? { inputs } : { use_source_run_io: true }),
      ...(outputs && { outputs }),
      ...(source_run_id !== undefined && { source_run_id }),
      ...(split !== undefined && { split }),
      ...(metadata && { metadata }),
    });
    return `example ${id} in dataset ${dataset_id}`;
  },
});

async function datasetFor(api: ServerApi, name: string, create: boolean): Promise<string> {
  try {
    return await findDatasetId(api, name);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404 || isUuid(name)) throw error;
    if (!create) throw new Problem(404, `${error.detail} create_dataset: true creates it.`);
    return (await api.change<{ id: string }>("/api/v1/datasets", { name })).id;
  }
}
