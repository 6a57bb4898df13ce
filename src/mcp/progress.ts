/** What a graph writes during a run, and else its steps, as progress of the request. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { isObject } from "../http/json.ts";
import type { EventMethod, LogEvent } from "../threads/log/events.ts";

/** The events that progress is made from. */
export const METHODS: EventMethod[] = ["custom", "checkpoints"];
const MOST_CHARACTERS = 1_000;

/** Sends the progress of an event. Undefined when the client has not requested progress. */
export function progressOf({ mcpReq }: ServerContext): ((event: LogEvent) => Promise<void>) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  let hasWritten = false;
  return async ({ method, ns, data }) => {
    if (method === "custom") hasWritten = true;
    // The steps of a graph that reports its own progress would count beside it.
    else if (hasWritten || ns.length > 0) return;
    const { progress, total, message } = method === "custom" ? written(data) : stepOf(data);
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

function written(data: unknown): Shown {
  if (!isObject(data)) return { message: textOf(data) };
  const { progress, total, message } = data;
  const known = typeof progress === "number" ? { progress, ...(typeof total === "number" && { total }) } : {};
  if (typeof message === "string") return { ...known, message: message.slice(0, MOST_CHARACTERS) };
  return typeof progress === "number" ? known : { message: textOf(data) };
}

function stepOf(data: unknown): Shown {
  return isObject(data) && typeof data.step === "number" ? { message: `Step ${data.step}` } : {};
}

const textOf = (data: unknown): string =>
  (typeof data === "string" ? data : (JSON.stringify(data) ?? "")).slice(0, MOST_CHARACTERS);
