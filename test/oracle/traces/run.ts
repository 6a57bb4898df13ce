/** A run of the model: what its posts and patches say of it, merged. */
import { isObject, type Texts, type Value, parseValue } from "./json.ts";

export interface Write {
  kind: "post" | "patch";
  id: string;
  fields: Texts;
}

export interface Feedback {
  id: string;
  runId: string;
  key: string;
  score: number | null;
  value: Value;
}

/** Microseconds of a time with six digits behind its second. */
export const toMicros = (iso: string): number => Date.parse(`${iso.slice(0, 23)}Z`) * 1000 + Number(iso.slice(23, 26));

/** `20261120T154954252002Z<id>` as a time. */
const isoOfStamp = (stamp: string): string =>
  stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z.*$/, "$1-$2-$3T$4:$5:$6.$7Z");

export class Run {
  readonly #said = { post: {} as Texts, patch: {} as Texts };
  readonly #values = new Map<string, Value>();
  #path: string[] | undefined;
  #start: number | undefined;

  constructor(readonly id: string) {}

  /** The order of arrival does not matter: where both say something, the patch wins. */
  take({ kind, fields }: Write): void {
    Object.assign(this.#said[kind], fields);
    this.#values.clear();
    this.#path = this.#start = undefined;
  }

  #value(name: string): Value {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const text = this.#said.patch[name] ?? this.#said.post[name];
    const value = text === undefined ? null : parseValue(text);
    this.#values.set(name, value);
    return value;
  }

  #text(name: string): string | null {
    const value = this.#value(name);
    // Columns of text hold no lone surrogates.
    return typeof value === "string" ? value.toWellFormed() : null;
  }

  get name(): string {
    return this.#text("name") ?? "Unnamed";
  }
  get runType(): string {
    return this.#text("run_type") ?? "chain";
  }
  get dotted(): string {
    return this.#text("dotted_order") ?? "";
  }
  get path(): string[] {
    return (this.#path ??= this.dotted.split(".").map((part) => part.slice(22)));
  }
  get traceId(): string {
    return this.path[0] ?? this.id;
  }
  get parentId(): string | null {
    return this.path.at(-2) ?? null;
  }
  get isRoot(): boolean {
    return this.path.length === 1;
  }
  /** As it says itself, or as its place in the trace says. */
  get start(): number {
    return (this.#start ??= toMicros(this.#text("start_time") ?? isoOfStamp(this.dotted.split(".").at(-1) ?? "")));
  }
  get end(): number | null {
    const end = this.#text("end_time");
    return end === null ? null : toMicros(end);
  }
  get day(): string {
    return new Date(Math.floor(this.start / 1000)).toISOString().slice(0, 10);
  }
  get error(): string | null {
    return this.#text("error") || null;
  }
  get status(): "error" | "pending" | "success" {
    return this.error !== null ? "error" : this.end === null ? "pending" : "success";
  }
  /** Seconds. SDKs give beginnings by the microsecond and ends by the millisecond, so an end may seem to come first. */
  get latency(): number | null {
    return this.end === null ? null : Math.max(0, this.end - this.start) / 1e6;
  }
  get tags(): string[] {
    return ((this.#value("tags") ?? []) as string[]).map((tag) => tag.toWellFormed());
  }
  get inputs(): Value {
    return this.#value("inputs") ?? {};
  }
  get outputs(): Value {
    return this.#value("outputs");
  }
  /** Posts and patches are merged two levels deep. */
  get extra(): { [key: string]: Value } {
    const [under, over] = [this.#said.post.extra ?? "{}", this.#said.patch.extra ?? "{}"].map(parseValue);
    if (!isObject(under) || !isObject(over)) return {};
    const merged = Object.entries(over).map(([key, value]): [string, Value] => {
      const below = Object.hasOwn(under, key) ? under[key] : undefined;
      return [key, isObject(value) && isObject(below) ? { ...below, ...value } : value];
    });
    return { ...under, ...Object.fromEntries(merged) };
  }
  get metadata(): { [key: string]: Value } {
    const { metadata } = this.extra;
    return isObject(metadata) ? metadata : {};
  }
  get threadId(): string | null {
    const id = this.metadata.thread_id;
    return typeof id === "string" ? id : null;
  }
  get tokens(): { prompt: number; completion: number } {
    const usage = isObject(this.outputs) ? this.outputs.usage_metadata : undefined;
    if (!isObject(usage)) return { prompt: 0, completion: 0 };
    return { prompt: Number(usage.input_tokens), completion: Number(usage.output_tokens) };
  }
}
