/** Text for a model: each value is cut, and says what was left out. */

/** The most characters of a tool's result. */
export const MOST_CHARACTERS = 24_000;

/** One line of at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A value as compact JSON, and a text as itself, cut to `most` characters. */
export function cutValue(value: unknown, most: number): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

/** Lines up to `MOST_CHARACTERS`. `rest` says how to read the lines that are left out. */
export function joinLines(lines: string[], rest: string): string {
  let size = 0;
  const end = lines.findIndex((line) => (size += line.length + 1) > MOST_CHARACTERS);
  return end < 0
    ? lines.join("\n")
    : [...lines.slice(0, end), `… ${lines.length - end} more lines. ${rest}`].join("\n");
}

/** A part of a text, and where the next part begins. */
export function formatPart(part: string, offset: number, total: number): string {
  const end = offset + part.length;
  const next = end < total ? ` The next part has offset ${end}.` : "";
  return `${part}\n[characters ${offset} to ${end} of ${total}.${next}]`;
}

export interface Figures {
  status: string;
  latency_seconds?: number | null;
  total_tokens?: number | null;
  total_cost?: number | null;
}

/** `error, 1.5 s, 300 tokens, $0.001`; without what is not known. */
export function formatFigures({ status, latency_seconds, total_tokens, total_cost }: Figures): string {
  const seconds = latency_seconds ?? undefined;
  const parts = [
    status.toLowerCase(),
    seconds === undefined ? "" : `${Number(seconds.toFixed(3))} s`,
    total_tokens ? `${total_tokens} tokens` : "",
    total_cost ? `$${total_cost}` : "",
  ];
  return parts.filter(Boolean).join(", ");
}
