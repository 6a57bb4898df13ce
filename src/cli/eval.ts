/** `weir eval`: runs an assistant over a dataset, scores what it gives, and compares with an older experiment. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import {
  type EvaluatorInput,
  type Evaluator,
  type EvaluatorScore,
  isMembers,
  containsExpected,
  exactMatch,
  createJudge,
  readResponse,
  type SendRequest,
} from "../agents/evaluation/evaluators.ts";
import { CliFault, formatJson, readCount, printable } from "./console.ts";
import { parseArgs } from "node:util";
import { runExperiment } from "../agents/evaluation/experiment.ts";
import { isUuid } from "../lib/uuid.ts";
import { sendTo } from "./api.ts";
import { CONNECTION, connectionFor, CREDENTIAL_HELP } from "./connection.ts";

// The evaluators of a module of the project: each function that it exports.

/** `./evals.ts`, or `./evals.ts:correct` for one export. @throws Fault when it has no function */
export async function loadEvaluators(spec: string): Promise<Evaluator[]> {
  const [, path = spec, name] = /^(.+?\.[cm]?[jt]sx?)(?::([\w$]+))?$/.exec(spec) ?? [];
  const file = resolve(path);
  if (!existsSync(file)) throw new CliFault(`There is no file ${file}.`);
  const exported = Object.entries(await loadModule(file));
  const chosen = exported.filter(([key, value]) => typeof value === "function" && (name ?? key) === key);
  if (chosen.length === 0) throw new CliFault(`${path} exports no function${name === undefined ? "" : ` "${name}"`}.`);
  return chosen.map(([key, value]) => toEvaluator(key, value as (given: EvaluatorInput) => unknown));
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
    throw new CliFault(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function toEvaluator(name: string, evaluate: (given: EvaluatorInput) => unknown): Evaluator {
  return async (given) => {
    const result: unknown = await evaluate(given);
    const list: unknown[] = isMembers(result) && Array.isArray(result["results"]) ? result["results"] : [result].flat();
    return list.flatMap((one) => (one === undefined || one === null ? [] : [toScore(one, name)]));
  };
}

/** A number, a boolean, or `{key?, score?, value?, comment?}`, as for LangSmith. @throws Error for anything else */
function toScore(given: unknown, name: string): EvaluatorScore {
  if (typeof given === "number" || typeof given === "boolean") return { key: name, score: given };
  if (!isMembers(given)) throw new Error(`The evaluator ${name} gave neither a score nor an object with one.`);
  const { key = name, score = null, value = null, comment = null } = given;
  const isScore = score === null || typeof score === "number" || typeof score === "boolean";
  const isValue = value === null || typeof value === "string";
  if (typeof key !== "string" || !isScore || !isValue || (score === null && value === null))
    throw new Error(`The evaluator ${name} gave no score.`);
  return { key, score, value, comment: typeof comment === "string" ? comment : null };
}

// The comparison of an experiment with its baseline, as lines of text.

export interface Compared {
  id: string;
  name: string;
  run_count: number;
  error_count: number;
  latency_p50: number | null;
  total_cost: number;
  scores: Record<string, number>;
  improved: Record<string, number>;
  regressed: Record<string, number>;
  newly_failed: number;
}

const BAR = 20;

/** A line for each score. Keys with regressions come first. */
export function formatReport(now: Compared, before: Compared | undefined): string[] {
  const keys = Object.keys(now.scores).toSorted((a, b) => (now.regressed[b] ?? 0) - (now.regressed[a] ?? 0));
  const width = Math.max(8, ...keys.map((key) => key.length));
  return [
    `${now.name}: ${now.run_count} runs, ${now.error_count} failed${now.newly_failed > 0 ? `, ${now.newly_failed} of them new` : ""}`,
    before ? `compared with ${before.name}` : "the first experiment of the dataset",
    "",
    ...keys.map((key) => line(key.padEnd(width), key, now, before)),
  ];
}

function line(label: string, key: string, now: Compared, before: Compared | undefined): string {
  const score = now.scores[key] ?? 0;
  const old = before?.scores[key];
  const filled = Math.round(Math.min(1, Math.max(0, score)) * BAR);
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  const change = old === undefined ? "" : `  ${score >= old ? "+" : "−"}${Math.abs(score - old).toFixed(3)}`;
  const counts = before ? `  ${now.improved[key] ?? 0} better, ${now.regressed[key] ?? 0} worse` : "";
  return `  ${label}  ${score.toFixed(3)}  ${bar}${change}${counts}`;
}

export const hasRegressed = ({ regressed, newly_failed }: Compared): boolean =>
  newly_failed > 0 || Object.values(regressed).some((count) => count > 0);

export const usage = `weir eval --dataset <name> --assistant <id> [--evaluators <module>] [--judge <assistant> --criteria <text>]

Runs an assistant on each example of a dataset, scores what it gives, and compares with the newest experiment before.

  --dataset <name>       a dataset, by its name or id
  --assistant <id>       an assistant or a graph
  --evaluators <module>  a module whose exported functions score, such as ./evals.ts or ./evals.ts:correct
  --exact                score exact_match: the answer is the expected one
  --contains             score contains_expected: the answer contains the expected one
  --judge <assistant>    an assistant that scores, with --criteria <text>: what is a good answer
  --split <name>         only the examples of this split
  --name <prefix>        the name of the experiment begins with it; the assistant if left out
  --baseline <name>      the experiment to compare with, by its name or id; "none" for no comparison
  --concurrency <n>      runs at the same time; 4 if left out
  --fail-on-regression   end with code 1 when an example scores lower than in the baseline, or fails for the first time
  --json                 print the comparison as JSON
  --url <address>        a deployment; the local server (PORT, or 8787) if left out
  --workspace <id>       the workspace, where the admin key is used; the first one if left out

${CREDENTIAL_HELP("the scopes read and write")}`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

interface Named {
  id: string;
  name: string;
}

export async function run(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      ...CONNECTION,
      dataset: text,
      assistant: text,
      evaluators: { type: "string", multiple: true },
      exact: flag,
      contains: flag,
      judge: text,
      criteria: text,
      split: text,
      name: text,
      baseline: text,
      concurrency: text,
      "fail-on-regression": flag,
      json: flag,
    },
  });
  const { dataset: datasetName, assistant } = values;
  if (datasetName === undefined || assistant === undefined) throw new CliFault(usage);
  const concurrency = readCount("concurrency", values.concurrency, 4);
  if ((values.judge === undefined) !== (values.criteria === undefined))
    throw new CliFault("--judge needs --criteria, which says what is a good answer, and the other way around.");
  const connection = connectionFor(values);
  const send = sendTo(connection);
  const evaluators: Evaluator[] = [
    ...(values.exact ? [exactMatch] : []),
    ...(values.contains ? [containsExpected] : []),
    ...(values.judge !== undefined && values.criteria !== undefined
      ? [createJudge(send, { assistant: values.judge, criteria: values.criteria, key: "judge" })]
      : []),
    ...(await Promise.all((values.evaluators ?? []).map(loadEvaluators))).flat(),
  ];
  const dataset = await findDataset(send, datasetName);
  const baseline = await findBaseline(send, dataset, values.baseline);
  const { experiment, unscored, refused, trouble } = await runExperiment(send, {
    dataset: dataset.id,
    assistant,
    evaluators,
    concurrency,
    prefix: values.name ?? assistant,
    ...(values.split !== undefined && { split: values.split }),
    onProgress: ({ done, of }) => {
      if (process.stderr.isTTY) process.stderr.write(`\r  ${done} of ${of}${done === of ? "\n" : ""}`);
    },
  }).catch(asFault);
  const ids = [...(baseline ? [baseline.id] : []), experiment.id];
  const query = new URLSearchParams([...ids.map((id) => ["experiment", id]), ["sort", "change"]]);
  const comparison = await readResponse<{ experiments: Compared[] }>(
    send,
    "GET",
    `/api/v1/datasets/${dataset.id}/compare?${String(query)}`,
  ).catch(asFault);
  const now = comparison.experiments.at(-1);
  if (!now) throw new CliFault("The experiment cannot be read.");
  const page = `${connection.url}/console/experiments/${dataset.id}?${String(new URLSearchParams(ids.map((id) => ["experiment", id])))}`;
  if (values.json) console.log(formatJson({ ...comparison, unscored, refused, trouble, url: page }));
  else {
    console.log(printable(formatReport(now, baseline && comparison.experiments[0]).join("\n")));
    if (refused > 0) console.log(`\n  ${refused} runs were refused.`);
    if (unscored > 0) console.log(`\n  ${unscored} scores are missing.`);
    if (trouble !== undefined) console.log(printable(`  The first fault: ${trouble}`));
    console.log(`\n  ${page}`);
  }
  return unscored > 0 || refused > 0 || (values["fail-on-regression"] && hasRegressed(now)) ? 1 : 0;
}

const asFault = (error: unknown): never => {
  throw new CliFault(error instanceof Error ? error.message : String(error), { cause: error });
};

async function findDataset(send: SendRequest, given: string): Promise<Named> {
  const query = new URLSearchParams(isUuid(given) ? { id: given } : { name: given });
  const [found] = await readResponse<Named[]>(send, "GET", `/api/v1/datasets?${String(query)}`).catch(asFault);
  if (!found) throw new CliFault(`There is no dataset "${given}".`);
  return found;
}

/** The experiment that is compared with: the newest of the dataset unless one is given. */
async function findBaseline(
  send: SendRequest,
  { id, name }: Named,
  given: string | undefined,
): Promise<Named | undefined> {
  if (given === "none") return undefined;
  const query = new URLSearchParams({ reference_dataset: id, limit: "1" });
  if (given !== undefined) query.set(isUuid(given) ? "id" : "name", given);
  const [chosen] = await readResponse<Named[]>(send, "GET", `/api/v1/sessions?${String(query)}`).catch(asFault);
  if (!chosen && given !== undefined) throw new CliFault(`The dataset ${name} has no experiment "${given}".`);
  return chosen;
}
