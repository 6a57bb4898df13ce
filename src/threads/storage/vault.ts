/** How a thread's texts are sealed: with the keys of its workspace, each bound to its row. */
import { isSealed, type Place, Ring } from "../../access/encryption/ring.ts";

/** The tables of which a copy takes the rows as they are. */
const COPIED = /^(?:packs|writes|segments)\b/;

export class Vault {
  /** The thread under whose id copied rows are sealed: this one, or the one of which it is a copy. */
  origin: string;

  constructor(
    readonly threadId: string,
    public ring: Ring = new Ring(""),
  ) {
    this.origin = threadId;
  }

  /** `row`: the column, and what identifies its row. */
  seal(text: string, ...row: Place): string {
    return this.ring.isOn ? this.ring.seal(text, this.#bound(row)) : text;
  }

  open(held: string, ...row: Place): string {
    return isSealed(held) ? this.ring.open(held, this.#bound(row)) : held;
  }

  #bound([column = "", ...key]: Place): Place {
    // The hash of a long text names it in every thread.
    if (column === "blobs") return ["thread", column, ...key];
    return ["thread", COPIED.test(String(column)) ? this.origin : this.threadId, column, ...key];
  }
}
