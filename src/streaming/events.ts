/** The log's events as the streaming protocol has them. Ids and sequence numbers are the log's: stable across replays. */
import type { EventMethod, Json, LogEvent } from "../threads/rpc.ts";

export interface ProtocolEvent {
  type: "event";
  /** Unique in the thread. Ends in the sequence number, so that any id is a place to go on from. */
  event_id: string;
  /** Thread-wide, from 1; grows, with gaps. */
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: unknown };
}

/** Which of the log's methods each channel is made from. `custom:<name>` is made from `custom`. */
const CHANNELS: Record<string, EventMethod[]> = {
  values: ["values"],
  checkpoints: ["checkpoints"],
  updates: ["updates"],
  messages: ["messages"],
  tools: ["tools"],
  lifecycle: ["lifecycle"],
  input: ["input.requested", "input.answered"],
  "input.requested": ["input.requested"],
  "input.answered": ["input.answered"],
  tasks: ["tasks"],
  custom: ["custom"],
};

export const knownChannel = (channel: string): boolean =>
  Object.hasOwn(CHANNELS, channel) || channel.startsWith("custom:");

/** The log's methods that these channels need. */
export function methodsOf(channels: string[]): EventMethod[] {
  return [
    ...new Set(
      channels.flatMap((name) => {
        const channel = name.startsWith("custom:") ? "custom" : name;
        return Object.hasOwn(CHANNELS, channel) ? (CHANNELS[channel] ?? []) : [];
      }),
    ),
  ];
}

/** The log's event in the protocol; undefined when the protocol does not show it. */
export function protocolEvent(event: LogEvent): ProtocolEvent | undefined {
  const { seq, ts, ns, method } = event;
  const shown = FRAMES[method]?.(event);
  if (!shown) return undefined;
  const params = { namespace: ns, timestamp: ts, ...(shown.node !== undefined && { node: shown.node }) };
  return { type: "event", event_id: eventId(event), seq, method, params: { ...params, data: shown.data } };
}

/**
 * The place in the log that an id stands for; undefined when it is none of ours.
 * Root lifecycle: `synth:<run id>:lc||<event>|<seq>`. Any other: the sequence number.
 */
export function seqOfEventId(id: string): number | undefined {
  const digits = /^(?:synth:[^|]*\|\|\w+\|)?(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** By `synth:<run id>:` the clients tell one run's end from another's in a replay. */
function eventId({ method, ns, run, seq, data }: LogEvent): string {
  if (method !== "lifecycle" || ns.length > 0) return String(seq);
  return `synth:${run}:lc||${(data as { event: string }).event}|${seq}`;
}

type Shown = { data: unknown; node?: string };

const as = ({ data, node }: LogEvent): Shown => ({ data, node });

const FRAMES: Partial<Record<EventMethod, (event: LogEvent) => Shown | undefined>> = {
  messages: as,
  checkpoints: as,
  tasks: as,
  "input.requested": as,
  "input.answered": as,
  lifecycle,
  values: ({ data }) => (raisesInterrupt(data) ? undefined : { data }),
  updates,
  custom: ({ data }) => ({ data: isNamed(data) ? data : { payload: data } }),
  tools: ({ data }) => tool(data as Json),
};

/** A run that a crash made start again has begun only once, for those who watch it. */
function lifecycle({ data }: LogEvent): Shown | undefined {
  const { attempt = 1, ...shown } = data as Json & { attempt?: number };
  return attempt > 1 ? undefined : { data: shown };
}

/** Interrupts are told by `input.requested`. */
function raisesInterrupt(data: unknown): boolean {
  return typeof data === "object" && data !== null && "__interrupt__" in data;
}

function updates({ data }: LogEvent): Shown | undefined {
  if (raisesInterrupt(data)) return undefined;
  const [node, values] = Object.entries((data ?? {}) as Json)[0] ?? [];
  if (node === undefined) return { data: { values: {} } };
  return { node, data: { node, values: typeof values === "object" ? (values ?? {}) : { value: values } } };
}

function isNamed(data: unknown): boolean {
  return typeof data === "object" && data !== null && "payload" in data && typeof (data as Json).name === "string";
}

function tool({ event, toolCallId, name, input, data, output, error }: Json): Shown | undefined {
  const call = { tool_call_id: typeof toolCallId === "string" ? toolCallId : "" };
  switch (event) {
    case "on_tool_start":
      return {
        data: { event: "tool-started", ...call, tool_name: typeof name === "string" ? name : "unknown", input },
      };
    case "on_tool_event":
      return { data: { event: "tool-output-delta", ...call, delta: asText(data) } };
    case "on_tool_end":
      return { data: { event: "tool-finished", ...call, output } };
    case "on_tool_error":
      return { data: { event: "tool-error", ...call, message: asText((error as Json | undefined)?.message) } };
    default:
      return undefined;
  }
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));
