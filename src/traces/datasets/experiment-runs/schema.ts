import * as v from "valibot";
import { choosing, Offset, optional, Uuid } from "../../../http/shapes.ts";

/** Each experiment with a filter takes a search of its own. */
const MOST_EXPERIMENTS = 20;
const Experiments = v.pipe(
  v.array(Uuid),
  v.minLength(1, "names at least one experiment"),
  v.maxLength(MOST_EXPERIMENTS, `names at most ${MOST_EXPERIMENTS} experiments`),
  v.transform((ids) => [...new Set(ids)]),
);
const Filter = v.pipe(v.string(), v.minLength(1), v.maxLength(20_000));
/** Filters of runs, by experiment. A run must match all of its experiment's. */
const Filters = v.record(Uuid, v.pipe(v.array(Filter), v.maxLength(20)));
/** The most examples of a page. */
const limit = optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)));

/** As `get_experiment_results` of the Python SDK sends it. */
export const QueryRows = choosing({
  session_ids: Experiments,
  offset: optional(Offset),
  limit,
  /** Only the beginnings of the runs' inputs and outputs. */
  preview: optional(v.boolean()),
  comparative_experiment_id: optional(Uuid),
  filters: optional(Filters),
});

export const QueryRowsV2 = choosing({
  experiment_ids: Experiments,
  example_ids: optional(v.pipe(v.array(Uuid), v.maxLength(1000))),
  selects: optional(v.pipe(v.array(v.string()), v.maxLength(200))),
  comparative_experiment_id: optional(Uuid),
  filters: optional(Filters),
  /** By the mean score of a key of feedback in the one experiment. */
  sort: optional(
    choosing({
      by: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      order: optional(v.pipe(v.string(), v.toUpperCase(), v.picklist(["ASC", "DESC"]))),
    }),
  ),
  page_size: limit,
  cursor: optional(v.string()),
});
