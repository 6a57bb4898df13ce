/** Reads streams of runs and of threads, with connections that break and resume. */
import type { Of, Role } from "../record.ts";
import { readFrames, type Reading } from "../stream.ts";
import type { KnownRun, Step } from "../world.ts";

/** All streams of one role have the same modes, so that their events can be compared. */
export const chooseModes = (role: Role): string[] =>
  role === "agent" ? ["values", "messages-tuple"] : ["values", "updates"];

const BEGINNING = "-1";
/** Connections of one reader. */
const MOST = 4;

interface Open {
  response: Response;
  stop: AbortController;
}

/** Follows a run until its stream ends, with at most `MOST` connections. The first may be open already. */
export async function follow(step: Step, run: KnownRun, open?: Open): Promise<void> {
  let after = BEGINNING;
  let first = open;
  for (let connection = 0; connection < MOST; connection += 1) {
    const read = await readRun(step, run, after, first);
    first = undefined;
    const last = read.frames.findLast(({ id }) => id !== undefined)?.id;
    if (read.ended || read.outcome !== "ok" || !run.resumable || (last === undefined && read.frames.length > 0)) return;
    after = last ?? after;
  }
}

async function readRun(step: Step, run: KnownRun, after: string, open?: Open): Promise<Of<"read">> {
  const { world, place, client, dice } = step;
  const { recorder } = world;
  const { id, resumable } = run;
  const bytes = dice.chance(0.6) ? dice.int(1, 1_500) : undefined;
  const given = {
    thread: place.id,
    run: id,
    modes: chooseModes(place.role).join(),
    after,
    resumable,
    frames: [],
    ended: false,
  };
  return recorder.record(client, "read", given, async (operation) => {
    const stop = open?.stop ?? new AbortController();
    const headers = { "last-event-id": after };
    const path = `/threads/${place.id}/runs/${id}/stream`;
    const options = { headers, signal: stop.signal };
    const response = open?.response ?? (await recorder.send("GET", path, undefined, options));
    Object.assign(operation, await readFrames(response, { bytes, ms: 30_000 }, stop));
  });
}

/** The whole stream of a run that has ended. */
export async function readWhole(step: Step, { id }: KnownRun): Promise<void> {
  const { world, place, client } = step;
  const modes = chooseModes(place.role).join();
  const given = { thread: place.id, run: id, modes, after: BEGINNING, resumable: true, frames: [], ended: false };
  await world.recorder.record(client, "read", given, async (operation) => {
    const stop = new AbortController();
    const options = { headers: { "last-event-id": BEGINNING }, signal: stop.signal };
    const path = `/threads/${place.id}/runs/${id}/stream`;
    const response = await world.recorder.send("GET", path, undefined, options);
    Object.assign(operation, await readFrames(response, { ms: 30_000 }, stop));
  });
}

const CHANNELS = ["lifecycle", "values", "input"];

interface ProtocolEvent {
  seq?: number;
  event_id?: string;
}

/** The number of an event of the protocol as the id of its frame. */
function numberReading({ frames, ended }: Reading): Reading {
  return {
    ended,
    frames: frames.map((frame) => {
      const { seq } = JSON.parse(frame.data) as ProtocolEvent;
      return { ...frame, ...(seq !== undefined && { id: String(seq) }) };
    }),
  };
}

/** Reads the thread's stream of the protocol, which has no end, and resumes after the last event. */
export async function watch(step: Step, whole = false): Promise<void> {
  const { dice } = step;
  let after = BEGINNING;
  const connections = whole ? 1 : dice.int(1, 3);
  for (let connection = 0; connection < connections; connection += 1) {
    const cut = whole
      ? { quietMs: 1_500, ms: 60_000 }
      : { ms: dice.int(50, 1_000), ...(dice.chance(0.5) && { bytes: dice.int(1, 8_000) }) };
    const { frames, outcome } = await watchOnce(step, after, cut);
    if (outcome !== "ok") return;
    after = frames.at(-1)?.id ?? after;
  }
}

async function watchOnce(step: Step, after: string, cut: object): Promise<Of<"read">> {
  const { world, place, client } = step;
  const given = { thread: place.id, modes: CHANNELS.join(), after, resumable: true, frames: [], ended: false };
  return world.recorder.record(client, "read", given, async (operation) => {
    const stop = new AbortController();
    // Without a cursor a reader gets the state once, and not all that led to it.
    const body = { channels: CHANNELS, since: Math.max(Number(after), 0) };
    const path = `/threads/${place.id}/stream/events`;
    const response = await world.recorder.send("POST", path, body, { signal: stop.signal });
    Object.assign(operation, numberReading(await readFrames(response, cut, stop)));
  });
}
