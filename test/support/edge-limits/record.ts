/**
 * What crossed a limit of Cloudflare's, and the largest amounts seen. Kept on `globalThis`, for tests, the Worker and its
 * Durable Objects share one isolate, and some test files evaluate these modules again in it.
 */

export interface Crossing {
  id: string;
  /** Which limit, as in docs/limits.md. */
  limit: Limit;
  /** The message of the error that the offending call threw. */
  message: string;
}

export type Limit =
  | "alarm"
  | "chunk"
  | "d1-queries"
  | "parameters"
  | "row"
  | "statement"
  | "storage-value"
  | "subrequests"
  | "value";

/** The largest amount of its kind since `resetFigures`, and where it was seen. */
export interface Figure {
  bytes: number;
  where: string;
}

/** `rpc`: arguments or result of one call. `sql`: one bound string. `chunk`: one chunk of a stream. */
export type FigureName = "chunk" | "rpc" | "sql";

interface State {
  crossings: Crossing[];
  figures: Record<FigureName, Figure>;
}

const KEY = Symbol.for("weir.edge-limits");
const none = (): State["figures"] => ({
  chunk: { bytes: 0, where: "" },
  rpc: { bytes: 0, where: "" },
  sql: { bytes: 0, where: "" },
});
const holder = globalThis as { [KEY]?: State };
const state: State = (holder[KEY] ??= { crossings: [], figures: none() });

/** Begins the log line of a crossing, followed by the crossing as JSON. */
export const LOG_PREFIX = "EdgeLimitCrossing ";
/** A POST to this path of a server answers the crossings in its record, as JSON, and empties it. */
export const CROSSINGS_PATH = "/x-weir-test/crossings";

/** Records that `limit` was crossed and returns the error to throw. */
export function recordCrossing(limit: Limit, detail: string): Error {
  const crossing = { id: crypto.randomUUID(), limit, message: `EdgeLimit: ${detail}` };
  state.crossings.push(crossing);
  console.error(LOG_PREFIX + JSON.stringify(crossing));
  return new Error(crossing.message);
}

/** Records an amount. */
export function recordFigure(name: FigureName, bytes: number, where: string): void {
  if (bytes > state.figures[name].bytes) state.figures[name] = { bytes, where };
}

/** The largest amounts since the isolate started or `resetFigures` was called. */
export const figures = (): Readonly<State["figures"]> => state.figures;

export function resetFigures(): void {
  state.figures = none();
}

/**
 * For a test that crosses a limit on purpose: removes the crossings of `limit` from the record, so that the test does not
 * fail, and returns them. Throws when there is none.
 */
export function expectCrossing(limit: Limit): Crossing[] {
  const found = state.crossings.filter((one) => one.limit === limit);
  if (found.length === 0) throw new Error(`The limit "${limit}" was not crossed.`);
  state.crossings = state.crossings.filter((one) => one.limit !== limit);
  return found;
}

/** All crossings in the record, which is empty then. */
export const takeCrossings = (): Crossing[] => state.crossings.splice(0);

/** Throws when a limit was crossed since the last call, and empties the record. After each test. */
export function failOnCrossings(): void {
  const found = takeCrossings();
  if (found.length > 0) throw new Error(describeCrossings(found));
}

/** The crossings as the message of a failing test. */
export function describeCrossings(crossings: Crossing[]): string {
  const lines = crossings.map(({ limit, message }) => `- ${limit}: ${message}`);
  return `Limits of Cloudflare's were crossed:\n${lines.join("\n")}`;
}
