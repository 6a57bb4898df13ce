/** Random trees of runs, sent in random pieces and order, some of them twice, with kills in between. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { StoredTraceRun } from "../../../../src/traces/types.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { type Random, seeded } from "../../../support/random.ts";
import {
  DAY,
  type MultipartPart,
  NOON,
  projectId,
  runParts,
  sendMultipart,
  type Sent,
  sentRun,
  readStoredRuns,
} from "../../../support/traces.ts";

const TREES = 12;

interface Piece {
  run: string;
  parts: MultipartPart[];
}

/** A tree as it should be stored, and its pieces. */
interface Tree {
  runs: Map<string, Partial<StoredTraceRun>>;
  pieces: Piece[];
}

function shuffle<T>(random: Random, items: T[]): T[] {
  return items
    .map((item) => ({ item, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function randomTree(random: Random): Tree {
  const sent: Sent[] = [];
  const usages = new Map<string, number>();
  const tree: Tree = { runs: new Map(), pieces: [] };
  const size = random.between(1, 25);
  // Some senders leave the place to be derived from parents, for the whole of a trace.
  const tellsPlace = random.next() < 0.6;
  for (let n = 0; n < size; n++) {
    const parent = n === 0 ? undefined : sent[random.between(0, sent.length)];
    const isModel = n > 0 && random.next() < 0.3;
    const run = sentRun(
      NOON + n * 1_000 + random.between(0, 900),
      { name: `run ${n}`, run_type: isModel ? "llm" : "chain" },
      parent,
    );
    sent.push(run);
    const tokens = isModel ? random.between(1, 100) : 0;
    if (isModel) usages.set(run.id, tokens);
    addRun(random, tree, run, tokens, tellsPlace);
  }
  for (const run of sent) {
    const model = tree.runs.get(run.id) as Partial<StoredTraceRun>;
    model.total_tokens = sumTokens(run, sent, usages);
  }
  return tree;
}

/** What models reported at or below a run; a model's own call counts as a whole. */
function sumTokens(run: Sent, sent: Sent[], usages: Map<string, number>): number | null {
  const own = usages.get(run.id);
  if (own !== undefined) return own;
  const below = sent
    .filter(({ parent_run_id }) => parent_run_id === run.id)
    .map((child) => sumTokens(child, sent, usages));
  const spent = below.filter((tokens) => tokens !== null);
  return spent.length === 0 ? null : spent.reduce((sum, tokens) => sum + tokens, 0);
}

function addRun(random: Random, tree: Tree, run: Sent, tokens: number, tellsPlace: boolean): void {
  const usage_metadata = { input_tokens: tokens, output_tokens: 0, total_tokens: tokens };
  const outputs = { answer: run.name, ...(tokens > 0 ? { usage_metadata } : {}) };
  const error = random.next() < 0.2 ? "Error: boom" : undefined;
  const end = NOON + 10_000_000 + random.between(0, 1000);
  const { dotted_order, ...rest } = run;
  const placed = tellsPlace ? run : { ...rest };
  const post = { ...placed, inputs: { asked: run.name }, extra: { metadata: { a: 1, b: 1 } } };
  const patch = {
    ...placed,
    end_time: end / 1000,
    outputs,
    ...(error ? { error } : {}),
    tags: [run.name],
    extra: { metadata: { b: 2 } },
  };
  const whole = random.next() < 0.3;
  const kinds = whole
    ? [runParts("post", { ...post, ...patch, extra: { metadata: { a: 1, b: 2 } } })]
    : [runParts("post", post), runParts("patch", patch)];
  for (const parts of kinds) {
    const copies = random.next() < 0.3 ? 2 : 1;
    for (let i = 0; i < copies; i++) tree.pieces.push({ run: run.id, parts });
  }
  tree.runs.set(run.id, {
    id: run.id,
    trace_id: run.trace_id,
    parent_run_id: run.parent_run_id ?? null,
    parent_run_ids: dotted_order
      .split(".")
      .slice(0, -1)
      .map((part) => part.slice(-36)),
    dotted_order,
    is_root: run.parent_run_id === undefined,
    name: run.name,
    run_type: run.run_type,
    end_time: end,
    status: error ? "error" : "success",
    error: error ?? null,
    tags: [run.name],
    inputs: JSON.stringify({ asked: run.name }),
    outputs: JSON.stringify(outputs),
  });
}

async function sendInBatches(caller: Caller, random: Random, pieces: Piece[]): Promise<void> {
  for (let left = shuffle(random, pieces); left.length > 0;) {
    const count = random.between(1, 8);
    // Two operations of one kind for a run would be one in a batch, so each batch has a run's part once.
    const batch = new Map(left.slice(0, count).map((piece) => [piece.parts[0]?.name, piece]));
    left = left.slice(count);
    const encoding = random.next() < 0.5 ? "gzip" : undefined;
    const response = await sendMultipart(
      caller,
      [...batch.values()].flatMap(({ parts }) => parts),
      { encoding },
    );
    expect(await response.json()).toMatchObject({ rejected: 0 });
    if (random.next() < 0.15) await abortAllDurableObjects();
  }
}

it(`${TREES} random trees are stored as they are, however they come`, { timeout: 120_000 }, async () => {
  const random = seeded("trees");
  const caller = await newCaller();
  const trees = Array.from({ length: TREES }, () => randomTree(random));
  await sendInBatches(
    caller,
    random,
    trees.flatMap(({ pieces }) => pieces),
  );
  await abortAllDurableObjects();
  const stored = new Map((await readStoredRuns(caller)).map((run) => [run.id, run]));
  const expected = trees.flatMap(({ runs }) => [...runs.values()]);
  expect(stored.size).toBe(expected.length);
  for (const model of expected) {
    const run = stored.get(model.id ?? "");
    expect(run).toMatchObject(model);
    expect(JSON.parse(run?.extra ?? "null")).toEqual({ metadata: { a: 1, b: 2 } });
  }
  const listed = await env.DB.prepare("SELECT rows FROM trace_partitions WHERE project_id = ? AND day = ?")
    .bind(await projectId(caller), DAY)
    .first();
  expect(listed).not.toBeNull();
});
