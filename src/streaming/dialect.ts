/** The client library of a connection: the official clients of the two languages read some events differently. */
import { Problem } from "../lib/problem.ts";
import type { EventText } from "../threads/log/events.ts";
import { protocolEvent, type ProtocolEvent } from "../protocols/streaming/events.ts";
import { pythonEvents } from "./python.ts";

export type Dialect = "javascript" | "python";

/** Chooses the dialect of a connection, before its `User-Agent` does. */
const HEADER = "x-weir-dialect";

/** What the Python SDK and its two transports send as `User-Agent`. */
const PYTHON = /\b(langgraph-sdk-py|python-httpx|websockets)\//i;

/** The dialect of a request's connection. 422 when the header names one that does not exist. */
export function readDialect(headers: Headers): Dialect {
  const given = headers.get(HEADER);
  if (given === "python" || given === "javascript") return given;
  if (given !== null) throw new Problem(422, `${HEADER} must be python or javascript.`);
  return PYTHON.test(headers.get("user-agent") ?? "") ? "python" : "javascript";
}

/** The frames of an event for one connection. `channels`: all subscribed channels. */
export function eventsIn(dialect: Dialect, channels: string[]): (event: EventText) => ProtocolEvent | undefined {
  return dialect === "python" ? pythonEvents(channels) : protocolEvent;
}
