/** The packages that a project imports, and the runtime, as one module. An edit of the project does not build it again. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type BuildFailure } from "esbuild";
import { MODULES, NAME, PACKAGE } from "../package.ts";
import type { Project } from "../project.ts";
import { writeWhole } from "../write-whole.ts";
import { Broken } from "./broken.ts";
import { COMMON, type Output } from "./bundle.ts";
import { files, PACKAGES, packagesFile } from "./files.ts";
import { filesIn, installedIn, stampFiles } from "./kept.ts";
import { oneLangchain } from "./langchain.ts";
import { stubMissing } from "./missing.ts";
import { platform } from "./platform.ts";
import { providers } from "./providers.ts";

/** A file of a package: its key in the module, and what it exports. A CommonJS module exports one value. */
export interface Packaged {
  key: string;
  names?: string[];
  /** Whether it has exports that are known only when it is loaded. */
  more?: boolean;
}

export interface Packages {
  /** By the path of a file that the project imports. */
  files: Record<string, Packaged>;
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
  const broken = new Broken();
  const attempt = async (): Promise<Output | undefined> => {
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
): Record<string, Packaged> {
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
