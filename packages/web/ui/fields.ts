/** Form fields for values whose types must survive editing: numbers stay numbers, lists stay lists. */
import type { SchemaProperty } from "../api/types.ts";

export type FieldKind = "text" | "long" | "number" | "boolean" | "choice" | "json";

export interface Field {
  name: string;
  label: string;
  kind: FieldKind;
  help?: string;
  choices?: string[];
}

/** The field for a value that is already there. */
export function fieldOfValue(name: string, value: unknown): Field {
  const kind =
    typeof value === "boolean"
      ? "boolean"
      : typeof value === "number"
        ? "number"
        : typeof value === "string"
          ? value.length > 60 || value.includes("\n")
            ? "long"
            : "text"
          : "json";
  return { name, label: name, kind };
}

/** The field for a property of a JSON Schema. */
export function fieldOfSchema(name: string, property: SchemaProperty): Field {
  const type = Array.isArray(property.type) ? property.type.find((one) => one !== "null") : property.type;
  const choices = property.enum?.filter((one): one is string => typeof one === "string");
  const kind: FieldKind = choices?.length
    ? "choice"
    : type === "boolean"
      ? "boolean"
      : type === "number" || type === "integer"
        ? "number"
        : type === "string"
          ? "text"
          : "json";
  return { name, label: property.title ?? name, kind, help: property.description, choices };
}

/** A value as the text of its field. */
export function toText(value: unknown, kind: FieldKind): string {
  if (value === undefined || value === null) return "";
  if (kind === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text of a field as a value, or what is wrong with it. An empty text is "not set". */
export function fromText(text: string, kind: FieldKind): { value?: unknown; error?: string } {
  if (text.trim() === "" && kind !== "text" && kind !== "long") return {};
  if (kind === "number") {
    const value = Number(text);
    return Number.isFinite(value) ? { value } : { error: "Not a number." };
  }
  if (kind === "boolean") return { value: text === "true" };
  if (kind !== "json") return { value: text };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "Not JSON." };
  }
}

// Names with values, one in a line: headers of a webhook, variables of a prompt.

export const writePairs = (pairs: Record<string, string> | null | undefined): string =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

/** @throws Error for a line without a name or without a colon */
export function readPairs(text: string, what: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      const name = line.slice(0, Math.max(at, 0)).trim();
      if (name === "") throw new Error(`${what}: write each as “name: value” in a line of its own.`);
      return [name, line.slice(at + 1).trim()];
    }),
  );
}
