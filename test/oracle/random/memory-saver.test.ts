/** Random programs on threads of the product and on LangGraph with its MemorySaver: after each step both show the same. */
import { Command, MemorySaver, Send } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import type { Random } from "../../support/random.ts";
import { Connection } from "../connection.ts";
import { checkLaws, expectSame } from "../laws.ts";
import { compareText } from "../views.ts";
import { Mismatch } from "../world.ts";
import { build, type Driven, KINDS, type Snapshot } from "./graphs.ts";
import { carryAll, choose, choosePrograms, type Known, type Program, type Step } from "./programs.ts";

type Json = Record<string, unknown>;
const STEPS = 9;
const AT_ONCE = 4;
const DURABILITIES = ["async", "async", "sync", "exit"];

/** What differs and is left, with why: the list can only get shorter. */
const KNOWN: Known[] = [
  {
    shows: /(?:goto|send) \d+ \d+ exit.*the history: \S+next/s,
    because:
      "After a `goto` with `exit`, the checkpoint that the next command leaves shows that command's node as next.",
  },
];

/** Where LangGraph 1.7.3 itself is wrong with MemorySaver, so that programs have no such step. */
const AVOIDED = [
  {
    word: "command",
    durability: "exit",
    because:
      "Of a command that only updates, the state in memory has the update twice, and the run's result has it once.",
  },
];

const WORDS = `say say go resume answer answer goto send
  command update update-as fork fork-say before after before-all`.split(/\s+/);

function makeSteps(random: Random): Step[] {
  const number = () => String(random.between(0, 60));
  return Array.from({ length: STEPS }, (_, i) => {
    const words = i === 0 ? ["say", "say", "update-as"] : random.next() < 0.4 ? ["resume", "answer"] : WORDS;
    const word = words[random.between(0, words.length)] ?? "go";
    const durability = DURABILITIES[random.between(0, DURABILITIES.length)] ?? "async";
    const isAvoided = AVOIDED.some((one) => one.word === word && one.durability === durability);
    return [word, number(), number(), isAvoided ? "async" : durability];
  });
}

const toMessage = (one: unknown): string => {
  const { type, content } = one as { type: string; content: unknown };
  return `${type}:${String(content)}`;
};
function toValues(values: Json | null | undefined): Json {
  const { messages, log = [], n = 0 } = values ?? {};
  return { log, n, ...(messages !== undefined && { messages: (messages as unknown[]).map(toMessage) }) };
}

interface Shown {
  values: Json;
  next: string[];
  asks: unknown[];
}
type Wire = Pick<Snapshot, "values" | "next" | "tasks" | "metadata"> & { checkpoint: { checkpoint_id: string } };
/** A task that has ended is not next, and asks nothing. In memory both are still listed. */
const listOpen = (tasks: Snapshot["tasks"]) => tasks.filter(({ result }) => result === undefined || result === null);
/** Interrupts that wait, each once: one of a task of a functional graph is also one of its entrypoint. */
const listWaiting = (tasks: Snapshot["tasks"]): { id: string; value: unknown }[] => [
  ...new Map(listOpen(tasks).flatMap(({ interrupts }) => interrupts.map((one) => [one.id, one]))).values(),
];
const toShown = ({ values, tasks }: Pick<Snapshot, "values" | "tasks">): Shown => ({
  values: toValues(values),
  next: listOpen(tasks)
    .map(({ name }) => name)
    .sort(compareText),
  asks: listWaiting(tasks)
    .map(({ value }) => JSON.stringify(value))
    .sort(compareText),
});
/** Of a checkpoint that was left, the product lists no interrupts. */
const toPlace = ({ metadata: { source, step }, next, values }: Pick<Snapshot, "values" | "next" | "metadata">) => ({
  place: `${source} ${step}`,
  next: next.toSorted(compareText),
  values: toValues(values),
});

const ANSWERS = ["yes", "no", { x: 1 }, [1], 5];

