/** The evaluators of a module of the project: each function that it exports. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { Evaluated, Evaluator, Score } from "../../agents/evaluation/evaluators.ts";
import { isMembers } from "../../agents/evaluation/evaluators.ts";
import { Fault } from "../fault.ts";

/** `./evals.ts`, or `./evals.ts:correct` for one export. @throws Fault when it has no function */
export async function loadEvaluators(spec: string): Promise<Evaluator[]> {
  const [, path = spec, name] = /^(.+?\.[cm]?[jt]sx?)(?::([\w$]+))?$/.exec(spec) ?? [];
  const file = resolve(path);
  if (!existsSync(file)) throw new Fault(`There is no file ${file}.`);
  const exported = Object.entries(await loadModule(file));
  const chosen = exported.filter(([key, value]) => typeof value === "function" && (name ?? key) === key);
  if (chosen.length === 0) throw new Fault(`${path} exports no function${name === undefined ? "" : ` "${name}"`}.`);
  return chosen.map(([key, value]) => toEvaluator(key, value as (given: Evaluated) => unknown));
}

/** The bundle is beside the source, so that packages are found from there. */
async function loadModule(file: string): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(file, "..", ".weir-eval-"));
  try {
    const outfile = join(folder, "evaluators.mjs");
    await build({
      entryPoints: [file],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
      logLevel: "silent",
    });
    return (await import(pathToFileURL(outfile).href)) as Record<string, unknown>;
  } catch (error) {
    throw new Fault(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function toEvaluator(name: string, evaluate: (given: Evaluated) => unknown): Evaluator {
  return async (given) => {
    const result: unknown = await evaluate(given);
    const list: unknown[] = isMembers(result) && Array.isArray(result["results"]) ? result["results"] : [result].flat();
    return list.flatMap((one) => (one === undefined || one === null ? [] : [toScore(one, name)]));
  };
}

/** A number, a boolean, or `{key?, score?, value?, comment?}`, as for LangSmith. @throws Error for anything else */
function toScore(given: unknown, name: string): Score {
  if (typeof given === "number" || typeof given === "boolean") return { key: name, score: given };
  if (!isMembers(given)) throw new Error(`The evaluator ${name} gave neither a score nor an object with one.`);
  const { key = name, score = null, value = null, comment = null } = given;
  const isScore = score === null || typeof score === "number" || typeof score === "boolean";
  const isValue = value === null || typeof value === "string";
  if (typeof key !== "string" || !isScore || !isValue || (score === null && value === null))
    throw new Error(`The evaluator ${name} gave no score.`);
  return { key, score, value, comment: typeof comment === "string" ? comment : null };
}
