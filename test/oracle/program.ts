/** The program of a case: what happens to its thread, step by step, made from the case's values. */
import type { Case } from "./dimensions.ts";
import * as answers from "./answers.ts";
import * as happenings from "./happenings.ts";
import type { RunSpec } from "./model.ts";
import * as others from "./others.ts";
import * as stops from "./stops.ts";
import { startInPlace, startSooner, stepsWhileWaiting } from "./waiting.ts";
import type { World } from "./world.ts";
import { makeKey } from "../support/encryption.ts";

export interface Step {
  name: string;
  work: (world: World) => Promise<void>;
}

const DAY = 24 * 3_600_000;
const HOUR = 3_600_000;
const DELAY = HOUR;

/** What the state holds besides messages. */
export function createDoc(values: Case["values"]): unknown {
  if (values === "look-alike")
    return { edits: 0, lc: 2, type: "undefined", inner: [{ lc: 1, type: "constructor", id: ["x"] }, { lc: 2 }] };
  if (values === "items") return Array.from({ length: 130_000 }, (_, i) => i % 10);
  if (values === "large") return "x".repeat(2_200_000);
  return { edits: 0 };
}

/** The steps of the case. */
export function createProgram(given: Case): Step[] {
  return given.kind === "stateless" || given.kind === "batch" ? stateless(given) : createThreaded(given);
}

const step = (name: string, work: Step["work"]): Step => ({ name, work });
const check = step("look", (world) => world.check());

function createThreaded(given: Case): Step[] {
  const { kind, pause, reader, lifecycle, moment, graph, repetition } = given;
  const doc = createDoc(given.values);
  const turn = pause === "none" || pause === "breakpoint" ? "t2" : "t2?";
  const t2: RunSpec = { name: "t2", turn, doc, ...(pause === "breakpoint" && { breakpoint: true }) };
  const happens = (at: Case["moment"]): Step[] =>
    moment === at && lifecycle !== "none" ? [step(`${lifecycle} (${at})`, happenings.happen), check] : [];
  // A run without a pause is itself what is stopped.
  const stopsItself = pause === "none";
  const holds = stopsItself && stops.needsHold(given);
  return [
    step("create", happenings.create),
    ...others.updateAt(given, "create"),
    step("t1", async (world) => {
      await world.start({ name: "t1", turn: "t1", doc: { edits: 0 } });
      await world.finish("t1");
    }),
    check,
    ...others.updateAt(given, "t1"),
    ...others.otherAt(given, "t1"),
    ...(kind === "delayed"
      ? [
          step("t2 in an hour", async (world) => {
            await startInPlace(world, { ...t2, afterMs: DELAY }, { kind, reader, key: createKey(world, "t2") });
          }),
          ...stepsWhileWaiting(given, check),
          // What is held is t2.
          ...(holds ? [] : [step("a run that is due sooner", (world) => startSooner(world, 0.9 * DELAY))]),
          step("a part of the hour passes", (world) => world.advance(0.7 * DELAY)),
          step("the hour is over", async (world) => {
            if (holds) world.hold("speak");
            await world.advance(0.4 * DELAY);
          }),
        ]
      : [
          step(`t2, ${kind}, read by ${reader}`, async (world) => {
            if (holds) world.hold("speak");
            await answers.startOnce(world, t2, stopsItself);
          }),
        ]),
    ...(stopsItself
      ? stops.listSteps(given, "t2", "speak")
      : [step("t2 pauses", (world) => world.finish("t2")), check]),
    ...others.updateAt(given, "pause"),
    ...others.otherAt(given, "pause"),
    ...others.removeEnded(given),
    ...happens("pause"),
    // What happens to the thread while t2 is at work comes before other runs, which wait for it.
    ...(stopsItself ? happens("stop") : []),
    ...listRotation(given),
    ...graphSteps(graph),
    ...(stopsItself ? [] : [...answerSteps(given), ...happens("stop")]),
    step("what is left", answers.completeAll),
    check,
    ...others.repeatGone(given),
    step("t3", answers.startLast),
    ...(repetition === "key" || repetition === "expired key"
      ? [step("t3 again", (world) => answers.answerAgain(world, "t3"))]
      : []),
    ...(repetition === "expired key"
      ? [
          step("t3 again after a day", async (world) => {
            await world.advance(DAY + HOUR);
            await world.start({ name: "t3b", turn: "t3" }, { key: `${world.id} t3` });
            if (world.model.exists) await world.finish("t3b");
          }),
        ]
      : []),
    check,
    ...others.updateAt(given, "t3"),
    ...happens("end"),
    step("everything", happenings.checkEverything),
  ];
}

const createKey = (world: World, name: string): string | undefined =>
  world.given.repetition === "key" ? `${world.id} ${name}` : undefined;

const listRotation = ({ secrets }: Case): Step[] =>
  secrets === "rotated"
    ? [
        step("another key", async ({ weir }) => {
          await makeKey(weir.caller);
        }),
      ]
    : [];

function graphSteps(graph: Case["graph"]): Step[] {
  if (graph === "same") return [];
  if (graph === "renamed" || graph === "retried")
    return [step(`a graph that is ${graph}`, (world) => happenings.redeploy(world, graph)), check];
  return [
    step(`a graph that is broken: ${graph}`, (world) => happenings.breakGraph(world, graph)),
    check,
    step("the graph works again", happenings.mendGraph),
    check,
  ];
}

/** Answers to all questions, the last of which is stopped. */
function answerSteps(given: Case): Step[] {
  const last = stops.needsHold(given);
  return [
    step("answers", async (world) => {
      await answers.askAgain(world);
      await answers.answerAll(world, last);
    }),
    ...stops.listSteps(given, "last answer", stops.heldBy(given)),
  ];
}

function stateless(given: Case): Step[] {
  const { pause, kind, reader, lifecycle } = given;
  const turn = pause === "none" || pause === "breakpoint" ? "t2" : "t2?";
  const t2: RunSpec = {
    name: "t2",
    turn,
    doc: createDoc(given.values),
    ...(pause === "breakpoint" && { breakpoint: true }),
  };
  return [
    step(`t2, ${kind}, read by ${reader}`, async (world) => {
      world.model.create(undefined, true, createKey(world, "t2") !== undefined);
      if (stops.needsHold(given)) world.hold("speak");
      await answers.startOnce(world, t2, true);
    }),
    ...listRotation(given),
    ...stops.listSteps(given, "t2", "speak"),
    step("the thread takes nothing else", happenings.expectRefusals),
    ...(lifecycle === "deletion" ? [step("deletion", happenings.happen)] : []),
    step("the thread goes", async (world) => {
      await world.advance(DAY + HOUR);
    }),
    check,
    step("everything", happenings.checkEverything),
  ];
}
