/** Errors of the past of the trace platform, as textual changes of `src`: its pairs must find each. */
import type { Mutation } from "../mutations.ts";
import type { Case } from "./dimensions.ts";

export const TRACE_MUTATIONS: Mutation<Case>[] = [
  {
    name: "a trace is searched only on the days that its id seems to name",
    among: { times: ["look-alike", "random ids", "behind"] },
    patches: [
      {
        file: "src/traces/query/scope.ts",
        find: "return held.flat().length > 0 ? near : places;",
        replace: "return held.length >= 0 ? near : places;",
      },
      {
        file: "src/http/uuid.ts",
        find: "const VERSION_7 = /^.{14}7.{4}[89ab]/i;",
        replace: "const VERSION_7 = /^.{14}7/i;",
      },
    ],
  },
  {
    name: "a write is taken while its day is deleted",
    among: { removal: ["expiry"], afterwards: ["during"] },
    patches: [
      {
        file: "src/traces/partition/ending.ts",
        find: "refuse(): void {\n    if (this.isOn) throw destructionProblem();",
        replace: "refuse(): void {",
      },
    ],
  },
  {
    name: "each day counts as at most 2,000 runs in a percentile",
    among: { volume: ["uneven"] },
    patches: [
      {
        file: "src/traces/query/stats.ts",
        find: "this.#latencies.addAll(part.latencies);",
        replace: `const most = Math.min(1, 2_000 / Math.max(1, part.run_count));
    for (const [micros, runs] of part.latencies) this.#latencies.add(micros, Math.ceil(runs * most));`,
      },
    ],
  },
  {
    name: "the day that names a thread is deleted together with the others",
    among: { removal: ["thread"], trouble: ["object", "d1", "restart"] },
    patches: [
      {
        file: "src/traces/query/delete-routes.ts",
        find: "const chosen = some.filter((trace) => (own?.has(trace) ?? false) === isNamed);",
        replace: "const chosen = isNamed || own === null ? [] : some;",
      },
    ],
  },
  {
    name: "late runs of an experiment that is younger than the window are not exported",
    among: { export: ["schedule"] },
    patches: [
      {
        file: "src/exports/ledger/late.ts",
        find: "${job.allExperiments ? sql`UNION ALL ${windowsOfNewProjects(job, earlier)}` : sql``})",
        replace: ")",
      },
    ],
  },
  {
    name: "a run whose start moves behind the cursor is exported again",
    among: { export: ["moved"] },
    patches: [
      {
        file: "src/exports/slice.ts",
        find: "movedSince: change, skip",
        replace: "movedSince: change === -1 ? change : undefined, skip: []",
      },
    ],
  },
  {
    name: "a child goes to the shard of its own feedback",
    among: { shards: ["grown"], feedback: ["before child", "before"] },
    patches: [
      {
        file: "src/traces/partition/growth.ts",
        find: "SELECT 1 FROM feedback WHERE trace_id = j.value)`,\n    JSON.stringify(ids),\n    JSON.stringify(traces),",
        replace:
          "SELECT 1 FROM feedback WHERE run_id = j.value)`,\n    JSON.stringify(ids),\n    JSON.stringify([...ids, ...traces]),",
      },
    ],
  },
  {
    name: "the end of a day deletes kept traces",
    among: { kept: ["root", "child"], removal: ["expiry"] },
    patches: [
      {
        file: "src/traces/partition/kept.ts",
        find: "INSERT OR IGNORE INTO kept (trace_id) SELECT value FROM json_each(?)",
        replace: "INSERT OR IGNORE INTO kept (trace_id) SELECT value FROM json_each(?) WHERE 0",
      },
    ],
  },
  {
    name: "a filter on a trace does not look on the day before",
    among: { times: ["crossing midnight", "day boundary"] },
    patches: [
      {
        file: "src/traces/query/midnight.ts",
        find: "...(await passing(earlier, began, treeFilter, false)),",
        replace: "...(await passing(earlier, began, treeFilter, false)).slice(0, 0),",
      },
    ],
  },
  {
    name: "a page begins with the last run of the page before",
    among: { volume: ["few"] },
    patches: [
      {
        file: "src/traces/partition/read.ts",
        find: '${order === "asc" ? ">" : "<"} (?, ?)',
        replace: '${order === "asc" ? ">" : "<="} (?, ?)',
      },
    ],
  },
];
