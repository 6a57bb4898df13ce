/** `list_projects`: where traces are. */
import * as v from "valibot";
import { between, describe, Text } from "./fields.ts";
import { joinLines } from "./text.ts";
import { defineTool } from "../../protocols/mcp/traces/tool.ts";

interface Project {
  id: string;
  name: string;
  last_run_start_time: string | null;
}

export const listProjects = defineTool({
  name: "list_projects",
  title: "List projects",
  description: "Lists the projects that hold traces, the newest first. Experiments are listed by list_experiments.",
  cost: "one query of the database.",
  permissions: ["traces.read"],
  input: v.object({
    name_contains: v.optional(describe(Text, "A part of the name.")),
    limit: v.optional(between(1, 100), 50),
  }),
  async run(api, { name_contains, limit }) {
    const projects = await api.get<Project[]>("/api/v1/sessions", { name_contains, limit, reference_free: "true" });
    if (projects.length === 0) return "There are no projects.";
    const lines = projects.map(({ id, name, last_run_start_time: last }) =>
      [JSON.stringify(name), id, last ? `last run ${last}` : ""].filter(Boolean).join("  "),
    );
    return joinLines(lines, "Use name_contains.");
  },
});
