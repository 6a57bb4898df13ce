/** `add_example`: a case that must not fail again. */
import * as v from "valibot";
import { isUuid } from "../../lib/uuid.ts";
import { Problem } from "../../lib/problem.ts";
import type { Api } from "../../protocols/mcp/traces/api.ts";
import { describe, Text, Uuid } from "./fields.ts";
import { findDatasetId } from "./names.ts";
import { defineTool } from "../../protocols/mcp/traces/tool.ts";

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

async function datasetFor(api: Api, name: string, create: boolean): Promise<string> {
  try {
    return await findDatasetId(api, name);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404 || isUuid(name)) throw error;
    if (!create) throw new Problem(404, `${error.detail} create_dataset: true creates it.`);
    return (await api.change<{ id: string }>("/api/v1/datasets", { name })).id;
  }
}
