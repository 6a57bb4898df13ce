/** `list_datasets`. */
import * as v from "valibot";
import { between, describe, Text } from "./fields.ts";
import { joinLines, oneLine } from "./text.ts";
import { defineTool } from "../../protocols/mcp/traces/tool.ts";

interface Dataset {
  id: string;
  name: string;
  description: string | null;
  example_count?: number;
  session_count?: number;
}

export const listDatasets = defineTool({
  name: "list_datasets",
  title: "List datasets",
  description: "Lists datasets with their numbers of examples and experiments.",
  cost: "one query of the database.",
  permissions: ["datasets.read"],
  input: v.object({
    name_contains: v.optional(describe(Text, "A part of the name.")),
    limit: v.optional(between(1, 100), 50),
  }),
  async run(api, { name_contains, limit }) {
    const datasets = await api.get<Dataset[]>("/api/v1/datasets", { name_contains, limit });
    if (datasets.length === 0) return "There are no datasets.";
    const lines = datasets.map(({ id, name, description, example_count, session_count }) => {
      const counts = `${example_count ?? "?"} examples, ${session_count ?? "?"} experiments`;
      return `${JSON.stringify(name)}  ${id}  (${counts})${description ? `  ${oneLine(description, 120)}` : ""}`;
    });
    return joinLines(lines, "Use name_contains.");
  },
});
