/** Random programs: a thread whose messages are replayed shows after each step what the same thread with plain messages shows. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import "../../support/delta-graphs.ts";
import { createRandom, generator, type Random, SEED } from "../../support/random.ts";
import { SOAK } from "../../support/thorough.ts";
import { say } from "../client.ts";
import { type Json, type State, Talk, textsIn } from "./talk.ts";

const STEPS = 10;

/** One step: it depends on the random numbers and on what both threads show. */
async function step(talk: Talk, random: Random, n: number, runs: string[]): Promise<string> {
  const pick = <Value>(all: Value[]): Value => all[random.between(0, all.length)] as Value;
  const durability = pick([undefined, undefined, "sync", "exit"]);
  const run = async (body: Json) => {
    runs.push(await talk.run({ ...(durability && { durability }), ...body }));
  };
  const what =
    n === 0
      ? "say"
      : pick(["say", "say", "ask", "answer", "null", "jot", "update", "command", "prune", "delete", "fork", "restart"]);
  const state = await talk.state();
  const waits = state.interrupts.length > 0;
  const is = `${what} ${durability ?? ""}`;
  if (what === "say") await run({ input: say(`said ${n}`) });
  else if (what === "ask") await run({ input: say(`asked ${n}?`) });
  else if (what === "answer" && waits) await run({ command: { resume: "yes" } });
  else if (what === "null") await run({ input: null });
  else if (what === "jot") await run({ assistant_id: "jot", input: { log: [`jot ${n}`] } });
  else if (what === "update") {
    const messages =
      random.between(0, 2) === 0 ? { messages: [{ role: "user", content: `updated ${n}`, id: `u${n}` }] } : {};
    const { graph_id } = state.metadata;
    if (graph_id !== "jot")
      await talk.update({ log: [`update ${n}`], ...messages }, { as_node: pick(["speak", "close"]) });
  } else if (what === "command" && !waits && state.metadata.graph_id !== "jot")
    await run({ command: { update: { log: [`command ${n}`], messages: [{ role: "user", content: `told ${n}` }] } } });
  else if (what === "prune") await talk.prune();
  else if (what === "delete" && runs.length > 1)
    await talk.deleteRun(runs.splice(random.between(0, runs.length), 1)[0] as string);
  else if (what === "fork") {
    const { checkpoint } = pick(await readHistory(talk));
    await run({ input: say(`forked ${n}`), checkpoint_id: checkpoint.checkpoint_id });
  } else if (what === "restart") await abortAllDurableObjects();
  return is;
}

/** Without the empty checkpoint under which LangGraph stores what a first run with the durability "exit" has written. */
const readHistory = async (talk: Talk) => (await talk.history()).filter(({ metadata }) => metadata.step !== -2);

const shown = ({ values, next, interrupts, metadata }: State) => ({
  texts: textsIn(values),
  log: values.log,
  next,
  asks: interrupts.map(({ value }) => value),
  source: metadata?.source,
  step: metadata?.step,
});

async function readShown(talk: Talk) {
  const { values, status } = await talk.call<{ values: Json; status: string }>("");
  const history = await readHistory(talk);
  return {
    thread: { texts: textsIn(values), log: values.log, status },
    state: shown(await talk.state()),
    history: history.map(shown),
  };
}

it.each(Array.from({ length: SOAK ? 40 : 6 }, (_, i) => SEED + i))(
  "programs leave the same (seed %i)",
  async (seed) => {
    const talks = await Promise.all(["chat-plain", "chat-delta"].map((graph) => Talk.begin(graph)));
    const randoms = talks.map(() => createRandom(generator(seed * 7919)));
    const runs: string[][] = [[], []];
    const done: string[] = [];
    for (let n = 0; n < STEPS; n += 1) {
      const names: string[] = [];
      for (const [i, talk] of talks.entries())
        names.push(await step(talk, randoms[i] as Random, n, runs[i] as string[]));
      done.push(names[0] as string);
      expect(names[1]).toBe(names[0]);
      const [plain, delta] = await Promise.all(talks.map(readShown));
      expect(delta, `seed ${seed}: ${done.join(", ")}`).toEqual(plain);
    }
  },
);
