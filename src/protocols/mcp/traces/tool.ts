/** What a tool of this server is. */
import type { Tool } from "@modelcontextprotocol/server";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { Problem } from "../../../lib/problem.ts";
import type { Permission } from "../../../http/principal.ts";
import type { ServerApi } from "./api.ts";
import { isUuid } from "../../../lib/uuid.ts";

export interface TraceTool {
  /** As `tools/list` shows it. */
  listed: Tool;
  /** Those without which every call is refused: the tool is not listed then. Its routes check them. */
  permissions: readonly Permission[];
  writes: boolean;
  /** The text of the result. @throws Problem */
  run(api: ServerApi, given: unknown, signal: AbortSignal): Promise<string>;
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
  run(api: ServerApi, input: v.InferOutput<S>, signal: AbortSignal): Promise<string>;
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

// Arguments that several tools take.

export const describe = <S extends v.GenericSchema>(schema: S, text: string) => v.pipe(schema, v.description(text));

export const Uuid = v.pipe(v.string(), v.uuid("must be a UUID"));
export const Text = v.pipe(v.string(), v.minLength(1), v.maxLength(2_000));

/** A whole number within these bounds. */
export const between = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));

/** Which part of a long text to read. */
export const part = {
  offset: v.optional(describe(between(0, 100_000_000), "The first character to read."), 0),
  length: v.optional(describe(between(1, 20_000), "The most characters to read."), 8_000),
};

export const Project = describe(
  Text,
  'The project, by name or id. The project of this server\'s own runs is "default" unless the deployment names another.',
);

// Projects and datasets by their names.

interface Named {
  id: string;
  name: string;
}

/** @throws Problem 404 with names that exist */
export async function findProjectId(api: ServerApi, given: string): Promise<string> {
  return findId(api, "/api/v1/sessions", "project", given);
}

/** @throws Problem 404 with names that exist */
export async function findDatasetId(api: ServerApi, given: string): Promise<string> {
  return findId(api, "/api/v1/datasets", "dataset", given);
}

async function findId(api: ServerApi, path: string, what: string, given: string): Promise<string> {
  if (isUuid(given)) return given.toLowerCase();
  const [found] = await api.get<Named[]>(path, { name: given, limit: 1 });
  if (found) return found.id;
  const others = await api.get<Named[]>(path, { limit: 20 });
  const names = others.map(({ name }) => JSON.stringify(name)).join(", ");
  throw new Problem(
    404,
    `There is no ${what} ${JSON.stringify(given)}. ${names ? `There is ${names}.` : "There is none."}`,
  );
}
