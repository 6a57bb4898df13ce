/** A span as an instrumentation sends it, recorded with model calls that need no network, and the run that it becomes. */

export interface Shape {
  name: string;
  attributes: Record<string, unknown>;
  resource?: Record<string, unknown>;
  events?: { name: string; attributes: Record<string, unknown> }[];
  /** What the run has. */
  run: Record<string, unknown>;
}

export const CALL = { id: "call-1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
export const WEATHER = {
  type: "function",
  name: "weather",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
};
