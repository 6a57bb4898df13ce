/** Seeded runs of a case: what a client sends, in the words of the wire. */
import { toDottedOrder } from "./dotted.ts";
import type { Case } from "./dimensions.ts";
import { objectText, type Texts, parseValue } from "./json.ts";
import type { Random } from "../../support/random.ts";
import type { Write } from "./run.ts";
import { KEYS, NAMES, VALUES } from "./values.ts";

const SECOND = 1_000_000;
export const DAY = 86_400 * SECOND;
/** A run with more than this goes to R2. */
const LARGE = 256 * 1024;

/** `2026-11-20T15:49:54.252002Z`, from microseconds. */
export const toIso = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, "0")}Z`;

const text = (value: string | string[]) => JSON.stringify(value);

/** A UUID of version 7 with this time, or of version 4 without one. Random digits can also have the 7, with another variant. */
function generateUuid(random: Random, micros?: number, looksTimed = false): string {
  const hex = Array.from({ length: 32 }, () => random.between(0, 16).toString(16)).join("");
  const time =
    micros === undefined
      ? hex.slice(0, 12)
      : Math.floor(micros / 1000)
          .toString(16)
          .padStart(12, "0");
  const version = micros === undefined && !looksTimed ? "4" : "7";
  const variant = looksTimed ? "c" : "8";
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

export class Programs {
  /** Midnight of the day of the case, microseconds. */
  readonly day: number;
  #made = 0;

  constructor(
    readonly given: Case,
    readonly project: string,
    readonly random: Random,
    today: number,
  ) {
    const midnight = Math.floor(today / DAY) * DAY;
    this.day = given.times === "ahead" ? midnight + 2 * DAY : midnight - 5 * DAY;
    if (given.times === "behind") this.day = Date.UTC(1971, 2, 5) * 1000;
  }

  /** The hostile values of the case in turn. */
  #value(n: number): string {
    const all = VALUES[this.given.values];
    return all[n % all.length] as string;
  }

  #name(n: number): string {
    const value = parseValue(this.#value(n));
    const names = NAMES[this.given.values];
    if (names) return names[n % names.length] as string;
    return typeof value === "string" && value !== "" ? value : "step";
  }

  #id(start: number): string {
    const { times } = this.given;
    if (times === "random ids") return generateUuid(this.random, undefined, this.#made % 2 === 0);
    return generateUuid(this.random, times === "look-alike" ? start - 400 * DAY : start);
  }

  #chooseStart(n: number, isRoot: boolean): number {
    const { times } = this.given;
    const ordinary = this.day + (36_000 + n) * SECOND + n * 7;
    if (times === "day boundary") return isRoot ? this.day + n : this.day + DAY - 1 - n;
    if (times === "crossing midnight") return this.day + DAY + (isRoot ? -60 + n : n) * SECOND;
    return ordinary;
  }

  /** Traces of a root, two children and a grandchild, with every value of the case in one of their runs. */
  traces(count = Math.max(3, Math.ceil(VALUES[this.given.values].length / 4))): Write[] {
    return Array.from({ length: count }, (_, n) => this.#trace(n)).flat();
  }

  #trace(n: number): Write[] {
    const root = this.run({ thread: `thread-${n % 2}` });
    const child = this.run({ above: root.path });
    const model = this.run({ above: root.path, isModel: true });
    const grandchild = this.run({ above: child.path, isModel: true });
    return [root, child, model, grandchild].flatMap(({ writes }) => writes);
  }

  /** A run's post and its patch. */
  run({ above, thread, isModel = false }: { above?: string; thread?: string; isModel?: boolean } = {}) {
    const n = this.#made++;
    const start = this.#chooseStart(n, above === undefined);
    const id = this.#id(start);
    const path = toDottedOrder(start, id, above);
    const value = this.#value(n);
    const large = value.length > LARGE ? `${value.slice(0, -1)} ${id}"` : value;
    const place = this.#place(id, path);
    const key = KEYS[n % KEYS.length] as string;
    const shown = parseValue(value);
    const isText = typeof shown === "string" && shown !== "" && shown.length <= 500;
    const metadata: Texts = {
      [key]: large === value ? value : text("long"),
      ...(thread !== undefined && { thread_id: text(thread) }),
    };
    const post: Texts = {
      ...place,
      name: text(this.#name(n)),
      run_type: text(isModel ? "llm" : "chain"),
      start_time: text(toIso(start)),
      inputs: objectText({ v: large }),
      extra: objectText({ metadata: objectText(metadata), runtime: objectText({ sdk: text("oracle") }) }),
      tags: text(isText ? [shown, "all"] : ["all"]),
    };
    const usage = objectText({ input_tokens: String(3 + n), output_tokens: "2", total_tokens: String(5 + n) });
    const lasts = this.given.times === "late end" && n % 2 === 0 ? 2 * DAY : (n % 5) * SECOND + 250_000;
    const patch: Texts = {
      ...place,
      ...(n % 7 !== 6 && { end_time: text(toIso(start + lasts)) }),
      outputs: objectText({ v: large, ...(isModel && { usage_metadata: usage }) }),
      extra: objectText({ metadata: objectText({ patched: String(n) }) }),
      ...(n % 4 === 3 && { error: text(isText ? shown : "Error: boom") }),
      ...(this.given.times === "moved start" && n % 2 === 0 && { start_time: text(toIso(start + 3_600 * SECOND)) }),
    };
    const writes: Write[] = [
      { kind: "post", id, fields: post },
      { kind: "patch", id, fields: patch },
    ];
    return { id, path, start, writes };
  }

  /** Where every write says that its run is. */
  #place(id: string, path: string): Texts {
    const ids = path.split(".").map((part) => part.slice(22));
    const parent = ids.at(-2);
    return {
      id: text(id),
      trace_id: text(ids[0] ?? id),
      ...(parent !== undefined && { parent_run_id: text(parent) }),
      dotted_order: text(path),
      session_name: text(this.project),
    };
  }

  /** Small whole runs of a day, each a trace. They have the names of the case. */
  fillers(count: number, day = this.day, seconds = 1): Write[] {
    return Array.from({ length: count }, (_, n) => {
      const start = day + (7_200 + n) * SECOND;
      const id = generateUuid(this.random, start);
      const fields: Texts = {
        ...this.#place(id, toDottedOrder(start, id)),
        name: text(this.#name(n)),
        run_type: text("tool"),
        start_time: text(toIso(start)),
        end_time: text(toIso(start + seconds * SECOND + n * 1000)),
        tags: text(["filler"]),
      };
      return { kind: "post" as const, id, fields };
    });
  }
}
