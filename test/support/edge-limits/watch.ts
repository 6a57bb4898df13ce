/** The crossings of limits in a server that a test in Node started. */
import { stripVTControlCharacters } from "node:util";
import { type Crossing, CROSSINGS_PATH, describeCrossings, LOG_PREFIX } from "./record.ts";

export class CrossingsWatch {
  /** What the server printed: all that is left of one that was killed. The last milliseconds before the kill are lost. */
  #printed = "";
  readonly #taken = new Set<string>();

  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  readonly onOutput = (text: string): void => {
    this.#printed += text;
  };

  /** The crossings since the last call. */
  async take(): Promise<Crossing[]> {
    // A server that is down, or hangs, has only its log.
    const request = { method: "POST", signal: AbortSignal.timeout(5_000) };
    const answer = await fetch(this.#url + CROSSINGS_PATH, request).catch(() => undefined);
    const told = answer?.ok ? await answer.json<Crossing[]>() : [];
    const found = new Map([...told, ...this.#readLogged()].map((crossing) => [crossing.id, crossing]));
    const fresh = [...found.values()].filter(({ id }) => !this.#taken.has(id));
    for (const { id } of fresh) this.#taken.add(id);
    return fresh;
  }

  #readLogged(): Crossing[] {
    const lines = stripVTControlCharacters(this.#printed).split("\n");
    const found = lines.filter((line) => line.includes(LOG_PREFIX));
    return found.map((line) => JSON.parse(line.slice(line.indexOf(LOG_PREFIX) + LOG_PREFIX.length)) as Crossing);
  }
}

export function failOn(crossings: Crossing[]): void {
  if (crossings.length > 0) throw new Error(describeCrossings(crossings));
}
