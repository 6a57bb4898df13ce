/** Watches the folders of files, since editors replace a file rather than write into it. */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** Changes within this time are one change. */
const GATHER_MS = 60;

export class Watch {
  readonly #onChange: (files: Set<string>) => void;
  readonly #folders = new Map<string, FSWatcher>();
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** `onChange` gets the paths that changed, whichever files of the watched folders they are. */
  constructor(onChange: (files: Set<string>) => void) {
    this.#onChange = onChange;
  }

  /** Watches the folders of these files, and no others. */
  set(files: string[]): void {
    const wanted = new Set(files.map((file) => dirname(file)).filter((folder) => existsSync(folder)));
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
    const watcher = watch(folder, (_kind, name) => {
      // Hidden folders hold the output of tools, including this one.
      if (name?.startsWith(".weir")) return;
      this.#changed.add(name === null ? folder : `${folder}/${name}`);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        const changed = this.#changed;
        this.#changed = new Set();
        this.#onChange(changed);
      }, GATHER_MS);
    });
    // A deleted folder is no longer watched; the next build says what is missing.
    watcher.on("error", () => {
      watcher.close();
      this.#folders.delete(folder);
    });
    return watcher;
  }
}
