/** How the commands write what they read. */
import { parseArgs, type ParseArgsConfig } from "node:util";

/** Text without the control characters by which what a server stores could write to the terminal. */
// oxlint-disable-next-line no-control-regex
export const printable = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "?");

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

/** An error of the user's project or machine. The command prints its message without a stack and ends with code 1. */
export class CliFault extends Error {
  override name = "Fault";
}

/** Prints a Fault, or what `parseArgs` refuses, without its stack. Gives the exit code, and throws any other error. */
export function reportFault(error: unknown): number {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!(error instanceof CliFault) && !code?.startsWith("ERR_PARSE_ARGS")) throw error;
  console.error(printable(message));
  return 1;
}

// The arguments of the commands that work on a project.

/** The option that names an environment of the project's wrangler configuration. */
export const ENV = { env: { type: "string" } } as const;

/**
 * The options by name, and the project's folder: this one if left out. Throws a Fault for a second folder, and an error
 * that main.ts reports as an argument error for an unknown option.
 */
export function readArguments<const T extends NonNullable<ParseArgsConfig["options"]>>(argv: string[], options: T) {
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options });
  const [dir = ".", more] = positionals;
  if (more !== undefined) throw new CliFault(`Unexpected argument "${more}". The command takes one folder.`);
  return { values, dir };
}

// Options that are numbers or times.

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** A whole number from 1 on. @throws Fault that names the option */
export function readCount(
  name: string,
  given: string | undefined,
  usual: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (given === undefined) return usual;
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= most) return count;
  const range = most === Number.MAX_SAFE_INTEGER ? "1 or more" : `1 to ${most}`;
  throw new CliFault(`--${name} is "${given}". Give a whole number, ${range}.`);
}

/** A time as ISO 8601: one that is given so, or this long ago (`30m`). @throws Fault that names the option */
export function readTime(name: string, given: string, now = Date.now()): string {
  const [, amount, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(given) ?? [];
  const time = amount === undefined ? Date.parse(given) : now - Number(amount) * (UNITS[unit] ?? 0) * 1_000;
  const isTime = amount !== undefined || /^\d{4}-\d\d-\d\d/.test(given);
  if (isTime && !Number.isNaN(time)) return new Date(time).toISOString();
  throw new CliFault(
    `--${name} is "${given}". Give a time such as 2027-01-31T12:00:00Z, or how long ago: 30m, 2h or 7d.`,
  );
}
