/** The dimensions of the oracle: every pair of values that is possible together is tried. */
import { excludedIn, type Space } from "./covering.ts";

export const DIMENSIONS = {
  /** How the run under test is started. */
  kind: ["immediate", "delayed", "stateless", "batch", "cron"],
  /** How it pauses. */
  pause: ["none", "interrupt", "nested", "parallel", "breakpoint", "twice"],
  /** What stops it, or the run that answers its last question. */
  stop: ["none", "cancel", "rollback", "replace", "timeout", "kill", "kill after stop"],
  /** Which node is at work when the run with the last answer is stopped: the last one, or one that has just got its answer. */
  at: ["last node", "asking node"],
  /** What happens to the thread. */
  lifecycle: ["none", "prune", "ttl delete", "ttl keep_latest", "copy", "compaction", "deletion", "run deletion"],
  /** When that happens: while it pauses, after the stop, or at the end. */
  moment: ["pause", "stop", "end"],
  /** Who reads. */
  reader: ["start", "cursor", "protocol", "join", "wait"],
  /** What is sent twice. */
  repetition: ["none", "key", "expired key", "command"],
  /** What becomes of the graph between the pause and its answer. */
  graph: ["same", "throws", "removed", "renamed", "retried"],
  /** What the state holds. */
  values: ["plain", "edited", "look-alike", "delta", "items", "large"],
  /** Whether a rule of flow control holds for its runs, and whether its slots are taken when a run is made. */
  slots: ["none", "free", "taken"],
  /** Where the last run begins: at the latest checkpoint, or at an earlier one where nothing waits. */
  from: ["latest", "earlier"],
  /** Whether the workspace encrypts, and whether its key is replaced before the last answers. */
  secrets: ["open", "sealed", "rotated"],
} as const;

export type Dimension = keyof typeof DIMENSIONS;
export type Case = { [D in Dimension]: (typeof DIMENSIONS)[D][number] };

/** Values whose cases take long: no case has one that it does not need. */
export const HEAVY: readonly Case["values"][] = ["items", "large"];

/** The value of each dimension that a shrunk case has where the value does not matter. */
export const PLAIN: Case = {
  kind: "immediate",
  pause: "none",
  stop: "none",
  at: "last node",
  lifecycle: "none",
  moment: "end",
  reader: "join",
  repetition: "none",
  graph: "same",
  values: "plain",
  slots: "none",
  from: "latest",
  secrets: "open",
};

interface Exclusion {
  when: { [D in Dimension]?: readonly Case[D][] };
  because: string;
}

/** Values that cannot occur together. */
export const EXCLUSIONS: Exclusion[] = [
  {
    when: {
      kind: ["stateless", "batch"],
      lifecycle: ["prune", "ttl delete", "ttl keep_latest", "copy", "run deletion"],
    },
    because:
      "The thread of a stateless run belongs to the run: these requests are refused, which every such case tries.",
  },
  {
    when: { kind: ["stateless", "batch"], stop: ["replace"] },
    because: "No other run is accepted on the thread of a stateless run.",
  },
  {
    when: { kind: ["stateless", "batch"], graph: ["throws", "removed", "renamed"] },
    because: "The graph changes between a pause and its answer. A stateless run takes no answer.",
  },
  {
    when: { kind: ["stateless", "batch"], moment: ["pause", "stop"] },
    because: "A stateless run ends with its pause, and its thread takes no other run.",
  },
  {
    when: { kind: ["batch", "cron"], reader: ["start", "cursor", "protocol", "wait"] },
    because: "These runs start in the background. Their readers join.",
  },
  {
    when: { kind: ["stateless"], reader: ["protocol"] },
    because: "The streaming protocol starts runs on threads.",
  },
  {
    when: { kind: ["stateless", "batch", "cron"], repetition: ["command"] },
    because: "The streaming protocol starts runs on threads.",
  },
  {
    when: { kind: ["cron"], values: ["items", "large"] },
    because: "A cron's payload has a limit.",
  },
  {
    when: { kind: ["delayed"], reader: ["protocol"] },
    because: "A command of the streaming protocol has no after_seconds.",
  },
  {
    when: { kind: ["batch", "cron"], repetition: ["key", "expired key"] },
    because: "The ids of these runs do not come from an Idempotency-Key.",
  },
  {
    when: { lifecycle: ["deletion", "ttl delete"], moment: ["pause"], graph: ["throws", "removed", "renamed"] },
    because: "Nothing is left of the thread when the graph changes.",
  },
  {
    when: { lifecycle: ["none"], moment: ["pause", "stop"] },
    because: "Nothing happens, so it has no moment.",
  },
  {
    when: { pause: ["none", "breakpoint"], at: ["asking node"] },
    because: "No node asks.",
  },
  {
    when: { kind: ["stateless", "batch"], at: ["asking node"] },
    because: "A stateless run takes no answer.",
  },
  {
    when: { pause: ["parallel"], graph: ["renamed"] },
    because: "LangGraph keeps what has come to a join under the name of the node after it.",
  },
  {
    when: { pause: ["breakpoint"], graph: ["renamed"] },
    because: "The breakpoint is before the node that gets another name: nothing of the graph waits.",
  },
];

export const SPACE: Space = { dimensions: DIMENSIONS, exclusions: EXCLUSIONS, heavy: HEAVY };

/** Why the case cannot be; undefined when it can. Dimensions that are not set may have any value. */
export const findExclusion = (given: Partial<Case>): string | undefined => excludedIn(SPACE, given);
