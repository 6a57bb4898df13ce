/** Percentiles and a plain table. */
import { loadavg } from "node:os";

/** The p-th percentile (0…100) of some numbers, by nearest rank. */
export function percentile(numbers: number[], p: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export const ms = (value: number) =>
  Number.isNaN(value) ? "-" : `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;

export const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

/** The median and the 90th percentile, as two cells of a table. */
export const formatTypical = (times: number[]): [string, string] => [
  ms(percentile(times, 50)),
  ms(percentile(times, 90)),
];

/** How long each of this many calls takes, one after the other; milliseconds. */
export async function timeCalls(calls: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < calls; index += 1) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return times;
}

/** The load of this machine in the last minute: it shows how much other work ran during a measurement. */
export const load = () => (loadavg()[0] ?? 0).toFixed(1);

/** Prints rows under headings, as a Markdown table. */
export function table(headings: string[], rows: (string | number)[][]): void {
  const lines = [headings, headings.map(() => "---"), ...rows.map((row) => row.map(String))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    const fill = line === lines[1] ? "-" : " ";
    console.log(`| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`);
  }
}
