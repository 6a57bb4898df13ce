/**
 * Bundles in a process of its own, which ends when no change has come for a while: the bundler takes several times the memory of
 * everything else, and a project that is only used needs none of it.
 */
import { type ChildProcess, fork } from "node:child_process";
import { writeBundle } from "../build.ts";
import { keepBundle, type CachedBundle } from "../bundle/packages.ts";
import { splitBundler } from "../bundle/split.ts";
import { CliFault } from "../console.ts";
import { MAIN } from "../project/package.ts";
import { findProject, type Project } from "../project/project.ts";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";

/** What a build gives: with `fault`, `inputs` are the files to change. */
interface Result extends CachedBundle {
  fault?: string;
}

/** How long the process waits for the next change. Until then it bundles only what has changed. */
const IDLE_MS = 30_000;

export class Builder {
  #child: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The project's files that the last bundle was made from, also of one that failed. */
  inputs: string[] = [];

  /** Writes the bundle. Throws a Fault with file, line and code frame for each error. */
  async build(project: Project): Promise<CachedBundle> {
    clearTimeout(this.#timer);
    const child = (this.#child ??= this.#fork(project));
    try {
      const result = await readResult(child);
      this.inputs = result.inputs;
      if (result.fault !== undefined) throw new CliFault(result.fault);
      return result;
    } finally {
      this.#timer = setTimeout(() => this.stop(), IDLE_MS).unref();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    // What esbuild prints when it is stopped within a build is not shown.
    this.#child?.stderr?.removeAllListeners("data");
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }

  #fork({ root }: Project): ChildProcess {
    const child = fork(MAIN, ["bundle", root], { stdio: ["ignore", "inherit", "pipe", "ipc"] });
    child.stderr?.on("data", (chunk: Buffer) => process.stderr.write(chunk));
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined;
    });
    return child;
  }
}

async function readResult(child: ChildProcess): Promise<Result> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new CliFault("The bundler ended unexpectedly. Change a file to try again."));
    child.once("exit", ended);
    child.once("message", (result) => {
      child.off("exit", ended);
      resolve(result as Result);
    });
    child.send("build");
  });
}

/** `weir bundle <dir>`: what the process runs. It builds for each message, and ends with the process that started it. */
export async function run([dir = "."]: string[]): Promise<number> {
  const project = await findProject(dir);
  const made = await splitBundler(project);
  const build = async (): Promise<Result> => {
    const began = Date.now();
    try {
      const bundled = await made.bundle();
      writeBundle(project, bundled);
      keepBundle(project, bundled, made.inputs, began);
      return { inputs: made.inputs, warnings: bundled.warnings };
    } catch (error) {
      if (!(error instanceof CliFault)) throw error;
      return { fault: error.message, inputs: made.inputs, warnings: [] };
    }
  };
  process.on("message", () => void build().then((result) => process.send?.(result)));
  await new Promise<void>((resolve) => process.once("disconnect", resolve));
  process.exit();
}

export const usage = "weir bundle <dir>\n\nThe process in which weir dev bundles.";

// Watches the folders of files, since editors replace a file rather than write into it.

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
