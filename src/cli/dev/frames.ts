/** Stack traces of the bundle in terms of the project's sources. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join, relative, resolve } from "node:path";

/** Lines before and after the one that is shown. */
const AROUND = 2;
const PLACE = /file:\/\/[^\s()]*\/build\/(?:\.\/)?(bundle|packages)\.mjs:(\d+):(\d+)/g;

/** Gives a text with places of the bundle as places of the sources, and the lines around the first of the project's own. */
export function sourcePlaces(root: string, weirDir: string): (text: string) => string {
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
    const mapped = text.replace(PLACE, (place, module: string, line: string, column: string) => {
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
