/** The user's project: the folder of its langgraph.json. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Fault } from "./fault.ts";
import { type LanggraphConfig, readLanggraphJson } from "./project/langgraph-json.ts";

export interface Project {
  /** The folder of langgraph.json. Paths in it are relative to this folder. */
  root: string;
  config: LanggraphConfig;
  /** `<root>/.weir`: what Weir generates, and its local state. */
  weirDir: string;
  configFile: string;
  /** Keys of langgraph.json that have no effect, a sentence each. */
  warnings: string[];
}

/** The JSON Schemas that were read from the project's types, if they were. */
export const schemasFile = ({ weirDir }: Project): string => join(weirDir, "schemas.json");

/** The file in this folder or the nearest one above it. */
function fileAbove(folder: string): string | undefined {
  const file = join(folder, "langgraph.json");
  if (existsSync(file)) return file;
  return dirname(folder) === folder ? undefined : fileAbove(dirname(folder));
}

/** The project in `dir` or above it. Throws a Fault when there is none, or its langgraph.json is not as it must be. */
export async function findProject(dir: string): Promise<Project> {
  const file = fileAbove(resolve(dir));
  if (!file)
    throw new Fault(
      `There is no langgraph.json in ${resolve(dir)} or above it. Create one that names the graphs: ` +
        '{"graphs": {"agent": "./src/agent.ts:graph"}}. For a new project run: npm create weir my-agent',
    );
  const { config, warnings } = readLanggraphJson(readFileSync(file, "utf8"), file);
  const root = dirname(file);
  return { root, config, weirDir: join(root, ".weir"), configFile: file, warnings };
}
