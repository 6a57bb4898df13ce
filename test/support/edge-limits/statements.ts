/** What a SQL statement may hold on Cloudflare, both in D1 and in a Durable Object. */
import { recordCrossing, recordFigure } from "./record.ts";

/** Bytes of a string, a blob or a row. */
export const VALUE = 2_000_000;
export const PARAMETERS = 100;
/** Bytes of a statement's text. */
export const STATEMENT = 100_000;

/** Bytes that a value takes in a row: UTF-8 of a string, 8 of a number. */
export function countBytes(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  // D1 takes and gives blobs as arrays of bytes.
  if (Array.isArray(value)) return value.length;
  return value === null || value === undefined ? 0 : 8;
}

/** Throws when a statement or what is bound to it crosses a limit. `engine` prefixes the message, as D1 does. */
export function checkStatement(statement: string, values: readonly unknown[], engine = ""): void {
  const text = Buffer.byteLength(statement);
  if (text > STATEMENT) {
    throw recordCrossing(
      "statement",
      `${engine}statement too long: SQLITE_TOOBIG (${text} bytes in ${shortenStatement(statement)})`,
    );
  }
  if (values.length > PARAMETERS) {
    throw recordCrossing(
      "parameters",
      `${engine}too many SQL variables (${values.length} in ${shortenStatement(statement)})`,
    );
  }
  const sizes = values.map(countBytes);
  for (const [at, size] of sizes.entries()) {
    if (typeof values[at] === "string") recordFigure("sql", size, shortenStatement(statement));
    if (size > VALUE) throw reportTooBig("value", engine, `parameter ${at + 1} has ${size} bytes`, statement);
  }
  if (sum(sizes) <= VALUE || !WRITES.test(statement)) return;
  for (const row of splitRows(statement, sizes)) {
    if (sum(row) > VALUE) throw reportTooBig("row", engine, `a row binds ${sum(row)} bytes`, statement);
  }
}

/** Throws when a row that was read, or a value in it, is larger than one that could have been written. */
export function checkRow(row: object, statement: string, engine = ""): void {
  const sizes = Object.values(row).map(countBytes);
  const largest = Math.max(0, ...sizes);
  if (largest > VALUE) throw reportTooBig("value", engine, `a value read has ${largest} bytes`, statement);
  if (sum(sizes) > VALUE) throw reportTooBig("row", engine, `a row read has ${sum(sizes)} bytes`, statement);
}

const WRITES = /^\s*(?:with\b[^]*\b)?(?:insert|replace|update)\b/i;

/** The values of each row that the statement writes, where they are bound in order; else those of the whole statement. */
function splitRows(statement: string, sizes: number[]): number[][] {
  const list = /\bvalues\s*(?=\()/i.exec(statement);
  if (!list || /\?\d/.test(statement)) return [sizes];
  const rows: number[][] = [];
  let next = placeholders(statement.slice(0, list.index));
  let rest = statement.slice(list.index + list[0].length);
  for (;;) {
    const end = findClosing(rest);
    const count = placeholders(rest.slice(0, end));
    rows.push(sizes.slice(next, next + count));
    next += count;
    const comma = /^\s*,\s*(?=\()/.exec(rest.slice(end));
    if (!comma) break;
    rest = rest.slice(end + comma[0].length);
  }
  // What ON CONFLICT DO UPDATE binds goes into a row that is there.
  return [...rows, sizes.slice(next)];
}

/** Where the parenthesis that `text` begins with is closed. */
function findClosing(text: string): number {
  let depth = 0;
  for (const match of text.matchAll(/'(?:[^']|'')*'|[()]/g)) {
    if (match[0] === "(") depth += 1;
    if (match[0] === ")") depth -= 1;
    if (depth === 0) return match.index + 1;
  }
  return text.length;
}

const placeholders = (text: string): number =>
  [...text.matchAll(/'(?:[^']|'')*'|\?/g)].filter((match) => match[0] === "?").length;

const sum = (sizes: number[]): number => sizes.reduce((total, size) => total + size, 0);

const reportTooBig = (limit: "row" | "value", engine: string, what: string, statement: string): Error =>
  recordCrossing(
    limit,
    `${engine}string or blob too big: SQLITE_TOOBIG (${what}, at most ${VALUE}: ${shortenStatement(statement)})`,
  );

const shortenStatement = (statement: string): string => statement.replaceAll(/\s+/g, " ").trim().slice(0, 100);