/** One program: its thread on the product, and its thread in memory. */
class Pair {
  readonly #config: { configurable: { thread_id: string } };
  #said = 0;

  constructor(
    readonly kind: string,
    readonly thread: Connection,
    readonly local: Driven,
  ) {
    this.#config = { configurable: { thread_id: thread.threadId } };
  }

  async #readLocal(): Promise<Snapshot[]> {
    const states: Snapshot[] = [];
    for await (const state of this.local.getStateHistory(this.#config)) states.push(state);
    return states;
  }

  /** The latest state: that of its checkpoint alone, where what ended tasks have written cannot be applied. */
  async #readLocalState(): Promise<Snapshot> {
    return this.local.getState(this.#config).catch(async () => {
      const [{ config }] = (await this.#readLocal()) as [Snapshot];
      return this.local.getState(config);
    });
  }

  async #readRemote(): Promise<Wire[]> {
    const states = await this.thread.json<Wire[]>(`${this.thread.path}/history?limit=1000`);
    if (typeof states === "number") throw new Mismatch(`GET /history answers ${states}`);
    return states;
  }

  #say(): Json {
    const n = (this.#said += 1);
    const chats = this.kind === "messages" || this.kind === "delta";
    return { log: [`in${n}`], ...(chats && { messages: [{ role: "user", content: `u${n}`, id: `u${n}` }] }) };
  }

  /** Carries the step out on both. */
  async take([word = "", first, second, durability = "async"]: Step): Promise<void> {
    const nodes = Object.keys(this.local.nodes).filter((name) => !name.startsWith("__"));
    const node = choose(nodes, first) ?? "";
    const local = await this.#readLocalState();
    const waiting = listWaiting(local.tasks);
    const answer = choose(ANSWERS, second);
    const input = () => (Number(second) % 2 ? null : this.#say());
    const run = (given: unknown, body: Json, options: Json = {}, config: object = this.#config) =>
      this.#run(given, { ...body, durability }, { ...options, durability }, config);
    switch (word) {
      case "say": {
        const said = this.#say();
        return run(said, { input: said });
      }
      case "go":
        return run(null, { input: null });
      case "resume":
        if (waiting.length === 0) return;
        if (waiting.length > 1) return this.#resumeSeveral(answer, durability);
        return run(new Command({ resume: answer }), { command: { resume: answer } });
      case "answer": {
        const one = choose(waiting, first);
        if (!one) return;
        // Two tasks of one node ask the same.
        const isSame = ({ value }: { value: unknown }) => value === one.value;
        const asked = listWaiting((await this.#readRemote())[0]?.tasks ?? []);
        const same = asked.filter(isSame)[waiting.filter(isSame).indexOf(one)];
        if (!same) throw new Mismatch(`the interrupt ${String(one.value)} is not listed`);
        const command = { resume: { [same.id]: answer } };
        return run(new Command({ resume: { [one.id]: answer } }), { command });
      }
      case "goto":
        return run(new Command({ goto: node }), { command: { goto: node } });
      case "send": {
        const sent = { log: ["sent"], n: 7, ...("messages" in (local.values ?? {}) && { messages: [] }) };
        return run(new Command({ goto: [new Send(node, sent)] }), { command: { goto: [{ node, input: sent }] } });
      }
      case "command": {
        const update = { log: ["command"] };
        return run(new Command({ update }), { command: { update } });
      }
      case "update":
        return this.#update(undefined);
      case "update-as":
        return this.#update(node);
      case "fork":
      case "fork-say": {
        const at = 1 + Number(first);
        const [here, there] = [await this.#readLocal(), await this.#readRemote()];
        const place = at % here.length;
        if (place === 0) return;
        const said = word === "fork" ? null : this.#say();
        const checkpoint_id = there[place]?.checkpoint.checkpoint_id;
        return run(said, { input: said, checkpoint_id }, {}, here[place]?.config);
      }
      case "before":
      case "after": {
        const given = input();
        if (word === "before")
          return run(given, { input: given, interrupt_before: [node] }, { interruptBefore: [node] });
        return run(given, { input: given, interrupt_after: [node] }, { interruptAfter: [node] });
      }
      case "before-all": {
        const given = input();
        return run(given, { input: given, interrupt_before: "*" }, { interruptBefore: "*" });
      }
      default:
        throw new Error(`No step is called ${word}.`);
    }
  }

  async #wait(body: Json): Promise<Json | number | null> {
    const request = { assistant_id: this.thread.graphId, ...body };
    return this.thread.json<Json | null>(`${this.thread.path}/runs/wait`, { body: request });
  }

  /** A plain response is for one interrupt: it is refused, and nothing changes. In memory it is for all of them. */
  async #resumeSeveral(resume: unknown, durability: string): Promise<void> {
    const answer = await this.#wait({ command: { resume }, durability });
    const { error } = ((typeof answer === "object" && answer?.__error__) || {}) as { error?: string };
    expectSame("the refusal of a plain response to several interrupts", error, "SeveralInterruptsError");
  }

  async #run(given: unknown, body: Json, options: Json, config: object): Promise<void> {
    let failed = false;
    try {
      const stream = await this.local.stream(given, { ...config, ...options, streamMode: "values" });
      for await (const _ of stream);
    } catch {
      failed = true;
    }
    const answer = await this.#wait(body);
    const refused = typeof answer === "number" || answer?.__error__ !== undefined;
    if (refused !== failed)
      throw new Mismatch(`a run ${failed ? "fails" : "works"} in memory: ${JSON.stringify(answer)}`);
  }

  async #update(as_node: string | undefined): Promise<void> {
    let failed = false;
    const values = { log: ["update"] };
    try {
      await this.local.updateState(this.#config, values, as_node);
    } catch {
      failed = true;
    }
    const answer = await this.thread.json(`${this.thread.path}/state`, { body: { values, as_node } });
    if ((typeof answer === "number") !== failed)
      throw new Mismatch(`an update ${failed ? "fails" : "works"} in memory: ${JSON.stringify(answer)}`);
  }

  /** Values, next, interrupts and history are those in memory. */
  async compare(): Promise<void> {
    const state = await this.thread.json<Wire>(`${this.thread.path}/state`);
    if (typeof state === "number") throw new Mismatch(`GET /state answers ${state}`);
    expectSame("the state", toShown(state), toShown(await this.#readLocalState()));
    const [here, there] = [(await this.#readLocal()).map(toPlace), (await this.#readRemote()).map(toPlace)];
    const places = (all: { place: string }[]) => all.map(({ place }) => place);
    expectSame("the steps of the history", places(there), places(here));
    expectSame("the history", there, here);
  }
}

const local = Object.fromEntries(KINDS.map((kind) => [kind, build(kind, new MemorySaver())]));

const carry =
  (caller: Caller) =>
  async ({ kind, steps }: Program) => {
    const thread = new Connection(caller, `random-${kind}`, { pause: "none" });
    await thread.create();
    const pair = new Pair(kind, thread, local[kind] as Driven);
    for (const step of steps) {
      await pair.take(step);
      await pair.compare();
    }
    await checkLaws(thread);
    if (thread.faults.length > 0) throw new Mismatch(thread.faults.join("; "));
  };

const programs = choosePrograms(KINDS, makeSteps, 10, 500);

it(
  `${programs.length} random programs are as with MemorySaver`,
  { timeout: 60_000 + programs.length * 20_000 },
  async () => {
    for (const kind of KINDS) graphs[`random-${kind}`] = build(kind) as never;
    try {
      const failures = await carryAll("test/oracle/random/memory-saver.test.ts", programs, carry(await newCaller()), {
        atOnce: AT_ONCE,
        known: KNOWN,
      });
      expect(failures).toEqual([]);
    } finally {
      for (const kind of KINDS) delete graphs[`random-${kind}`];
    }
  },
);
