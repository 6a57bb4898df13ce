/** The gates at which nodes of the oracle's graphs wait, opened and closed by the cases. */
import type { Gates } from "./graphs.ts";

const closed = new Map<string, "closed" | "stubborn">();
const reached = new Set<string>();
/** How often nodes have ended, by thread, node and turn. */
const ended = new Map<string, number>();

const key = (...parts: string[]) => parts.join(" ");

const gates: Gates = {
  closed: (graph, node) => closed.get(key(graph, node)) ?? "open",
  reached: (graph, node) => void reached.add(key(graph, node)),
  ended: (...place) => void ended.set(key(...place), executions(...place) + 1),
};

/** How often the node has ended in the turn. */
export function executions(thread: string, node: string, turn: string): number {
  return ended.get(key(thread, node, turn)) ?? 0;
}

(globalThis as { oracleGates?: Gates }).oracleGates = gates;

export function close(graph: string, node: string, how: "closed" | "stubborn" = "closed"): void {
  closed.set(key(graph, node), how);
}

export function open(graph: string): void {
  for (const node of ["speak", "ask", "right", "close"]) {
    closed.delete(key(graph, node));
    reached.delete(key(graph, node));
  }
}

/** Whether a node of the graph waits at this gate, or has waited since the gates were opened. */
export const isReached = (graph: string, node: string): boolean => reached.has(key(graph, node));
export const forget = (graph: string, node: string): boolean => reached.delete(key(graph, node));
