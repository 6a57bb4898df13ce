/** Runs of a trace as a partition would give them, made from a seed. */
import type { StoredTraceRun } from "../../src/traces/types.ts";
import { generator } from "./random.ts";

const WORDS = "weir stream held measured let through river gate level flow été 水 🌊 null \\ \" '".split(" ");

export interface RunsOf {
  tenantId: string;
  projectId: string;
  /** Microseconds of the first run's start; the next ones follow within `spread`. */
  from: number;
  spread: number;
  count: number;
  seed: number;
  /** About this many characters of text a run. */
  size?: number;
}

/** `count` runs in the order (start_time, id). Every nullable field is null in some of them. */
export function makeRuns({ tenantId, projectId, from, spread, count, seed, size = 400 }: RunsOf): StoredTraceRun[] {
  const random = generator(seed);
  const hex = (digits: number) => Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
  const uuid = () => `${hex(8)}-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
  const pickMaybe = <T>(value: T): T | null => (random() < 0.7 ? value : null);
  const text = (length: number) => {
    let words = "";
    while (words.length < length) words += `${WORDS[Math.floor(random() * WORDS.length)]} ${hex(3)} `;
    return words;
  };
  const runs = Array.from({ length: count }, (): StoredTraceRun => {
    const start = from + Math.floor(random() * spread);
    const id = uuid();
    const isRoot = random() < 0.3;
    const parent = isRoot ? null : uuid();
    const total = pickMaybe(Math.floor(random() * 5000));
    return {
      id,
      tenant_id: tenantId,
      session_id: projectId,
      trace_id: parent ?? id,
      parent_run_id: parent,
      parent_run_ids: parent ? [parent] : [],
      reference_example_id: random() < 0.1 ? uuid() : null,
      name: text(8),
      run_type: random() < 0.5 ? "llm" : "chain",
      start_time: start,
      end_time: pickMaybe(start + Math.floor(random() * 1e7)),
      status: random() < 0.1 ? "error" : "success",
      is_root: isRoot,
      dotted_order: `20260101T000000000000Z${id}`,
      trace_tier: "longlived",
      inputs: JSON.stringify({ q: text(size / 2) }),
      outputs: pickMaybe(JSON.stringify({ a: text(size / 2) })),
      error: random() < 0.1 ? text(20) : null,
      extra: pickMaybe(JSON.stringify({ metadata: { n: Math.floor(random() * 9) } })),
      events: pickMaybe("[]"),
      tags: random() < 0.5 ? [] : ["a", text(4)],
      feedback_stats: random() < 0.2 ? '{"thumb":{"n":1,"avg":1}}' : null,
      total_tokens: total,
      prompt_tokens: total,
      completion_tokens: pickMaybe(7),
      total_cost: pickMaybe(random()),
      prompt_cost: pickMaybe(random() / 1000),
      completion_cost: null,
      first_token_time: pickMaybe(start + 5),
    };
  });
  return runs.sort((a, b) => a.start_time - b.start_time || (a.id < b.id ? -1 : 1));
}
