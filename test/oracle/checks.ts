/** What is checked when a case is at rest: searches, streams, effects, storage. */
import type { Event } from "../protocols/streaming/client.ts";
import * as gates from "./gates.ts";
import { joinSaid } from "./model-graph.ts";
import { pause } from "./patience.ts";
import { listHooks } from "./receiver.ts";
import { classicTexts, protocolTexts, type Texts } from "./texts.ts";
import { modelValues } from "./views.ts";
import { Mismatch, type World } from "./world.ts";

/** How often what comes later is looked at. A loaded machine makes each look slower. */
const LOOKS = 200;
const CURSORS = 3;

/** Looks until nothing differs; what differs after many looks is wrong. */
async function checkEventually(look: () => Promise<void>): Promise<void> {
  for (let left = LOOKS; ; left -= 1) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof Mismatch) || left === 0) throw error;
      await pause(50);
    }
  }
}

/** Searches show the thread as it is. A long state is not found by its values. */
export async function checkSearch(world: World): Promise<void> {
  await checkEventually(async () => {
    await world.weir.alarms();
    const found = (await world.weir.found()) as { status: string; values: unknown }[];
    const wanted = { status: world.model.status, values: modelValues(world.model.values) };
    if (!world.heavy) return world.expect("POST /threads/search", found, [wanted]);
    world.expect(
      "POST /threads/search",
      found.map(({ status }) => status),
      [world.model.status],
    );
  });
}

/** The events without those that the deletion of a run erases: all between its beginning and its end that say something of it. */
export function withoutRun(events: Event[], runId: string): Event[] {
  const isOwn = ({ event_id }: Event) => event_id.startsWith(`synth:${runId}:`);
  const own = events.filter(isOwn).map(({ seq }) => seq);
  const isInside = (seq: number) => seq > Math.min(...own) && seq < Math.max(...own);
  const stays = ({ method, params }: Event) =>
    params.namespace.length === 0 && ["lifecycle", "input.answered"].includes(method);
  return events
    .filter((event) => !isInside(event.seq) || stays(event))
    .map((event) => {
      const { error: _error, ...data } = event.params.data;
      return isOwn(event) ? { ...event, params: { ...event.params, data } } : event;
    });
}

/** From every cursor, what a reader had and what it gets are the whole messages. */
export async function checkReaders(world: World): Promise<void> {
  const { weir, model, random } = world;
  if (!model.exists || world.heavy || model.temporary) return;
  const last = await weir.lastEnd();
  const events = await weir.events(0, last);
  const seen = weir.transcript ?? [];
  const before = [...seen, ...events.filter(({ seq }) => seq > (seen.at(-1)?.seq ?? 0))];
  const whole = protocolTexts(before);
  world.expect("the events besides texts", events.filter(isFact), before.filter(isFact));
  const ids = new Set(before.map(({ event_id }) => event_id));
  world.expect(
    "new ids of known events",
    events.filter(({ event_id }) => !ids.has(event_id)),
    [],
  );
  for (const cursor of sample(
    before.map(({ seq }) => seq),
    () => random.next(),
  )) {
    const had = protocolTexts(before.filter(({ seq }) => seq <= cursor));
    expectTexts(
      world,
      `the protocol's stream after ${cursor}`,
      protocolTexts(await weir.events(cursor, last), had),
      whole,
    );
  }
  weir.transcript = before;
  for (const { name, spoke } of model.runs.filter(({ ran }) => ran)) {
    const frames = await weir.frames(name);
    const known = weir.transcripts.get(name) ?? frames;
    const isFirstLook = !weir.transcripts.has(name);
    const texts = classicTexts(known);
    if (spoke !== undefined)
      world.expect(`the message of ${name} in its stream`, [...texts.values()].includes(joinSaid(spoke)), true);
    for (const id of sample(
      known.map((frame) => frame.id ?? "-1"),
      () => random.next(),
    )) {
      const seen = known.findLastIndex((frame) => frame.id === id) + 1;
      const rest = await weir.frames(name, id);
      if (isFirstLook) world.expect(`the frames of ${name} after ${id}`, rest, known.slice(seen));
      const had = classicTexts(known.slice(0, seen));
      expectTexts(world, `the stream of ${name} after ${id}`, classicTexts(rest, had), texts);
    }
    weir.transcripts.set(name, known);
  }
}

const isFact = ({ method, params }: Event) => method !== "messages" || params.data.event !== "content-block-delta";

function sample<T>(all: T[], next: () => number): T[] {
  const unique = [...new Set(all)];
  return Array.from(
    { length: Math.min(CURSORS, unique.length) },
    () => unique[Math.floor(next() * unique.length)] as T,
  );
}

function expectTexts(world: World, what: string, real: Texts, wanted: Texts): void {
  world.expect(what, Object.fromEntries(real), Object.fromEntries(wanted));
}

/** Webhooks of exactly the runs that have ended, also of those that were undone, each under one delivery id. */
export async function checkEffects(world: World): Promise<void> {
  const { weir, model } = world;
  await checkEventually(async () => {
    await weir.alarms();
    const told = [...weir.ids].flatMap(([name, id]) => listHooks(id).map((status) => `${name} ${status}`));
    world.expect("webhooks", told.sort(), model.hooks.toSorted());
  });
}

/** A node that has ended is not executed again. */
export function checkExecutions(world: World): void {
  const { weir, left, given } = world;
  const { pause: kind } = given;
  // What waits at the gate of its first node is executed again after a restart.
  if (kind === "none" || given.kind === "stateless" || given.kind === "batch") return;
  // A run that stores its checkpoints at its end begins again.
  if (given.durability === "exit") return;
  const turn = kind === "breakpoint" ? "t2" : "t2?";
  const threads = [...left.map((one) => one.weir.threadId), weir.threadId];
  for (const node of kind === "parallel" ? ["speak", "free"] : ["speak"]) {
    const counts = threads.map((thread) => gates.executions(thread, node, turn));
    // Copies have what the first thread executed.
    world.expect(`the executions of ${node} in ${turn}`, counts, [1, ...left.map(() => 0)]);
  }
}

/** A deleted thread leaves nothing in its object's storage. */
export async function checkStorage(world: World): Promise<void> {
  await checkEventually(async () => {
    await world.weir.alarms();
    world.expect("the storage of a deleted thread", (await world.weir.measureStored()).tables, []);
  });
}
