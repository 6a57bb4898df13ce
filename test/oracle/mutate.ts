/** Introduces errors into a copy of the repository, one after the other, and runs the pairs there. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { MUTATIONS, type Mutation, applyPatch } from "./mutations.ts";
import { TRACE_MUTATIONS } from "./traces/mutations.ts";

/** The errors, by the pairs that must find them. */
const SUITES: Record<string, Mutation[]> = {
  "test/oracle/pairs.test.ts": MUTATIONS,
  "test/oracle/traces/pairs.test.ts": TRACE_MUTATIONS,
};

const ROOT = join(import.meta.dirname, "..", "..");
/** An error may make each case wait for its patience. What has been found until then counts. */
const LONGEST_MS = 15 * 60_000;
/** Failed cases of an error that are printed. */
const SHOWN = 3;

interface Result {
  /** The failed cases, as pairs.test.ts prints them, each with its step and what differs there. */
  failed: Map<string, string>;
  /** How many cases ran to their end. Undefined when the time was over before. */
  cases?: number;
  /** Seconds until the first failure, and until the end. */
  first?: number;
  seconds: number;
}

/** Tries the errors whose names, or those of their pairs, contain one of the texts that `words` lists with commas. True when each is found. */
export async function tryMutations(words: string): Promise<boolean> {
  const copy = copyRepository();
  try {
    let isFound = true;
    for (const [suite, all] of Object.entries(SUITES)) {
      const chosen = all.filter(({ name }) => words.split(",").some((text) => `${suite} ${name}`.includes(text)));
      if (chosen.length > 0) isFound = (await tryEach(copy, suite, chosen)) && isFound;
    }
    return isFound;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function tryEach(copy: string, suite: string, mutations: Mutation[]): Promise<boolean> {
  // A case that fails without an error finds none.
  const { failed: red } = await runPairs(copy, suite);
  for (const [given, why] of red) console.log(`fails without an error, and does not count: ${given}${why}`);
  let isFound = true;
  for (const mutation of mutations) {
    const { failed, cases, first, seconds } = await withMutation(copy, suite, mutation, red);
    isFound &&= failed.size > 0;
    const result = failed.size > 0 ? `found in ${failed.size}, first after ${first} s` : "NOT FOUND";
    console.log(`${mutation.name}: of ${cases ?? "many"} cases ${result} (${seconds} s)`);
    for (const [given, why] of [...failed].slice(0, SHOWN)) console.log(`  ${given}${why}`);
  }
  return isFound;
}

/** The files of the repository as they are now, beside it: links to packages need the same file system. */
function copyRepository(): string {
  const copy = mkdtempSync(join(dirname(ROOT), ".weir-mutations-"));
  const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
  for (const file of listed.split("\0").filter(Boolean)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  execFileSync("cp", ["-al", join(ROOT, "node_modules"), join(copy, "node_modules")]);
  return copy;
}

async function withMutation(
  copy: string,
  suite: string,
  { among, patches }: Mutation,
  red: Result["failed"],
): Promise<Result> {
  const all = [...patches, selection(suite, among)];
  const before = new Map(all.map(({ file }) => [file, readFileSync(join(copy, file), "utf8")]));
  try {
    for (const patch of all) {
      const file = join(copy, patch.file);
      writeFileSync(file, applyPatch(readFileSync(file, "utf8"), patch));
    }
    return await runPairs(copy, suite, red);
  } finally {
    for (const [file, text] of before) writeFileSync(join(copy, file), text);
  }
}

/** Of the pairs, those cases that can show an error. */
function selection(file: string, among: Mutation["among"]): Mutation["patches"][number] {
  const matches = `Object.entries(${JSON.stringify(among)}).every(([name, values]) => values.includes(given[name]))`;
  return {
    file,
    find: "const { cases, tuples } = chosen();",
    replace: `const { cases: all, tuples } = chosen(); const cases = all.filter((given) => ${matches});`,
  };
}

/** Runs the pairs of the copy. Failures of cases in `red` are left out. */
async function runPairs(copy: string, suite: string, red?: Result["failed"]): Promise<Result> {
  const began = Date.now();
  const countSeconds = () => Math.round((Date.now() - began) / 1000);
  const vitest = join(copy, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--config", "vitest.workers.config.ts", suite];
  // A group of its own: its end also ends the processes of workerd.
  const child = spawn(process.execPath, args, { cwd: copy, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const timer = setTimeout(() => process.kill(-(child.pid as number)), LONGEST_MS);
  const result: Result = { failed: new Map(), seconds: 0 };
  let last: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const given = /oracle: FAILED (.*)$/.exec(line)?.[1];
    const cases = /oracle: \{"cases":(\d+)/.exec(line)?.[1];
    if (cases !== undefined) result.cases = Number(cases);
    if (given !== undefined && !red?.has(given)) {
      result.first ??= countSeconds();
      result.failed.set(given, "");
    } else if (last !== undefined && result.failed.has(last) && line.startsWith("  "))
      result.failed.set(last, `${result.failed.get(last)}\n  ${line}`);
    last = given ?? (line.startsWith("  ") ? last : undefined);
  }
  clearTimeout(timer);
  result.seconds = countSeconds();
  if (result.cases === undefined && result.failed.size === 0 && !red?.size) throw new Error("No case ran to its end.");
  return result;
}
