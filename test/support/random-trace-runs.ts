/** Random runs of one day in a partition, and the same runs in memory. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { segment, isoFromMicros } from "../../src/traces/time.ts";
import { readRunDraft } from "../../src/traces/ingest/normalise.ts";
import { OperationGatherer } from "../../src/traces/ingest/operations.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import type { RunWrite } from "../../src/traces/types.ts";
import type { PlainRun } from "./evaluate-filter.ts";
import { type Random, seeded } from "./random.ts";
import { DAY, makeProject, uuid7 } from "./traces.ts";

export const MIDNIGHT = Date.parse(`${DAY}T00:00:00Z`) * 1000;
const random = seeded("filter");
const session = crypto.randomUUID();

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.between(0, items.length)] as T;
}

function randomRun(parent: PlainRun | undefined, n: number, isUniform: boolean): PlainRun {
  const start = MIDNIGHT + Math.floor(random.next() * (isUniform ? 14_000 : 86_000)) * 1_000_000;
  const id = uuid7(start, n.toString(16).padStart(12, "0"));
  const pickMaybe = <T>(value: T) => (random.next() < 0.6 ? value : null);
  const tokens = pickMaybe(random.between(0, 60));
  const error = pick(random, [null, null, null, "Error: boom", "Timeout: time is up"]);
  const end = pickMaybe(start + random.between(0, 20) * 500_000);
  const own = segment(start, id);
  const object = (make: () => Record<string, unknown>) =>
    Object.fromEntries(Object.entries(make()).filter(() => random.next() < 0.5));
  const metadata = object(() => ({
    user_id: pick(random, ["u1", "u2"]),
    variant: pick(random, ["v1", "v2"]),
    other: pick(random, ["u1", "v2"]),
    attempt: pick(random, [1, 2, "2", 2.5]),
    flag: random.next() < 0.5,
    nothing: null,
    nested: { a: pick(random, [1, 2]), b: pick(random, ["x", "y"]) },
    list: [1, 2],
    ...(random.next() < 0.3 ? { thread_id: pick(random, ["t-1", "t-2"]) } : {}),
  })) as PlainRun["metadata"];
  const usesTokens = tokens !== null;
  return {
    id,
    trace_id: parent?.trace_id ?? id,
    parent_run_id: parent?.id ?? null,
    session_id: session,
    reference_example_id: pickMaybe(uuid7(start)),
    thread_id: (metadata["thread_id"] as string | undefined) ?? null,
    name: pick(
      random,
      isUniform
        ? ["step", "ChatOpenAI"]
        : [
            "ChatOpenAI",
            "café",
            'say "hi"',
            "100% [a]*? done",
            "été 水x",
            "step",
            "this is a pattern longer than fifty bytes with its wildcards at its ends!",
          ],
    ),
    run_type: pick(random, isUniform ? ["llm", "tool"] : ["llm", "tool", "chain", "retriever"]),
    status: error === null ? (end === null ? "pending" : "success") : "error",
    error,
    trace_tier: "longlived",
    dotted_order: parent ? `${parent.dotted_order}.${own}` : own,
    start_time: start,
    end_time: end,
    first_token_time: pickMaybe(start + 1000),
    total_tokens: usesTokens ? tokens * 3 : null,
    prompt_tokens: tokens,
    completion_tokens: usesTokens ? tokens * 2 : null,
    total_cost: usesTokens ? tokens / 500 : null,
    prompt_cost: usesTokens ? tokens / 1000 : null,
    completion_cost: usesTokens ? tokens / 1000 : null,
    execution_order: random.between(1, 4),
    is_root: parent === undefined,
    tags: ["experimental", "beta", "x"].filter(() => random.next() < 0.4),
    metadata,
    inputs: object(() => ({
      question: pick(random, ["why?", "image classification", 'I say "hi" to you']),
      messages: [{ content: pick(random, ["hello text", "bye"]) }, { content: "hello" }],
      count: random.between(2, 5),
      deep: { er: { flag: random.next() < 0.5 } },
    })),
    outputs: object(() => ({ answer: pick(random, ["because", "an IMAGE"]), messages: [{ content: "done" }] })),
    feedback: [],
  };
}

/** Every run its own trace, or the totals would add up; children refer to parents of another partition. */
function toWrite(run: PlainRun): RunWrite {
  const usage =
    run.prompt_tokens === null
      ? undefined
      : {
          input_tokens: run.prompt_tokens,
          output_tokens: run.completion_tokens,
          total_tokens: run.total_tokens,
          input_cost: run.prompt_cost,
          output_cost: run.completion_cost,
          total_cost: run.total_cost,
        };
  const gathering = new OperationGatherer();
  gathering.addRun("post", {
    ...run,
    start_time: isoFromMicros(run.start_time),
    end_time: run.end_time && isoFromMicros(run.end_time),
    first_token_time: run.first_token_time && isoFromMicros(run.first_token_time),
    extra: { metadata: run.metadata },
  });
  const { write } = readRunDraft(gathering.drain(true)[0]!);
  const text = (value: unknown) => ({ text: JSON.stringify(value) });
  return {
    ...write,
    inputs: text(run.inputs),
    outputs: text(run.outputs),
    extra: text({ metadata: run.metadata }),
    ...(run.error === null ? {} : { error: { text: run.error } }),
    ...(usage
      ? {
          usage: {
            prompt_tokens: run.prompt_tokens!,
            completion_tokens: run.completion_tokens!,
            total_tokens: run.total_tokens!,
            prompt_cost: run.prompt_cost!,
            completion_cost: run.completion_cost!,
            total_cost: run.total_cost!,
          },
        }
      : {}),
  };
}

