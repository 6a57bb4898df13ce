/** The bundle of an earlier start, which serves again while nothing that it was made from has changed. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeWhole } from "../write-whole.ts";
import { VERSION } from "../package.ts";
import type { Project } from "../project.ts";
import type { Bundled } from "./bundle.ts";
import { BUNDLE, packagesFile } from "./files.ts";

export interface Kept {
  /** The project's files that the bundle was made from. */
  inputs: string[];
  warnings: string[];
}

interface Note extends Kept {
  /** Every file that the bundle was made from. */
  sources: string[];
  /** Of the contents of `sources` and what they are resolved with. */
  digest: string;
}

const noteFile = ({ weirDir }: Project): string => join(weirDir, "bundle.json");

/**
 * Records the sources of the bundle in `.weir/build`. `began` is when its build began, in milliseconds: nothing is
 * recorded when a file has changed since.
 */
export function keepBundle(project: Project, { sources, warnings }: Bundled, inputs: string[], began: number): void {
  if (sources.some((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > began)) return;
  const note: Note = { inputs, warnings, sources, digest: digestSources(project, sources) };
  writeWhole(noteFile(project), JSON.stringify(note));
}

/** The bundle that is in `.weir/build`, if a build would make it again. */
export function readKeptBundle(project: Project): Kept | undefined {
  try {
    const { inputs, warnings, sources, digest } = JSON.parse(readFileSync(noteFile(project), "utf8")) as Note;
    return digestSources(project, sources) === digest ? { inputs, warnings } : undefined;
  } catch {
    // The note is missing or incomplete, or a folder that it names is missing.
    return undefined;
  }
}

/** Files by which a package manager notes what it has installed. */
const INSTALLED = [".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml"];

/**
 * Of the times and sizes of the sources, the bundle and this bundler. A new file or package can change what an import
 * means, so also of everything in the folders of the project's own sources, and of what is installed.
 */
function digestSources({ root, weirDir }: Project, sources: string[]): string {
  const folders = new Set(sources.filter((file) => !file.includes("node_modules")).map((file) => dirname(file)));
  for (let at = root; ; at = dirname(at)) {
    if (at === root || existsSync(join(at, "package.json"))) folders.add(at);
    if (at === dirname(at)) break;
  }
  folders.delete(weirDir);
  const files = [...sources, ...filesIn(import.meta.dirname), join(weirDir, "build", BUNDLE), packagesFile(weirDir)];
  for (const folder of folders) files.push(...filesIn(folder), ...installedIn(folder));
  return stampFiles(files);
}

/** What says that other packages are installed in the folder. */
export const installedIn = (folder: string): string[] =>
  ["", ...INSTALLED].map((name) => join(folder, "node_modules", name));

/** Of the times and sizes of files, and of this package's version. */
export function stampFiles(files: Iterable<string>): string {
  const hash = createHash("sha256").update(VERSION);
  for (const file of new Set(files)) {
    const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    hash.update(`${file}\0${mtimeMs}\0${size}\n`);
  }
  return hash.digest("hex");
}

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name));
