/** The packages that a project imports, and the runtime, as one module. An edit of the project does not build it again. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { writeWhole, type Project } from "../project/project.ts";
import { VERSION, MODULES, NAME, PACKAGE } from "../project/package.ts";
import { type Bundle, BUNDLE, packagesFile, COMMON, type BuildOutput, files, PACKAGES } from "./bundle.ts";
import { pathToFileURL } from "node:url";
import { build, type BuildFailure } from "esbuild";
import { BrokenImports, stubMissing, platform, providers } from "./missing.ts";
import { oneLangchain } from "./langchain.ts";

// The bundle of an earlier start, which serves again while nothing that it was made from has changed.

export interface CachedBundle {
  /** The project's files that the bundle was made from. */
  inputs: string[];
  warnings: string[];
}

interface BundleNote extends CachedBundle {
  /** Every file that the bundle was made from. */
  sources: string[];
  /** Of the contents of `sources` and what they are resolved with. */
  digest: string;
}

const bundleNoteFile = ({ weirDir }: Project): string => join(weirDir, "bundle.json");

/**
 * Records the sources of the bundle in `.weir/build`. `began` is when its build began, in milliseconds: nothing is
 * recorded when a file has changed since.
 */
export function keepBundle(project: Project, { sources, warnings }: Bundle, inputs: string[], began: number): void {
  if (sources.some((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > began)) return;
  const note: BundleNote = { inputs, warnings, sources, digest: digestSources(project, sources) };
  writeWhole(bundleNoteFile(project), JSON.stringify(note));
}

/** The bundle that is in `.weir/build`, if a build would make it again. */
export function readKeptBundle(project: Project): CachedBundle | undefined {
  try {
    const { inputs, warnings, sources, digest } = JSON.parse(
      readFileSync(bundleNoteFile(project), "utf8"),
    ) as BundleNote;
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

/** A file of a package: its key in the module, and what it exports. A CommonJS module exports one value. */
export interface PackagedFile {
  key: string;
  names?: string[];
  /** Whether it has exports that are known only when it is loaded. */
  more?: boolean;
}

export interface Packages {
  /** By the path of a file that the project imports. */
  files: Record<string, PackagedFile>;
  /** Every file that the module was made from. */
  sources: string[];
  /** Of these, the ones to watch: Weir's own, where it runs from its sources. */
  inputs: string[];
}

interface Note extends Packages {
  stamp: string;
  /** The WebAssembly modules beside it. */
  wasm: string[];
}

const noteFile = (weirDir: string): string => join(dirname(packagesFile(weirDir)), "note.json");

/** The module of an earlier build, if a build would make it again. */
export function readKeptPackages(project: Project): Packages | undefined {
  try {
    const note = JSON.parse(readFileSync(noteFile(project.weirDir), "utf8")) as Note;
    return stampPackages(project, note) === note.stamp && existsSync(packagesFile(project.weirDir)) ? note : undefined;
  } catch {
    // There is none, or it is incomplete.
    return undefined;
  }
}

const stampPackages = ({ root, weirDir }: Project, { sources, wasm }: Pick<Note, "sources" | "wasm">): string =>
  stampFiles([
    ...sources,
    ...wasm.map((path) => join(weirDir, "build", path)),
    ...filesIn(import.meta.dirname),
    ...foldersFrom(root).flatMap(installedIn),
  ]);

/** The folder and those above it: packages may be in each. */
const foldersFrom = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersFrom(dirname(folder))];

/**
 * Writes the module for these files. Undefined when they cannot be apart from the project's code: a package imports a file of the
 * project's, waits at its top level, or cannot be bundled as a whole.
 */
export async function buildPackages(project: Project, wanted: string[]): Promise<Packages | undefined> {
  const { root, weirDir } = project;
  const began = Date.now();
  const inputs = new Set<string>();
  const modules = new Map<string, Uint8Array>();
  const broken = new BrokenImports();
  const attempt = async (): Promise<BuildOutput | undefined> => {
    try {
      return await build({
        ...COMMON,
        stdin: { contents: entrySource(wanted), resolveDir: root, sourcefile: "packages.js", loader: "js" },
        outfile: join(weirDir, "packages.js"),
        absWorkingDir: root,
        // The sources are read where they are needed.
        sourcesContent: false,
        plugins: [
          broken.plugin,
          files(project, modules, inputs),
          providers(project),
          oneLangchain(project),
          platform(),
          stubMissing(() => undefined),
        ],
      });
    } catch (error) {
      return broken.note(error as BuildFailure, root) ? attempt() : undefined;
    }
  };
  const result = await attempt();
  if (!result || [...inputs].some((path) => !path.startsWith(PACKAGE + sep))) return undefined;
  const content = (end: string) => result.outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  const made: Packages = {
    files: readExports(wanted, content(".js"), (path) => result.metafile.inputs[posixFrom(root, path)]?.format),
    sources: Object.keys(result.metafile.inputs)
      .map((path) => resolve(root, path))
      .filter((path) => existsSync(path)),
    inputs: [...inputs],
  };
  const wasm = [...modules.keys()];
  for (const [path, bytes] of modules) writeWhole(join(weirDir, "build", path), bytes, undefined, weirDir);
  const address = `\n//# sourceURL=${pathToFileURL(join(weirDir, "build", PACKAGES)).href}\n`;
  writeWhole(join(weirDir, "packages", "packages.js.map"), content(".js.map"));
  writeWhole(packagesFile(weirDir), JSON.stringify({ name: PACKAGES, esModule: content(".js") + address }));
  if (made.sources.every((path) => statSync(path).mtimeMs <= began)) {
    const note: Note = { ...made, wasm, stamp: stampPackages(project, { ...made, wasm }) };
    writeWhole(noteFile(weirDir), JSON.stringify(note));
  }
  return made;
}

const posixFrom = (root: string, path: string): string => relative(root, path).replaceAll("\\", "/");

const packageKey = (index: number): string => `package${index}`;

/** A function for each file, since a package is loaded when it is imported first. `weirDefault` has its name in any importer. */
const entrySource = (wanted: string[]): string => `
const whole = (value) => value?.__esModule && "default" in value
  ? Object.defineProperty(value, "weirDefault", { get: () => value.default, enumerable: true, configurable: true }) : value;
export const packages = {
${wanted.map((path, at) => `  ${packageKey(at)}: () => require(${JSON.stringify(path)}),`).join("\n")}
};
export const load = (key) => whole(packages[key]());
export const runtime = () => load(${JSON.stringify(packageKey(wanted.indexOf(MODULES[NAME] ?? "")))});
`;

/** What each file exports, as esbuild has written it: its record of a build has the exports of entries only. */
function readExports(
  wanted: string[],
  code: string,
  detectFormat: (path: string) => string | undefined,
): Record<string, PackagedFile> {
  const entry = code.slice(code.lastIndexOf("\nvar packages = {"));
  return Object.fromEntries(
    wanted.map((path, at) => {
      const key = packageKey(at);
      const [, variable] = new RegExp(`^  ${key}: .*__toCommonJS\\(([\\w$]+)\\)`, "m").exec(entry) ?? [];
      if (detectFormat(path) !== "esm" || variable === undefined) return [path, { key }];
      const begin = `__export(${variable}, {\n`;
      const from = code.indexOf(begin);
      const [list = ""] = from < 0 ? [] : (/^[^]*?^ *\}\);/m.exec(code.slice(from + begin.length)) ?? []);
      const names = [...list.matchAll(/^ +(?:([\w$]+)|("[^"]+")): \(\) =>/gm)].map(
        ([, name, quoted]) => name ?? (JSON.parse(quoted ?? '""') as string),
      );
      return [path, { key, names, more: code.includes(`__reExport(${variable}, `) }];
    }),
  );
}
