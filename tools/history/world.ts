/** What the clients of one round share: its threads, and the runs and questions that any client has seen there. */
import type { Features, Role } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Dice } from "../fuzz/dice.ts";

export interface KnownRun {
  id: string;
  resumable: boolean;
}

export interface Place {
  id: string;
  role: Role;
  assistant: string;
  runs: KnownRun[];
}

export interface World {
  recorder: Recorder;
  features: Features;
  /** In the metadata of the round's threads, so that searches find no others. */
  mark: string;
  places: Place[];
  /** Copies that no client works on. */
  copies: string[];
}

/** One step of a client: its choices, and where it works. */
export interface Step {
  world: World;
  place: Place;
  dice: Dice;
  client: number;
  number: number;
}

/** Creates the threads of a round. The roles take turns. */
export async function makeWorld(
  recorder: Recorder,
  features: Features,
  assistants: Partial<Record<Role, string>>,
  threads: number,
): Promise<World> {
  const roles = Object.entries(assistants) as [Role, string][];
  const mark = crypto.randomUUID();
  const world: World = { recorder, features, mark, places: [], copies: [] };
  for (let index = 0; index < threads; index += 1) {
    const [role, assistant] = roles[index % roles.length] as [Role, string];
    const id = crypto.randomUUID();
    const made = await recorder.record(index, "create thread", { thread: id }, async () => {
      await recorder.sdk.threads.create({ threadId: id, metadata: { mark } });
    });
    if (made.outcome !== "ok") throw new Error(`The server did not create a thread: ${made.detail}`);
    world.places.push({ id, role, assistant, runs: [] });
  }
  return world;
}

/** Deletes the threads and copies of a round. What is left of them does not matter to its history. */
export async function removeWorld({ recorder, places, copies }: World): Promise<void> {
  for (const id of [...places.map((place) => place.id), ...copies])
    await recorder.sdk.threads.delete(id).catch(() => {});
}

export function noteRun({ runs }: Place, id: string, resumable: boolean): void {
  if (!runs.some((run) => run.id === id)) runs.push({ id, resumable });
}

/** A run of the place, mostly a recent one. */
export function someRun({ place: { runs }, dice }: Step): KnownRun | undefined {
  return dice.chance(0.7) ? runs.at(-dice.int(1, 3)) : runs[dice.int(0, Math.max(0, runs.length - 1))];
}
