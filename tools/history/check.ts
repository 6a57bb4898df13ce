/** A round: the clients work, the threads come to rest, and the rules read the history. */
import { Facts, type Violation } from "./facts.ts";
import { readFeatures } from "./features.ts";
import type { Options } from "./options.ts";
import type { Features, History } from "./record.ts";
import { Recorder } from "./recorder.ts";
import { auditAtRest } from "./rest.ts";
import { RULES } from "./rules/all.ts";
import { work } from "./work.ts";
import { makeWorld, removeWorld } from "./world.ts";

/** What breaks the rules in a history. */
export function findViolations(history: History): Violation[] {
  const facts = new Facts(history);
  return Object.values(RULES).flatMap((rule) => rule(facts));
}

export const detectFeatures = ({ address }: Options): Promise<Features> => readFeatures(address, new Recorder(address));

/** The history of one round with the seed. */
export async function runRound(options: Options, features: Features, seed: number): Promise<History> {
  const { address, assistants, threads, clients, round, searchBound } = options;
  const recorder = new Recorder(address);
  const world = await makeWorld(recorder, features, assistants, threads);
  await work(world, seed, clients, round * 1_000);
  await auditAtRest(world, searchBound);
  await removeWorld(world);
  return { seed, features, searchBound, operations: recorder.operations };
}
