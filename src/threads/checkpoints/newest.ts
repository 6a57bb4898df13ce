/** How many namespaces are kept. A graph calls nested graphs one after the other, each in a namespace of its own. */
const MOST = 32;

/** The newest checkpoints of the namespaces used last. A checkpoint that is no longer here is read from the tables. */
export class Newest<Entry> {
  readonly #entries = new Map<string, Entry>();

  get(ns: string): Entry | undefined {
    const entry = this.#entries.get(ns);
    if (entry) this.set(ns, entry);
    return entry;
  }

  set(ns: string, entry: Entry): void {
    // A map keeps the order of insertion: what is used moves to the end.
    this.#entries.delete(ns);
    this.#entries.set(ns, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MOST && oldest !== undefined) this.#entries.delete(oldest);
  }

  clear(): void {
    this.#entries.clear();
  }
}
