/** What a tool of this server is. */
import type { Tool } from "@modelcontextprotocol/server";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { Problem } from "../../../lib/problem.ts";
import type { Permission } from "../../../http/principal.ts";
import type { Api } from "./api.ts";

export interface TraceTool {
  /** As `tools/list` shows it. */
  listed: Tool;
  /** Those without which every call is refused: the tool is not listed then. Its routes check them. */
  permissions: readonly Permission[];
  writes: boolean;
  /** The text of the result. @throws Problem */
  run(api: Api, given: unknown, signal: AbortSignal): Promise<string>;
}

interface Definition<S extends v.GenericSchema> {
  name: string;
  title: string;
  description: string;
  /** What a call may cost, as a sentence of the description. */
  cost: string;
  input: S;
  permissions: readonly Permission[];
  /** Left out for a tool that changes nothing. `destructive`: it can change or delete what exists, here or elsewhere. */
  writes?: { destructive: boolean };
  run(api: Api, input: v.InferOutput<S>, signal: AbortSignal): Promise<string>;
}

export function defineTool<S extends v.GenericSchema>(definition: Definition<S>): TraceTool {
  const { name, title, description, cost, input, permissions, writes } = definition;
  const schema = toJsonSchema(input, { typeMode: "input", errorMode: "ignore" });
  return {
    permissions,
    writes: writes !== undefined,
    listed: {
      name,
      title,
      description: `${description} Cost: ${cost}`,
      inputSchema: schema as Tool["inputSchema"],
      annotations: {
        title,
        readOnlyHint: writes === undefined,
        destructiveHint: writes?.destructive ?? false,
        idempotentHint: writes === undefined,
        // Only a run of a graph reaches other systems.
        openWorldHint: writes?.destructive ?? false,
      },
    },
    run: async (api, given, signal) => {
      const parsed = v.safeParse(input, given);
      if (!parsed.success) throw new Problem(422, `Invalid arguments: ${formatIssues(parsed.issues)}`);
      return definition.run(api, parsed.output, signal);
    },
  };
}

function formatIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues
    .slice(0, 5)
    .map((issue) => `${v.getDotPath(issue) ?? "arguments"}: ${issue.message}`)
    .join("; ");
}
