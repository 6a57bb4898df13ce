/** What a graph writes during a run, and else its steps, as log messages and progress of the request. */
import { LOG_LEVEL_META_KEY, type ServerContext } from "@modelcontextprotocol/server";
import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import type { EventMethod, LogEvent } from "../threads/log/events.ts";

/** The events that progress is made from. */
export const METHODS: EventMethod[] = ["custom", "checkpoints"];
const MOST_CHARACTERS = 1_000;
/** The media types that the client accepts: the transport gets a header that has both. */
export const ACCEPTED = "x-weir-accepted";

/** What a graph writes to be logged: a level of the protocol (RFC 5424), and any data. */
const Logged = v.object({
  level: v.picklist(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
  data: v.unknown(),
  logger: v.optional(v.string()),
});

/**
 * Sends what the client has requested of an event. Undefined when that is nothing: no progress, and, from 2026-07-28 on, no log
 * level. Before, log messages are sent without a request where the answer is a stream.
 */
export function reportTo(context: ServerContext): ((event: LogEvent) => Promise<void>) | undefined {
  const { mcpReq, http } = context;
  const progress = progressSender(context);
  const isLogged =
    mcpReq.envelope === undefined
      ? /\btext\/event-stream\b/i.test(http?.req?.headers.get(ACCEPTED) ?? "")
      : isObject(mcpReq.envelope) && mcpReq.envelope[LOG_LEVEL_META_KEY] !== undefined;
  if (!progress && !isLogged) return undefined;
  return async (event) => {
    const logged = event.method === "custom" ? v.safeParse(Logged, event.data) : undefined;
    if (!logged?.success) return progress?.(event);
    const { level, data, logger } = logged.output;
    await mcpReq.log(level, data, logger);
  };
}

/** Sends the progress of an event. Undefined when the client has not requested progress. */
function progressSender({ mcpReq }: ServerContext): ((event: LogEvent) => Promise<void>) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  let hasWritten = false;
  return async ({ method, ns, data }) => {
    if (method === "custom") hasWritten = true;
    // The steps of a graph that reports its own progress would count beside it.
    else if (hasWritten || ns.length > 0) return;
    const { progress, total, message } = method === "custom" ? writeProgress(data) : readStep(data);
    // Each value must be larger than the one before.
    const grows = progress !== undefined && progress > last;
    last = grows ? progress : Math.max(last, 0) + 1;
    const params = { progressToken, progress: last, ...(grows && total !== undefined && { total }), message };
    await mcpReq.notify({ method: "notifications/progress", params });
  };
}

interface Shown {
  progress?: number;
  total?: number;
  message?: string;
}

function writeProgress(data: unknown): Shown {
  if (!isObject(data)) return { message: readChunkText(data) };
  const { progress, total, message } = data;
  const known = typeof progress === "number" ? { progress, ...(typeof total === "number" && { total }) } : {};
  if (typeof message === "string") return { ...known, message: message.slice(0, MOST_CHARACTERS) };
  return typeof progress === "number" ? known : { message: readChunkText(data) };
}

function readStep(data: unknown): Shown {
  return isObject(data) && typeof data.step === "number" ? { message: `Step ${data.step}` } : {};
}

const readChunkText = (data: unknown): string =>
  (typeof data === "string" ? data : (JSON.stringify(data) ?? "")).slice(0, MOST_CHARACTERS);
