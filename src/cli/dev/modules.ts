/** The bundle in `.weir/build` as modules of workerd. */
import { createRequire, SourceMap, type SourceMapPayload } from "node:module";
import { join, relative, resolve } from "node:path";
import type * as miniflare from "miniflare";
import type { Request, Response as Answer } from "miniflare";
import { PACKAGE } from "../project/package.ts";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { BUNDLE, PACKAGES, packagesFile } from "../bundle/bundle.ts";
import { posix, type Project } from "../project/project.ts";

// Miniflare in a process that ends itself.

// Node reads a CommonJS file of 6 MB twice more where it is imported.
const loaded = createRequire(join(PACKAGE, "package.json"))("miniflare") as typeof miniflare;

export const { convertV4MiniflareOptions: convert, Log, LogLevel, Response } = loaded;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A Miniflare. Its first one would end the process at a signal; the command does that, once it has stopped everything. */
export function newMiniflare(options: miniflare.MiniflareOptions): miniflare.Miniflare {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  const made = new loaded.Miniflare(options);
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (!before.has(listener)) process.off(signal, listener);
  return made;
}

export interface Module {
  type: "ESModule" | "CompiledWasm" | "Data";
  path: string;
  contents: string | Uint8Array<ArrayBuffer>;
}

/** A bundle as it is served. */
export interface Modules {
  /** The folder of the bundle. */
  root: string;
  /** The file of the bundle, and what it exports. */
  bundle: string;
  exports: string[];
  /** Whether the packages are a module of their own. */
  isSplit: boolean;
  /** The file that answers for the module of packages. */
  packages: string;
  /** Files beside the bundle. */
  others: Module[];
}

export function readModules({ weirDir }: Project): Modules {
  const root = join(weirDir, "build");
  const bundle = join(root, BUNDLE);
  const others = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.m?js$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path): Module => {
      const type = path.endsWith(".wasm") ? "CompiledWasm" : "Data";
      return { type, path, contents: new Uint8Array(readFileSync(path)) };
    });
  // The entry for Wrangler has the names only.
  const [, names = ""] = /\{ (.*) \}/.exec(readFileSync(join(root, "worker.js"), "utf8")) ?? [];
  return {
    root,
    bundle,
    exports: names.split(", "),
    isSplit: readFileSync(bundle, "utf8").startsWith("import { load as "),
    packages: packagesFile(weirDir),
    others: others.toSorted((a, b) => (posix(root, a.path) < posix(root, b.path) ? -1 : 1)),
  };
}

/** Answers workerd, which requests each module that its configuration does not have: the bundle, by any number, and the packages. */
export function serveModule({ url }: Request, { root, bundle, packages }: Modules): Answer {
  const name = new URL(url).searchParams.get("specifier")?.replace(/^\//, "") ?? "";
  if (name === PACKAGES && existsSync(packages))
    return new Response(Readable.toWeb(createReadStream(packages)) as ConstructorParameters<typeof Response>[0]);
  if (!/^bundle(-\d+)?\.mjs$/.test(name)) return new Response(null, { status: 404 });
  const address = `\n//# sourceURL=${pathToFileURL(join(root, BUNDLE)).href}\n`;
  return new Response(JSON.stringify({ name, esModule: readFileSync(bundle, "utf8") + address }));
}

// Stack traces of the bundle in terms of the project's sources.

/** Lines before and after the one that is shown. */
const AROUND = 2;
const LOCATION = /file:\/\/[^\s()]*\/build\/(?:\.\/)?(bundle|packages)\.mjs:(\d+):(\d+)/g;

/** Gives a text with places of the bundle as places of the sources, and the lines around the first of the project's own. */
export function sourceLocations(root: string, weirDir: string): (text: string) => string {
  const known = new Map<string, { time: number; map: SourceMap }>();

  const current = (file: string): SourceMap | undefined => {
    if (!existsSync(file)) return undefined;
    const time = statSync(file).mtimeMs;
    const last = known.get(file);
    if (last?.time === time) return last.map;
    const map = new SourceMap(JSON.parse(readFileSync(file, "utf8")) as SourceMapPayload);
    known.set(file, { time, map });
    return map;
  };
  const maps: Record<string, string> = {
    bundle: join(weirDir, "worker.js.map"),
    packages: join(weirDir, "packages", "packages.js.map"),
  };

  return (text) => {
    let frame = "";
    const mapped = text.replace(LOCATION, (place, module: string, line: string, column: string) => {
      const entry = current(maps[module] ?? "")?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!entry || !("originalSource" in entry)) return place;
      const source = resolve(weirDir, entry.originalSource);
      const at = entry.originalLine + 1;
      if (!frame && !source.includes("node_modules") && !relative(root, source).startsWith(".."))
        frame = excerpt(source, at);
      return `${relative(root, source)}:${at}:${entry.originalColumn + 1}`;
    });
    return frame ? `${mapped}\n${frame}` : mapped;
  };
}

function excerpt(file: string, at: number): string {
  if (!existsSync(file)) return "";
  const lines = readFileSync(file, "utf8").split("\n");
  return lines
    .slice(Math.max(0, at - 1 - AROUND), at + AROUND)
    .map((line, index) => {
      const number = Math.max(1, at - AROUND) + index;
      return `  ${number === at ? ">" : " "} ${String(number).padStart(4)} | ${line}`;
    })
    .join("\n");
}
