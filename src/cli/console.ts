/** How the commands write what they read. */
import { printable } from "./printable.ts";

export function oneLine(text: string, most: number): string {
  const line = printable(text)
    .replace(/\s*[\r\n\t]\s*/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A value as text. What is longer than `most` characters is cut, with the number of characters that are left out. */
export function cutText(value: unknown, most: number): string {
  const text = printable(typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));
  if (text.length <= most) return text;
  return `${text.slice(0, most)}\n… ${text.length - most} more characters (--chars, or --json for all)`;
}

export const indent = (text: string, by: string): string => text.replace(/^/gm, by);

/** `2027-01-31 12:00:00`, UTC. */
export const formatTime = (iso: string | null | undefined): string => (iso ? iso.slice(0, 19).replace("T", " ") : "-");

/** A value as JSON in one line, or in several with an indent. JSON leaves the control characters from U+007F on as they are. */
export function formatJson(value: unknown, space?: number): string {
  const text = JSON.stringify(value, null, space);
  return text.replace(/[\u007f-\u009f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);
}

/** Writes values as JSON: a list in one array. */
export const printJson = (value: unknown): void => console.log(formatJson(value, 2));
