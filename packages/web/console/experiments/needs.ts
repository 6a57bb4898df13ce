import type { Permission } from "../../../../src/http/principal.ts";

/** What the requests of an experiment require: it reads examples, makes a project, runs an assistant and scores. */
export const EXPERIMENT_NEEDS = [
  "datasets.read",
  "traces.write",
  "runs.create",
  "traces.annotate",
] as const satisfies Permission[];
