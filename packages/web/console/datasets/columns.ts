/** The columns of a file that is imported, by its first line, and what each is likely to be. */
import type { Mapping } from "./queries.ts";

export type Part = "inputs" | "outputs" | "metadata" | "none";

export interface FileColumns {
  /** Empty: the file has examples as a download in JSON Lines has them. */
  names: string[];
  parts: Record<string, Part>;
}

/** Bytes in which the first line must end. */
const HEAD = 64 * 1024;

const EXPECTED = /^(outputs?|answer|expected|reference|ideal|label|completion)/i;
const ABOUT = /^(metadata|split|source|tags?|id)$/i;

/** @throws Error when the file has no first line that can be read. */
export async function columnsIn(file: File): Promise<FileColumns> {
  const text = await file.slice(0, HEAD).text();
  const names = /\.(jsonl|ndjson)$/i.test(file.name) ? readMembers(text) : readHeader(text);
  return { names, parts: Object.fromEntries(names.map((name) => [name, guessPart(name)])) };
}

/** A download as CSV has columns such as `inputs.question`. */
function guessPart(name: string): Part {
  if (name.startsWith("outputs.") || EXPECTED.test(name)) return "outputs";
  if (ABOUT.test(name)) return "none";
  return name.startsWith("metadata.") ? "metadata" : "inputs";
}

function readMembers(text: string): string[] {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  let first: unknown;
  try {
    first = JSON.parse(line);
  } catch {
    throw new Error("The first line of the file is no JSON object.");
  }
  if (typeof first !== "object" || first === null || Array.isArray(first))
    throw new Error("The first line of the file is no JSON object.");
  return "inputs" in first && typeof first.inputs === "object" ? [] : Object.keys(first);
}

/** The cells of the first line of CSV (RFC 4180). */
function readHeader(text: string): string[] {
  const cells = [""];
  let quoted = false;
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if (quoted && sign === '"' && text[at + 1] === '"') cells[cells.length - 1] += text[++at] ?? "";
    else if (sign === '"') quoted = !quoted;
    else if (!quoted && sign === ",") cells.push("");
    else if (!quoted && (sign === "\n" || sign === "\r")) break;
    else cells[cells.length - 1] += sign;
  }
  if (cells.every((cell) => cell === "")) throw new Error("The file has no header.");
  return cells;
}

export function buildMapping({ names, parts }: FileColumns): Mapping {
  const of = (part: Part) => names.filter((name) => parts[name] === part);
  return { inputs: of("inputs"), outputs: of("outputs"), metadata: of("metadata") };
}
