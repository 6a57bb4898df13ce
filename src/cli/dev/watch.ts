/** Watches the folders of files, since editors replace a file rather than write into it. */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";

/** Changes within this time are one change. */
const GATHER_MS = 60;

export class Watch {
  readonly #onChange: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  #files = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onChange` when one of the files has changed, or a file has come or gone: an import may now mean another one. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches the folders of these files, and no others. */
  set(files: Set<string>): void {
    this.#files = files;
    const wanted = new Set([...files].map((file) => dirname(file)).filter((folder) => existsSync(folder)));
    for (const [folder, watcher] of this.#folders)
      if (!wanted.has(folder)) {
        watcher.close();
        this.#folders.delete(folder);
      }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#folders.set(folder, this.#watch(folder));
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#folders.values()) watcher.close();
  }

  #watch(folder: string): FSWatcher {
    const watcher = watch(folder, (kind, name) => {
      // A hidden name is an input only where it is named: tools write theirs, this one too.
      const file = name === null ? folder : join(folder, name);
      const isKnown = this.#files.has(file);
      if (!isKnown && (kind === "change" || name?.startsWith("."))) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#onChange(), GATHER_MS);
    });
    // A deleted folder is no longer watched; the next build says what is missing.
    watcher.on("error", () => {
      watcher.close();
      this.#folders.delete(folder);
    });
    return watcher;
  }
}
