/** Histories and violations as text. */
import type { Violation } from "./facts.ts";
import type { Frame, History, Operation } from "./record.ts";

/** The longest text of one member of an operation. */
const LONGEST = 400;

/** One operation in one line, with its interval in milliseconds since the round began. */
export function formatOperation(operation: Operation, origin: number): string {
  const { kind, client, at, until, outcome, detail, thread: _, ...others } = operation;
  const name = client < 0 ? "auditor" : `client ${client}`;
  const time = `${(at - origin).toFixed(1)} to ${(until - origin).toFixed(1)} ms`;
  return `${time}  ${name}  ${kind}  ${outcome}${detail ? ` (${detail})` : ""}  ${formatMembers(others)}`;
}

function formatMembers(members: object): string {
  return Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${name === "frames" ? formatFrames(value as Frame[]) : formatValue(value)}`)
    .join(" ");
}

function formatValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
}

const formatFrames = (frames: Frame[]): string =>
  `[${frames.map(({ id = "", event }) => `${id} ${event}`).join(", ")}]`;

/** The violation with the operations that show it. */
export function describe(
  { rule, thread, run, message, operations }: Violation,
  { seed, operations: all }: History,
): string {
  const origin = Math.min(...all.map(({ at }) => at));
  const head = `${rule}: ${message}\n  thread ${thread}${run ? `, run ${run}` : ""}, seed ${seed}`;
  const lines = operations.slice(0, 8).map((operation) => `  ${formatOperation(operation, origin)}`);
  const more = operations.length > lines.length ? [`  … and ${operations.length - lines.length} more`] : [];
  return [head, ...lines, ...more].join("\n");
}

/** How many operations of each kind had which outcome. */
export function countOutcomes(histories: History[]): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {};
  for (const operation of histories.flatMap(({ operations }) => operations)) {
    const { kind, outcome } = operation;
    const name =
      operation.kind === "start" ? `start: ${operation.answer ? "answer" : "message"}, ${operation.via}` : kind;
    const own = (counts[name] ??= { ok: 0, refused: 0, unknown: 0 });
    own[outcome] = (own[outcome] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => a.localeCompare(b)));
}
