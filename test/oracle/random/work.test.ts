/** Random work on threads: what it leaves obeys the laws of laws.ts. */
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import * as gates from "../gates.ts";
import { build, buildNote } from "../graphs.ts";
import { receive } from "../receiver.ts";
import { Sights } from "../sights.ts";
import { carryAll, choosePrograms, type Known, type Program } from "./programs.ts";
import { makeSteps, OTHER, SHAPES, Work } from "./work.ts";

const AT_ONCE = 4;

/** What is wrong and is not mended. */
const KNOWN: Known[] = [];

const KINDS = Object.keys(SHAPES);
/** Graphs of which each works for one program at a time: its gates are the program's. */
const free = Object.fromEntries(
  KINDS.map((kind) => [kind, Array.from({ length: AT_ONCE }, (_, i) => `random-${kind}-${i}`)]),
);

const carry =
  (caller: Caller) =>
  async ({ kind, steps }: Program) => {
    const shape = SHAPES[kind];
    const graphId = free[kind]?.pop();
    if (!shape || graphId === undefined) throw new Error(`No graph of the kind ${kind} is free.`);
    const thread = new Sights(caller, graphId, shape);
    try {
      await thread.create();
      const work = new Work(thread);
      for (const step of steps) {
        if (process.env.LOUD) console.log(`random-step: ${step.join(" ")}`);
        await work.take(step);
      }
      await work.end();
    } finally {
      gates.open(graphId);
      free[kind]?.push(graphId);
    }
  };

const programs = choosePrograms(KINDS, makeSteps, 8, 500);

it(
  `${programs.length} programs of random work obey the laws`,
  { timeout: 60_000 + programs.length * 20_000 },
  async () => {
    const all = {
      ...Object.fromEntries(
        KINDS.flatMap((kind) => (free[kind] ?? []).map((id) => [id, build(SHAPES[kind] ?? { pause: "none" })])),
      ),
      [OTHER]: buildNote(),
    };
    const stopReceiver = receive();
    Object.assign(graphs, all);
    try {
      const failures = await carryAll("test/oracle/random/work.test.ts", programs, carry(await newCaller()), {
        atOnce: AT_ONCE,
        known: KNOWN,
      });
      expect(failures).toEqual([]);
    } finally {
      stopReceiver();
      for (const id of Object.keys(all)) delete graphs[id];
    }
  },
);
