/** The virtual environments that test/python/setup.sh makes: `clients`, and `server` with `langgraph dev`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const FOLDER = join(import.meta.dirname, "..");

type Environment = "clients" | "server";

const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : undefined);

/** A program of an environment. Throws when the environment is absent, or was made from another lock file. */
export function program(environment: Environment, name: string): string {
  const folder = join(FOLDER, ".venv", environment);
  const lock = read(join(FOLDER, "requirements", `${environment}.lock`));
  const installed = read(join(folder, "installed.lock"));
  if (installed === undefined || installed !== lock) {
    const state = installed === undefined ? "is absent" : "has other packages than its lock file";
    throw new Error(`The Python environment "${environment}" ${state}. Make it with: test/python/setup.sh`);
  }
  return join(folder, "bin", name);
}

/** The variables of a Python program: no bytecode in the sources, and no tracing by what the shell exports. */
export function pythonEnv(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: "1" };
  for (const name of Object.keys(env)) if (/^(LANGSMITH|LANGCHAIN|LANGGRAPH)_/.test(name)) delete env[name];
  return env;
}
