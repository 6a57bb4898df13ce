/** Reads a wrangler configuration: TOML, or JSON with comments. */
import type { Json } from "../lib/json.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { Fault } from "./fault.ts";

/** A wrangler configuration, as far as this package reads it. Paths in it are relative to its file. */
export interface WranglerConfig extends Json {
  name?: string;
  main?: string;
  compatibility_date?: string;
  compatibility_flags?: string[];
  vars?: Json;
  env?: Record<string, WranglerConfig>;
}

/** The project's own configuration, in wrangler's order of preference; undefined when there is none. */
export function findWranglerFile(root: string): string | undefined {
  return ["wrangler.json", "wrangler.jsonc", "wrangler.toml"].map((name) => join(root, name)).find(existsSync);
}

export function readWranglerFile(file: string): WranglerConfig {
  const text = readFileSync(file, "utf8");
  try {
    return (file.endsWith(".toml") ? parseToml(text) : JSON.parse(withoutComments(text))) as WranglerConfig;
  } catch (error) {
    throw new Fault(`${file}: ${(error as Error).message}`);
  }
}

/** JSON without its comments and commas before a closing bracket; strings stay as they are. */
function withoutComments(text: string): string {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.startsWith('"') ? part : "",
  );
  return bare.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? "" : part));
}
