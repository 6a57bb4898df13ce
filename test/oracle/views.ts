/** What is visible of a thread, in the words of the model. */
import { sseEvents, type SseEvent } from "../support/sse.ts";
import type { Values } from "./model.ts";

type Json = Record<string, unknown>;

const LONG = 1_000;

/** A long text or list as its length and ends. */
export function short(value: unknown): unknown {
  if (typeof value === "string" && value.length > LONG) return `text of ${value.length}: ${value.slice(0, 3)}`;
  if (Array.isArray(value) && value.length > LONG)
    return `list of ${value.length}: ${JSON.stringify([value[0], value.at(-1)])}`;
  return value;
}

interface WireValues {
  log?: string[];
  messages?: { content: string }[];
  doc?: unknown;
}

/** A state as answers have it. */
export function toValues(given: unknown): Values {
  const { log = [], messages = [], doc } = (given ?? {}) as WireValues;
  return { log, said: messages.map(({ content }) => content), doc: short(doc) };
}

export const modelValues = ({ log, said, doc }: Values): Values => ({ log, said, doc: short(doc) });

/** The result of a run as `/wait`, `/join` and streams give it. */
export function toResult(body: unknown): unknown {
  const { __error__, __interrupt__ = [], ...values } = body as Json & { __interrupt__?: { value: unknown }[] };
  if (__error__) return "error";
  return { ...toValues(values), asks: __interrupt__.map(({ value }) => String(value)).sort(compareText) };
}

/** The questions in `interrupts` of a thread. */
export const listAsks = (interrupts: Record<string, { value: unknown }[]>): string[] =>
  Object.values(interrupts)
    .flat()
    .map(({ value }) => String(value))
    .sort(compareText);

/** The order of texts by their code units. */
export const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** The first place where two values of JSON differ; undefined when they are equal. */
export function difference(real: unknown, wanted: unknown, path = ""): string | undefined {
  const [a, b] = [JSON.stringify(real), JSON.stringify(wanted)];
  if (a === b) return undefined;
  const isNode = (value: unknown): value is Json => typeof value === "object" && value !== null;
  if (isNode(real) && isNode(wanted) && Array.isArray(real) === Array.isArray(wanted)) {
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(real)])) {
      const found = difference(real[key], wanted[key], `${path}.${key}`);
      if (found && key !== "length") return found;
    }
    return undefined;
  }
  return `${path || "."} is ${a?.slice(0, 300)}, must be ${b?.slice(0, 300)}`;
}

export async function readFrames(response: Response, most = Infinity): Promise<SseEvent[]> {
  const frames: SseEvent[] = [];
  for await (const frame of sseEvents(response)) {
    frames.push(frame);
    if (frames.length >= most) break;
  }
  return frames;
}

/** The result of a run as the frames of its stream have it. */
export function resultOfFrames(frames: readonly SseEvent[]): unknown {
  if (frames.some(({ event }) => event === "error")) return "error";
  const states = frames.filter(({ event }) => event === "values").map(({ data }) => data as Json);
  const paused = states.flatMap((state) => (state.__interrupt__ ?? []) as Json[]);
  const values = states.findLast((state) => !("__interrupt__" in state)) ?? {};
  return toResult({ ...values, __interrupt__: paused });
}
