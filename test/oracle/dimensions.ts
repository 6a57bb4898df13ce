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
  repetition: ["none", "key", "expired key", "command", "after rollback", "after deletion"],
  /** What becomes of the graph between the pause and its answer. */
  graph: ["same", "throws", "removed", "renamed", "retried"],
  /** What the state holds. */
  values: ["plain", "edited", "look-alike", "delta", "items", "large"],
  /**
   * Whether a rule of flow control holds for its runs, and whether its slots are taken when a run is made. Where they are taken, they
   * become free, or the rule changes under the run that waits.
   */
  slots: ["none", "free", "taken", "widened", "narrowed", "paused", "deleted"],
  /**
   * Where the last runs begin: at the latest checkpoint, at an earlier one where nothing waits, at one of a fork, or where a message was
   * said, which is edited and edited again.
   */
  from: ["latest", "earlier", "fork of a fork", "edit of an edit"],
  /** A state update, and when it is made: as the last node, as an earlier one, or with a message. */
  update: ["none", "first", "between", "message", "pause", "as a node", "last"],
  /** What another graph or another assistant does on the thread while it rests. */
  other: ["none", "delayed graph", "delayed assistant", "queued", "run", "rolled back"],
  /** Which run is deleted, besides the last: one that has ended, one whose question is being answered, or one with another behind it. */
  removal: ["none", "ended", "asked", "with one behind"],
  /** When checkpoints are stored. */
  durability: ["async", "sync", "exit"],
  /** The kind of graph: nodes, nodes of which one calls a graph that keeps its state, or a function with tasks. */
  form: ["nodes", "keeps", "functional"],
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
  update: "none",
  other: "none",
  removal: "none",
  durability: "async",
  form: "nodes",
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
  {
    when: { kind: ["stateless", "batch"], update: ["first", "between", "message", "pause", "as a node", "last"] },
    because: "The thread of a stateless run belongs to the run: an update is refused, which every such case tries.",
  },
  {
    when: {
      kind: ["stateless", "batch"],
      other: ["delayed graph", "delayed assistant", "queued", "run", "rolled back"],
    },
    because: "No other run is accepted on the thread of a stateless run.",
  },
  {
    when: { kind: ["stateless", "batch"], removal: ["ended", "asked", "with one behind"] },
    because: "The thread of a stateless run belongs to the run, and has no other.",
  },
  {
    when: { kind: ["stateless", "batch"], from: ["fork of a fork", "edit of an edit"] },
    because: "The thread of a stateless run has one run.",
  },
  {
    when: { kind: ["stateless", "batch"], repetition: ["after rollback", "after deletion"] },
    because: "The run of a stateless thread goes with its thread.",
  },
  {
    when: { removal: ["asked"], pause: ["none", "breakpoint"] },
    because: "No run asks.",
  },
  {
    when: { pause: ["breakpoint"], update: ["pause", "as a node"] },
    because: "LangGraph keeps what has come to the join before the node that waits, also after an update.",
  },
  {
    when: { form: ["keeps"], graph: ["renamed"] },
    because: "LangGraph keeps what has come to a join under the name of the node after it.",
  },
  {
    when: { form: ["keeps"], update: ["as a node"] },
    because: "LangGraph gives a nested graph that keeps its state the one before the checkpoint that is updated.",
  },
  {
    when: { removal: ["asked"], update: ["pause", "as a node"] },
    because: "The run that asks is not the last that has changed the thread.",
  },
  {
    when: { removal: ["asked", "with one behind"], stop: ["timeout", "kill", "kill after stop", "replace"] },
    because: "The deletion is the stop.",
  },
  {
    when: { durability: ["sync", "exit"], reader: ["protocol"] },
    because: "A command of the streaming protocol has no durability.",
  },
  {
    when: { form: ["functional"], pause: ["nested", "parallel", "breakpoint"] },
    because: "The function has one task that asks, no nested graph, and no node to stop at.",
  },
  {
    when: { form: ["functional"], other: ["run"] },
    because: "A function has no channels that a graph reads.",
  },
  {
    when: { form: ["functional"], values: ["edited", "delta"] },
    because: "A function has no channels.",
  },
  {
    when: { form: ["functional"], graph: ["renamed", "retried"] },
    because: "A function has no nodes.",
  },
  {
    when: { form: ["functional"], update: ["first", "between", "message", "pause", "as a node", "last"] },
    because: "A function has no nodes, and no channels to update.",
  },
  {
    when: { form: ["keeps"], durability: ["exit"], stop: ["timeout", "kill", "kill after stop"] },
    because: "A nested graph that keeps its state has ended, and stores it, before the run around it stores anything.",
  },
];

export const SPACE: Space = { dimensions: DIMENSIONS, exclusions: EXCLUSIONS, heavy: HEAVY };

/** Why the case cannot be; undefined when it can. Dimensions that are not set may have any value. */
export const findExclusion = (given: Partial<Case>): string | undefined => excludedIn(SPACE, given);
