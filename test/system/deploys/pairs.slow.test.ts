/**
 * Random pairs of versions of a graph, with a thread that waits between them. A thread continues exactly when the second version has
 * the nodes of the step that waits, those to which ended nodes led, and the keys that hold a value. Each node of the step has then run
 * once.
 */
import "../../../src/runtime/install.ts";
import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { beforeAll, expect, it } from "vitest";
import type { CheckPage, DescribedGraph } from "../../../src/system/deploys/schema.ts";
import { graphs } from "../../../src/deployment.ts";
import { describeShape } from "../../../src/runtime/introspect.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { SEED, seeded } from "../../support/random.ts";
import { get, newThread, stream } from "../../threads/client.ts";

type Json = Record<string, unknown>;

interface Version {
  /** The nodes of the step, and which of them ask. */
  step: { name: string; asks: boolean }[];
  /** The keys beside `log`. */
  keys: string[];
  /** Nodes behind the step. */
  behind: string[];
}

function build({ step, keys, behind }: Version) {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (held, given) => held.concat(given), default: () => [] }),
    ...Object.fromEntries(keys.map((key) => [key, Annotation<unknown>()])),
  });
  const graph = new StateGraph(State) as unknown as StateGraph<unknown, Json, Json, string>;
  for (const { name, asks } of step) {
    graph.addNode(name, () => ({ log: [asks ? `${name}:${interrupt<string, string>(name)}` : name] }));
    graph.addEdge(START, name);
  }
  let from = step.map(({ name }) => name);
  for (const name of behind) {
    graph.addNode(name, () => ({ log: [name] }));
    for (const one of from) graph.addEdge(one, name);
    from = [name];
  }
  return graph.compile();
}

/** The nodes that run behind the step: from the first one, and from where ended nodes led, step by step. */
function runBehind(behind: string[], led: string[]): string[] {
  const ran: string[] = [];
  let now = new Set([behind[0] as string, ...led]);
  while (now.size > 0) {
    ran.push(...now);
    now = new Set([...now].flatMap((name) => behind[behind.indexOf(name) + 1] ?? []));
  }
  return ran;
}

const CASES = 25;

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

it("a thread continues on the versions that have what it needs, and on no other", async () => {
  const random = seeded("deploys");
  const pickBelow = (high: number) => random.between(0, high);
  const outcomes = { continued: 0, refused: 0 };
  for (let n = 0; n < CASES; n++) {
    const id = `pair-${SEED}-${n}`;
    const width = 1 + pickBelow(3);
    const asking = pickBelow(width);
    const before: Version = {
      step: Array.from({ length: width }, (_, i) => ({ name: `n${i}`, asks: i === asking || pickBelow(3) === 0 })),
      keys: ["a", "b"].slice(pickBelow(2)),
      behind: pickBelow(2) === 0 ? ["end"] : ["next", "end"],
    };
    const held = before.keys.filter(() => pickBelow(2) === 0);
    const renamed = before.step.map((node) => (pickBelow(4) === 0 ? { ...node, name: `${node.name}x` } : node));
    const after: Version = {
      step: pickBelow(3) === 0 ? [...renamed, { name: "added", asks: false }] : renamed,
      keys: [...before.keys.filter(() => pickBelow(4) > 0), ...(pickBelow(2) === 0 ? ["c"] : [])],
      behind: [...(pickBelow(3) === 0 ? ["new"] : []), ...before.behind.slice(pickBelow(6) === 0 ? -1 : 0)],
    };
    // A node that had ended leads where the version led under which it ended.
    const led = before.step.some(({ asks }) => !asks) ? [before.behind[0] as string] : [];
    const lacks =
      led.some((name) => !after.behind.includes(name)) ||
      before.step.some(({ name }) => !after.step.some((node) => node.name === name)) ||
      held.some((key) => !after.keys.includes(key));
    const facts = { seed: SEED, n, before, after, held };

    graphs[id] = build(before);
    const thread = await newThread(caller);
    const input = { log: ["in"], ...Object.fromEntries(held.map((key) => [key, key])) };
    await stream(caller, thread, { assistant_id: id, input });
    const { interrupts } = await get<{ interrupts: { id: string }[] }>(caller, `/threads/${thread}/state`);
    const shapes = Object.keys(graphs).map((one) => [one, { shape: null }] as [string, Partial<DescribedGraph>]);
    const body = { graphs: { ...Object.fromEntries(shapes), [id]: { shape: describeShape(build(after)) } } };
    const page = await (await caller.fetch("/graphs/check", { body })).json<CheckPage>();
    expect({ ...facts, stuck: page.threads.some(({ thread_id }) => thread_id === thread) }).toEqual({
      ...facts,
      stuck: lacks,
    });

    graphs[id] = build(after);
    const resume = Object.fromEntries(interrupts.map((one) => [one.id, "yes"]));
    const run = { assistant_id: id, command: { resume } };
    const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: run });
    expect({ ...facts, status: response.status }).toEqual({ ...facts, status: lacks ? 409 : 200 });
    const answer = await response.json<{ log: string[] }>();
    if (lacks) outcomes.refused += 1;
    else {
      outcomes.continued += 1;
      const ran = before.step.map(({ name, asks }) => (asks ? `${name}:yes` : name));
      // oxlint-disable-next-line vitest/no-conditional-expect -- half of the cases
      expect({ ...facts, log: answer.log.toSorted() }).toEqual({
        ...facts,
        log: ["in", ...ran, ...runBehind(after.behind, led)].toSorted(),
      });
    }
    delete graphs[id];
  }
  expect(Math.min(outcomes.continued, outcomes.refused)).toBeGreaterThan(2);
});