/** A partition of `count` random runs, feedback included, and the runs. Uniform ones are of few names, types and hours. */
export async function fillPartition(count = 300, isUniform = false) {
  const place = { projectId: session, day: DAY, shard: 0 };
  const identity = { workspaceId: crypto.randomUUID(), ...place, traceTier: "longlived" as const };
  await makeProject(identity);
  const partition = tracePartition(env, identity.workspaceId, identity);
  const runs: PlainRun[] = [];
  for (let n = 0; n < count; n++) {
    const elsewhere = { id: uuid7(MIDNIGHT), trace_id: "", dotted_order: "" } as PlainRun;
    Object.assign(elsewhere, { trace_id: elsewhere.id, dotted_order: segment(MIDNIGHT, elsewhere.id) });
    runs.push(randomRun(random.next() < 0.4 ? elsewhere : undefined, n, isUniform));
  }
  await partition.upsert(identity, runs.map(toWrite));
  const given: Parameters<typeof partition.putFeedback>[1][] = [];
  for (const run of runs) {
    if (random.next() < 0.5) continue;
    for (const key of ["star_rating", "mood"].filter(() => random.next() < 0.6)) {
      const feedback =
        key === "mood"
          ? { score: null, value: pick(random, ["good", "bad"]) }
          : { score: random.between(0, 6), value: null };
      const source = pick(random, ["api", "app"]);
      run.feedback.push({ key, ...feedback, source });
      const now = new Date().toISOString();
      given.push({
        id: crypto.randomUUID(),
        run_id: run.id,
        trace_id: run.trace_id,
        session_id: session,
        key,
        ...feedback,
        comment: null,
        correction: null,
        error: false,
        feedback_source: { type: source },
        feedback_config: null,
        feedback_group_id: null,
        comparative_experiment_id: null,
        extra: null,
        created_at: now,
        modified_at: now,
      });
    }
  }
  // Inside the object: hundreds of calls over RPC take seconds.
  const name = `${identity.workspaceId}/${session}/${DAY}`;
  await runInDurableObject(env.TRACE_PARTITION.getByName(name), async (object) => {
    for (const feedback of given) await (object as unknown as typeof partition).putFeedback(identity, feedback);
  });
  return { identity, partition, runs };
}
