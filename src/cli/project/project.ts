/** The variables of a project: `env` of langgraph.json, `.dev.vars`, and on this machine some of the shell's. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "../fault.ts";
import type { Project } from "../project.ts";

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
      throw new Fault(`langgraph.json: "env" names ${missing.join(", ")}, which the shell does not set.`);
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
