/** The work of the clients: steps that a seed chooses. The same seed makes the same choices, but not the same interleaving. */
import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../fuzz/dice.ts";
import { type Features, now, type Role } from "./record.ts";
import { answerQuestion, cancelRun, copyThread, deleteRun, updateState } from "./steps/change.ts";
import { follow, watch } from "./steps/follow.ts";
import { joinRun, listRuns, readHistory, readRun, readState, readThread, search } from "./steps/read.ts";
import {
  newMessage,
  startAndStream,
  startAndWait,
  startByCommand,
  startInBackground,
  startTwice,
} from "./steps/start.ts";
import { type KnownRun, someRun, type Step, type World } from "./world.ts";

interface Choice {
  weight: number;
  only?: Role;
  needs?: (features: Features) => boolean;
  take: (step: Step) => Promise<unknown>;
}

/** A step with a run that some client has started. */
const withRun = (take: (step: Step, run: KnownRun) => Promise<unknown>) => async (step: Step) => {
  const run = someRun(step);
  if (run) await take(step, run);
};

const hasProtocol = ({ protocol }: Features) => protocol;

const CHOICES: Choice[] = [
  { weight: 10, take: (step) => startInBackground(step, newMessage(step)) },
  { weight: 10, take: (step) => startAndStream(step, newMessage(step)) },
  { weight: 6, take: (step) => startAndWait(step, newMessage(step)) },
  { weight: 4, needs: hasProtocol, only: "echo", take: (step) => startByCommand(step, newMessage(step)) },
  { weight: 3, needs: ({ weir }) => weir, take: (step) => startTwice(step, newMessage(step)) },
  { weight: 60, only: "approval", take: answerQuestion },
  { weight: 4, only: "echo", take: updateState },
  { weight: 5, take: withRun(cancelRun) },
  { weight: 2, take: withRun(deleteRun) },
  { weight: 1, take: copyThread },
  { weight: 8, take: (step) => readState(step) },
  { weight: 3, take: (step) => readHistory(step, step.dice.pick([5, 20, 1_000])) },
  { weight: 4, take: readThread },
  { weight: 3, take: search },
  { weight: 6, take: withRun(readRun) },
  { weight: 5, take: listRuns },
  { weight: 4, take: withRun(joinRun) },
  { weight: 6, take: withRun((step, run) => follow(step, run)) },
  { weight: 3, needs: hasProtocol, take: (step) => watch(step) },
];

/** The step of this number of a client. No step depends on what the ones before it drew. */
function createStep(world: World, seed: number, client: number, number: number): Step {
  const dice = Dice.of(seed, client * 100_000 + number);
  return { world, client, number, dice, place: dice.pick(world.places) };
}

function choose({ world, place, dice }: Step): Choice {
  const possible = CHOICES.filter(
    ({ only, needs }) => (!only || only === place.role) && (!needs || needs(world.features)),
  );
  let left = dice.next() * possible.reduce((sum, { weight }) => sum + weight, 0);
  return possible.find(({ weight }) => (left -= weight) < 0) ?? (possible[0] as Choice);
}

async function act(world: World, seed: number, client: number, until: number): Promise<void> {
  for (let number = 0; now() < until; number += 1) {
    const step = createStep(world, seed, client, number);
    const { take } = choose(step);
    const pause = step.dice.int(0, 60);
    await take(step);
    await sleep(pause);
  }
}

/** All clients at the same time, for these milliseconds. */
export async function work(world: World, seed: number, clients: number, ms: number): Promise<void> {
  const until = now() + ms;
  await Promise.all(Array.from({ length: clients }, (_, client) => act(world, seed, client, until)));
}
