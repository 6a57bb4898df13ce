/** The variables of a project: `env` of langgraph.json, `.dev.vars`, and on this machine some of the shell's. */
import { existsSync, readFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve, relative, basename } from "node:path";
import { CliFault } from "../console.ts";
import { type LanggraphConfig, readLanggraphJson } from "./langgraph-json.ts";
import { parseEnv } from "node:util";

// The user's project: the folder of its langgraph.json.

export interface Project {
  /** The folder of langgraph.json. Paths in it are relative to this folder. */
  root: string;
  config: LanggraphConfig;
  /** `<root>/.weir`: what Weir generates, and its local state. */
  weirDir: string;
  /** The folder of local data, `<weirDir>/state` unless another one is given. It persists over restarts. */
  stateDir: string;
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

/**
 * The project in `dir` or above it, with its local data in `state`. Throws a Fault when there is none, or its langgraph.json is
 * not as it must be.
 */
export async function findProject(dir: string, state?: string): Promise<Project> {
  const file = fileAbove(resolve(dir));
  if (!file)
    throw new CliFault(
      `There is no langgraph.json in ${resolve(dir)} or above it. Create one that names the graphs: ` +
        '{"graphs": {"agent": "./src/agent.ts:graph"}}. For a new project run: npm create weir my-agent',
    );
  const { config, warnings } = readLanggraphJson(readFileSync(file, "utf8"), file);
  const root = dirname(file);
  const weirDir = join(root, ".weir");
  const stateDir = state === undefined ? join(weirDir, "state") : resolve(state);
  return { root, config, weirDir, stateDir, configFile: file, warnings };
}

type Variables = Record<string, string>;

export interface Environment {
  variables: Variables;
  /** The files that it was read from, or would be if they existed. */
  files: string[];
  warnings: string[];
}

function parseEnvFile(file: string): Variables {
  return existsSync(file) ? (parseEnv(readFileSync(file, "utf8")) as Variables) : {};
}

/** A value that is not text is JSON. */
const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * What `env` of langgraph.json gives: a file's variables, those of an object, or those of the shell that a list names.
 * A missing file is a warning, because a fresh clone has none.
 */
export function readEnvironment(
  { root, config: { env } }: Project,
  shell: Record<string, string | undefined> = process.env,
): Environment {
  if (env === undefined) return { variables: {}, files: [], warnings: [] };
  if (Array.isArray(env)) {
    const missing = env.filter((name) => shell[name] === undefined);
    if (missing.length > 0)
      throw new CliFault(`langgraph.json: "env" names ${missing.join(", ")}, which the shell does not set.`);
    return { variables: Object.fromEntries(env.map((name) => [name, shell[name] ?? ""])), files: [], warnings: [] };
  }
  if (typeof env === "object") {
    const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, asText(value)]));
    return { variables, files: [], warnings: [] };
  }
  const file = resolve(root, env);
  const example = existsSync(`${file}.example`) ? ` Copy ${env}.example to it and fill it in.` : "";
  const warnings = existsSync(file) ? [] : [`langgraph.json: "env" names ${env}, which does not exist.${example}`];
  return { variables: parseEnvFile(file), files: [file], warnings };
}

/** Variables of the shell that projects expect without naming them: providers' keys and addresses. */
const PROVIDERS = /^[A-Z][A-Z0-9_]*_(API_KEY|BASE_URL)$/;

/**
 * The variables on this machine. As with dotenv, the shell's value overrides the file's; `.dev.vars`, the local file of
 * wrangler, overrides both.
 */
export function localEnvironment(
  project: Project,
  shell: Record<string, string | undefined> = process.env,
): Environment {
  const own = readEnvironment(project, shell);
  const devVars = resolve(project.root, ".dev.vars");
  const example = parseEnvFile(resolve(project.root, ".env.example"));
  const wanted = (name: string) => name in own.variables || name in example || PROVIDERS.test(name);
  const fromShell = Object.entries(shell).filter(([name, value]) => wanted(name) && value !== undefined) as [
    string,
    string,
  ][];
  return {
    variables: { ...own.variables, ...Object.fromEntries(fromShell), ...parseEnvFile(devVars) },
    files: [...own.files, devVars],
    warnings: own.warnings,
  };
}

/** The path of a file as seen from a folder, with slashes, as configuration files and imports have it. */
export const posix = (from: string, to: string): string => relative(from, to).replaceAll("\\", "/");

// Files that are written as a whole.

/**
 * Writes the file if its content is new. A reader sees the old content or the new, never a part. The part is written in
 * `folder`, outside of what wrangler watches.
 */
export function writeWhole(file: string, content: string | Uint8Array, mode?: number, folder = dirname(file)): void {
  if (existsSync(file) && readFileSync(file).equals(Buffer.from(content))) return;
  mkdirSync(dirname(file), { recursive: true });
  const part = join(folder, `${basename(file)}.${process.pid}.part`);
  writeFileSync(part, content, { mode });
  renameSync(part, file);
}
