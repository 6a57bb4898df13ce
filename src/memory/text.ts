/** What of an item's value is searched: `index` names its paths, as LangGraph's stores do. */
import type { Json } from "../lib/json.ts";

/** `false`: nothing; a list: the texts at these paths (`a.b`, `list[*].text`, `list[0]`, `$`); null: every text in the value. */
export type Index = false | string[] | null | undefined;

export function selectTexts(value: Json, index: Index): string[] {
  if (index === false) return [];
  if (!index) return listStrings(value);
  return index.flatMap((path) => valuesAt(value, steps(path)).flatMap(listStrings));
}

/** A full-text query that matches any of the words, best matches first; undefined when `text` holds no word. */
export function matchAny(text: string): string | undefined {
  const words = text.match(/[\p{L}\p{N}]+/gu)?.slice(0, 50);
  return words?.map((word) => `"${word}"`).join(" OR ");
}

function listStrings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listStrings) : [];
}

function steps(path: string): string[] {
  return path === "$" ? [] : path.replaceAll("[", ".[").split(".").filter(Boolean);
}

function valuesAt(value: unknown, [step, ...rest]: string[]): unknown[] {
  if (step === undefined) return [value];
  if (typeof value !== "object" || value === null) return [];
  if (step === "[*]" || step === "*") return Object.values(value).flatMap((member) => valuesAt(member, rest));
  const index = /^\[(-?\d+)\]$/.exec(step)?.[1];
  if (index !== undefined) return Array.isArray(value) ? valuesAt(value.at(Number(index)), rest) : [];
  return valuesAt((value as Json)[step], rest);
}
