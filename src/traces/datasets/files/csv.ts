/** Comma-separated values (RFC 4180): any line break between records, and cells as text. */
import { Problem } from "../../../lib/problem.ts";

/** One record, with the line on which it begins. */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/** What ends a plain cell, and what may follow a quoted one. */
const END = /[",\r\n]/g;
const BREAK = /\r\n|\r|\n/g;

/** The records of a text. Empty lines are none. @throws Problem 422 that names the line */
export function* readCsv(text: string): Generator<CsvRecord, void, void> {
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const record: CsvRecord = { line, cells: [] };
    let more = true;
    while (more) {
      const cell = text[at] === '"' ? quotedCell(text, at, line) : plainCell(text, at, line);
      record.cells.push(cell.text);
      line += cell.breaks;
      more = text[cell.end] === ",";
      at = more ? cell.end + 1 : skipBreak(text, cell.end);
      if (more) continue;
      if (record.cells.length > 1 || cell.isQuoted || cell.text !== "") yield record;
    }
    line++;
  }
}

interface Cell {
  text: string;
  end: number;
  isQuoted: boolean;
  breaks: number;
}

function plainCell(text: string, at: number, line: number): Cell {
  END.lastIndex = at;
  const end = END.exec(text)?.index ?? text.length;
  if (text[end] === '"') throw invalid(line, "a quote is within a cell that does not begin with one");
  return { text: text.slice(at, end), end, isQuoted: false, breaks: 0 };
}

function quotedCell(text: string, at: number, line: number): Cell {
  const parts: string[] = [];
  for (let from = at + 1; ;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) throw invalid(line, "a quote is not closed");
    parts.push(text.slice(from, quote));
    if (text[quote + 1] === '"') {
      from = quote + 2;
      continue;
    }
    const end = quote + 1;
    if (end < text.length && !",\r\n".includes(text[end] ?? "")) throw invalid(line, "text follows a closing quote");
    const whole = parts.join('"');
    return { text: whole, end, isQuoted: true, breaks: whole.match(BREAK)?.length ?? 0 };
  }
}

const skipBreak = (text: string, at: number): number => at + (text.startsWith("\r\n", at) ? 2 : 1);

const invalid = (line: number, what: string) => new Problem(422, `Invalid file, line ${line}: ${what}.`);

export const csvLine = (cells: string[]): string => `${cells.map(csvCell).join(",")}\r\n`;

const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
