/** The dimensions of the trace oracle: every pair of values that is possible together is tried. */
import type { Space } from "../covering.ts";

export const DIMENSIONS = {
  /** What the runs hold: values.ts. */
  values: ["plain", "unicode", "escapes", "numbers", "nested", "names", "long"],
  /** When they begin and end, and what their ids say of it. */
  times: [
    "ordinary",
    "late end",
    "moved start",
    "day boundary",
    "crossing midnight",
    "ahead",
    "behind",
    "look-alike",
    "random ids",
  ],
  /** How they arrive. */
  ingestion: ["batch", "multipart", "single", "patch first", "shuffled"],
  /** What the day holds besides: a sealed block, one that a patch opens again, many runs on another day, many days. */
  volume: ["few", "sealed", "reopened", "uneven", "many days"],
  /** Whether the day has grown before the runs arrive. */
  shards: ["one", "grown"],
  /** When feedback arrives, and for what. */
  feedback: ["none", "after", "before", "before child"],
  /** What is changed of the project after the runs arrived. */
  project: ["plain", "tier", "held"],
  /** What a rule keeps for longer: the trace of a root or of a run below one. */
  kept: ["none", "root", "child"],
  /** Whether the workspace encrypts, and whether its key is replaced once the runs have arrived. */
  secrets: ["open", "sealed", "rotated"],
  /** What is shared. */
  share: ["none", "own", "same id"],
  /** What is exported, and what happens during it. */
  export: ["none", "window", "schedule", "cancelled", "resealed", "moved"],
  /** What is deleted. */
  removal: ["none", "trace", "thread", "project", "expiry"],
  /** What goes wrong during it. The deletion is then repeated. */
  trouble: ["none", "object", "d1", "r2", "restart"],
  /** What arrives afterwards, or during the deletion. */
  afterwards: ["nothing", "patch", "child", "feedback", "during"],
} as const;

export type Dimension = keyof typeof DIMENSIONS;
export type Case = { [D in Dimension]: (typeof DIMENSIONS)[D][number] };

/** The value of each dimension that a shrunk case has where the value does not matter. */
export const PLAIN: Case = {
  values: "plain",
  times: "ordinary",
  ingestion: "batch",
  volume: "few",
  shards: "one",
  feedback: "none",
  project: "plain",
  kept: "none",
  secrets: "open",
  share: "none",
  export: "none",
  removal: "none",
  trouble: "none",
  afterwards: "nothing",
};

const EXCLUSIONS = [
  {
    when: { removal: ["none"], trouble: ["object", "d1", "r2", "restart"] },
    because: "Nothing is deleted, so nothing goes wrong during it.",
  },
  {
    when: { removal: ["none"], afterwards: ["during"] },
    because: "Nothing is deleted, so nothing arrives during it.",
  },
  { when: { removal: ["expiry"], times: ["ahead"] }, because: "A day that is not over does not expire." },
  {
    when: { project: ["held"], trouble: ["object", "d1", "r2", "restart"] },
    because: "A deletion on legal hold is refused before it begins.",
  },
  {
    when: { project: ["held"], afterwards: ["during"] },
    because: "A deletion on legal hold is refused before anything can arrive.",
  },
  {
    when: { trouble: ["object", "d1", "r2", "restart"], afterwards: ["during"] },
    because: "One thing happens at a time during a deletion.",
  },
  {
    when: { removal: ["expiry"], afterwards: ["during"], shards: ["grown"] },
    because: "What arrives in one shard keeps that shard, and the other one expires.",
  },
  {
    when: { kept: ["root", "child"], removal: ["expiry"], afterwards: ["during"] },
    because: "What expires beside a kept trace leaves in one transaction, during which nothing arrives.",
  },
  {
    when: { volume: ["uneven", "many days"], export: ["window", "schedule", "cancelled", "resealed", "moved"] },
    because: "These volumes are for statistics. An export of many days takes long.",
  },
  {
    when: { volume: ["uneven", "many days"], removal: ["trace", "thread", "project", "expiry"] },
    because: "These volumes are for statistics. Their deletion takes long.",
  },
  {
    when: { volume: ["uneven", "many days"], times: ["moved start", "day boundary", "ahead", "behind", "look-alike"] },
    because: "These volumes are for statistics, which the times do not change.",
  },
  {
    when: { volume: ["many days"], values: ["unicode", "escapes", "numbers", "nested", "names", "long"] },
    because: "A query of many days takes long.",
  },
  {
    when: { volume: ["many days"], ingestion: ["multipart", "single", "patch first", "shuffled"] },
    because: "A query of many days takes long.",
  },
] as const;

export const SPACE: Space = { dimensions: DIMENSIONS, exclusions: EXCLUSIONS, heavy: ["uneven", "many days"] };
